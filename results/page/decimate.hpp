// Fewer samples of a trace without losing its peaks: the least and the most of each stretch of time stay.
// Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace dvfs_plan {

struct TraceSample {
  double time;   // s
  double value;  // NaN: nothing is known here; lines are not drawn across it
};

// At most about `most` samples, in time order; the first and the last stay, and one unknown of each stretch
// that has any.
std::vector<TraceSample> min_max_decimated(const std::vector<TraceSample>& samples, std::size_t most);

}  // namespace dvfs_plan
