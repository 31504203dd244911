// What the sensors themselves may make of a mean, and of the ratio of two: half-widths of 95 %, as shares of it.
#pragma once

#include <optional>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// Of a mean; 0 where it is not known.
double sensor_share(const std::optional<Estimate>& estimate);

// Of the ratio of two points' mean energies. What is the same in all trials of both cancels in it as far as it is equal: of a short region
// against a long one, the difference stays. So does what is more than edges of a region come to: it is of many short steps, where it is
// guessed what rests between them draw, which is each setting's own. Where the ratio is of fewer values than the means are of trials, by how
// many times there are more trials, of each.
double sensors_of_ratio(const PointSummary& a, const PointSummary& b, bool energy_by_gauge,
                        double trials_a_value_of_a = 1, double trials_a_value_of_b = 1);
// Of the ratio of their objectives: nothing of times.
double sensors_of_objective(const ScenarioSummary& scenario, const PointSummary& a, const PointSummary& b);

}  // namespace dvfs_plan
