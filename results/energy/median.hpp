// Of values in any order the middle one; of an even number the upper of the two. At least one value.
#pragma once

#include <algorithm>
#include <vector>

namespace dvfs_plan {

inline double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace dvfs_plan
