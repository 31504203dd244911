// What an earlier result of the same machine says of the points of this one.
#pragma once

#include <string>
#include <vector>

namespace dvfs_plan {

// In the order of the points; levels taken out.
struct PriorShape {
  std::string source;  // "old.sqlite: mixed"
  std::vector<double> log_time;
  std::vector<double> log_power;  // empty: no energy was measured
};

}  // namespace dvfs_plan
