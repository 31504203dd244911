// The report on the terminal and as JSON, both from one Summary.
#pragma once

#include <string>

#include "results/summary.hpp"

namespace dvfs_plan {

// A table a scenario, what was not counted and why, the answer. `colour`: for a terminal.
std::string terminal_report(const Summary& summary, const std::vector<TrialRow>& trials, bool colour);

std::string json_report(const Summary& summary, const std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
