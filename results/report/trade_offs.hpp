// What a tolerated slowdown buys. Pure.
#pragma once

#include <optional>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// The points of least energy by tolerated slowdown, ascending, of those that hold every constraint but the
// slowdown's own. `energy`: each point's, by index: a level, or what it is of the reference's.
std::vector<SlowdownOptimum> least_energy_by_slowdown(const std::vector<PointSummary>& points,
                                                      const std::vector<std::optional<double>>& energy);

// Those of them that hold at 0, 1, 2, 5, 10 and 20 %.
std::vector<SlowdownOptimum> at_usual_slowdowns(const std::vector<SlowdownOptimum>& by_slowdown);

}  // namespace dvfs_plan
