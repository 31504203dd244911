// What is stated of a point of an adaptive search against another one.
#pragma once

#include <vector>

#include "results/surface/optimum.hpp"

namespace dvfs_plan {

// The model's comparison, and no closer than the trials of the two points by themselves: the difference of their mean logarithms, of which
// the interval is Student's by the scatter of the repetitions at all points of `scenario` (one machine's `trials`, one variance; Welch's
// would take two repetitions of each). The model expects trials to scatter as trials mostly do, and joins time and power as if they knew
// nothing of each other: where a night is noisier than that, a few repetitions do not talk it out of it (`./dev bench search` counts how
// often either holds). Without a repetition it stays as it is.
SurfaceComparison stated_comparison(const OptimumModel& model, int point, int other,
                                    const std::vector<SurfaceTrial>& trials, const std::vector<int>& scenario,
                                    const ObjectiveSpec& objective);

}  // namespace dvfs_plan
