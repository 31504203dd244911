// What is stated of a point of an adaptive search against another one.
#pragma once

#include <vector>

#include "results/surface/optimum.hpp"

namespace dvfs_plan {

// The model's comparison, and no closer than the trials of the two points by themselves: the difference of their mean logarithms, of which
// the interval is Student's by the scatter of the repetitions at all points of `scenario` (one machine's `trials` in the order in which they
// were run, one variance; Welch's would take two repetitions of each). The model expects trials to scatter as trials mostly do, joins time
// and power as if they knew nothing of each other, and knows of no time: where a night is noisier than that, a few repetitions do not talk
// it out of it, and the reference is run first in each round and the named point's repetitions last, so that a machine that warms up looks
// like a setting that costs more. A slope common to all repetitions is taken out (analysis of covariance: H. Scheffe, The Analysis of
// Variance, ch. 6); `./dev bench search` counts how often either holds. Without a repetition it stays as it is.
// Of several machines (trials of more than one `node`) it is of machines of their type: no closer than Student's t over the ratios of those
// that ran both points. A point that fewer than two of them ran beside the other has the machines' scatter of the other points, pooled.
SurfaceComparison stated_comparison(const OptimumModel& model, int point, int other,
                                    const std::vector<SurfaceTrial>& trials, const std::vector<int>& scenario,
                                    const ObjectiveSpec& objective);

}  // namespace dvfs_plan
