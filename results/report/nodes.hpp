// What several machines of a type say each by itself, and how they differ.
#pragma once

#include <vector>

#include "results/report/summary.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {

// Fills ScenarioSummary::nodes where two machines at least ran trials that count.
void compare_nodes(Summary& summary, const std::vector<TrialRow>& trials);

// A row a machine, for the terminal; empty where there is one.
std::string node_lines(const ScenarioSummary& scenario, const TextLook& look);
// How the answer stands from machine to machine; empty likewise.
std::string node_sentence(const ScenarioSummary& scenario);
// How far one is from the others, in words: "9.0 % more than the others [7.1, 11.0]".
std::string against_others_text(const Departure& departure);

}  // namespace dvfs_plan
