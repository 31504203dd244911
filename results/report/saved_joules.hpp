// A saving in joules.
#pragma once

#include <optional>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// How many joules less than the reference one run (or one unit of work, where the objective is per unit) takes at `point`, one of the
// scenario's: its saving (of the best, as it is stated) times the reference's mean energy. 95 %: both intervals, as of independent
// quantities. nullopt: it is the reference, or no saving is known.
std::optional<Change> saved_joules(const ScenarioSummary& scenario, const PointSummary& point);

}  // namespace dvfs_plan
