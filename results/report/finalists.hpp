// Which points of a scenario are run again, to confirm what is said of the best one.
#pragma once

#include <string>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// The best and two that come closest to it: one of them may be the true one.
inline constexpr int most_finalists = 3;

// Keys: the best, then the least of those that cannot be told from it. Empty where no saving is claimed: no
// point may be named, or the reference is the best.
std::vector<std::string> finalists(const ScenarioSummary& scenario);

}  // namespace dvfs_plan
