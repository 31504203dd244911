// The report on the terminal and as JSON, both from one Summary.
#pragma once

#include <string>

#include "results/report/summary.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// All that the file holds, summarised.
Summary summary_of(Store& store);
Summary summary_of(Store& store, const std::vector<TrialRow>& trials);  // that were read of it already

// A table a scenario, what was not counted and why, the answer. `colour`: for a terminal.
std::string terminal_report(const Summary& summary, const std::vector<TrialRow>& trials, bool colour);

std::string json_report(Store& store, const Summary& summary, const std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
