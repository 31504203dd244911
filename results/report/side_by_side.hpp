// What is said of several that ran at once, of boards, and of what constraints cost: beside the answer.
#pragma once

#include <string>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// How much longer each of those that ran at once took than alone, where it did run alone at the same settings: fills
// InstanceSummary::slowdown of all scenarios.
void compare_with_alone(Summary& summary, const std::vector<TrialRow>& trials);

// Lines for the terminal: each instance against itself alone, the energy of each of several boards, the metrics that constraints
// name. Empty: there is nothing of that.
std::string beside_lines(const ScenarioSummary& scenario);

// "250 ms": what a constraint's check found.
std::string value_text(const ConstraintCheck& check);
// What the answer would be without the constraints, and why it is not: "" where they change nothing.
std::string without_constraints(const ScenarioSummary& scenario);

}  // namespace dvfs_plan
