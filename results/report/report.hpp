// The report on the terminal and as JSON, both from one Summary.
#pragma once

#include <string>

#include "experiments/plan/question.hpp"
#include "results/report/summary.hpp"
#include "results/report/text_table.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// All that the file holds, summarised.
Summary summary_of(Store& store);
Summary summary_of(Store& store, const std::vector<TrialRow>& trials);  // that were read of it already
// Asked otherwise; `trials` become what they are by that. Throws Error where they cannot tell it.
Summary summary_of(Store& store, std::vector<TrialRow>& trials, const Question& question);

// "w cpu.frequency=1.8 GHz, 33.5 % better than w cpu.frequency=3 GHz (31.7 to 35.4)", for each that has one; for who waits.
std::vector<std::string> best_so_far(const Store::Progress& progress);

// A table a scenario, what was not counted and why, the answer. `look`: where it is read.
std::string terminal_report(const Summary& summary, const std::vector<TrialRow>& trials,
                            const TextLook& look);

std::string json_report(Store& store, const Summary& summary, const std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
