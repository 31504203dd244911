// Values that decide (what counts units of work, what a constraint is about) can only be compared in one unit.
#pragma once

#include <string>
#include <vector>

#include "results/report/summary.hpp"
#include "results/store/rows.hpp"

namespace dvfs_plan {

// A sentence for each that trials which count told in more than one unit: of several sessions or machines, as a run
// itself counts no such trial.
std::vector<std::string> told_in_several_units(const Summary& summary, const std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
