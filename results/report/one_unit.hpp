// Metrics that a workload told in one unit in some trials and in another in others: in the first one's, or left out of what is made of them.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "results/store/rows.hpp"

namespace dvfs_plan {

class OneUnit {
 public:
  explicit OneUnit(const std::vector<TrialRow>& trials);
  // The trial itself, or one with its metrics in the unit of the workload's first trial that counts; what does not compare is in
  // TrialRow::in_other_units. As long as this lives.
  const TrialRow* of(const TrialRow& trial);

 private:
  std::map<std::pair<std::string, std::string>, std::string> first_;  // by workload and metric
  std::deque<TrialRow> converted_;
};

}  // namespace dvfs_plan
