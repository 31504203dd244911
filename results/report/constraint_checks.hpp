// Whether a point holds what the objective is subject to, by its means and their intervals. Pure.
#pragma once

#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// Fills `point.constraints`, one each, and `point.feasible`; its means, metrics and slowdown are there already.
void check_constraints(PointSummary& point, const std::vector<ConstraintSpec>& constraints);

}  // namespace dvfs_plan
