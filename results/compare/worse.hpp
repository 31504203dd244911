// What `compare --fail-if-worse SHARE` asks of energies and times: whether they rose by more, whether that cannot be said.
#pragma once

#include <string>
#include <vector>

#include "results/compare/comparison.hpp"

namespace dvfs_plan {

// Whether energy or time rose by more than `limit` (a share) at any point, beyond the noise and by its whole interval.
bool worse_by_more_than(const Comparison& comparison, double limit);
// Points at which they are higher by more than that, and it is not shown that they rose by as much; a line each.
std::vector<std::string> perhaps_worse_by_more_than(const Comparison& comparison, double limit);

}  // namespace dvfs_plan
