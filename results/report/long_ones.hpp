// Settings of which a sensor can tell the longer trials alone: those that it told were chosen by how long they took, and their mean is not the
// setting's. Where what is asked needs energy none of the setting's trials counts; else all do, and of none the energy is known.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "results/store/rows.hpp"

namespace dvfs_plan {

class LongOnes {
 public:
  // `trials` are to outlive it.
  explicit LongOnes(const std::vector<TrialRow>& trials);
  // The trial itself, or one that does not count either ("chosen_by_length"), or has no energy either. As long as this lives.
  const TrialRow* of(const TrialRow& trial);
  // A line for each of these settings.
  std::vector<std::string> warnings() const;

 private:
  struct Lengths {
    const TrialRow* one = nullptr;       // of them, for its settings
    std::vector<double> told, not_told;  // s
    bool short_ones_count = false;       // nothing that is asked needs their energy
  };
  std::map<std::pair<std::string, std::string>, Lengths> found_;  // by scenario and point
  std::deque<TrialRow> taken_out_;
};

}  // namespace dvfs_plan
