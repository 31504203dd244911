// All answers of a result in one table, where there are several.
#pragma once

#include <string>

#include "results/report/summary.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {

// "better by": of the objective, against the reference, as the answer states it. Empty where there is one answer alone.
std::string overview_table(const Summary& summary, const TextLook& look);

// Whether what is compared is known of one point alone, though others were to run.
bool tells_alone(const ScenarioSummary& scenario);

// How far the answer can be told from the others: "all others are worse", "not told apart from 3 others".
std::string how_sure(const ScenarioSummary& scenario);

}  // namespace dvfs_plan
