// Whether an answer still stands: the best, its nearest rivals and the reference, run again in fresh blocks. Pure.
//
// What is judged is the saving, which is relative to the reference of the same blocks: levels of two nights differ by what nobody knows
// (comparison.hpp). "Changed" is said at the 1 % level: of a hundred months in which nothing changed one is expected to be called so, of all answers of
// a result together.
#pragma once

#include <string>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

inline constexpr double confidence_of_recheck = 0.99;
// In the `why` of an answer that stands, before the rival that is better by these blocks.
inline constexpr const char* better_by_these_blocks = "; by these blocks ";
inline constexpr const char *stands = "stands", *has_changed = "changed", *not_known_yet = "not_known";

// Of each scenario that has trials in `again`, which are the recheck's alone; `trials`: those of the night that `night` summarises.
//   changed    the best's objective relative to the reference is another than the night states; it breaks a constraint now, for certain; by
//              the recheck alone it takes more than the reference, where the night states less; or
//              best or reference do not run any more as they did (every trial throttled, not delivered, failed)
//   stands     none of that is shown, by the recheck alone the best is better than the reference (95 %), and it holds the constraints
//   not_known  neither: too few blocks, or disturbed ones
// A rival that is better by these blocks is named; whether it was better before was not known then either.
std::vector<RecheckRow> judge_recheck(const Summary& night, const std::vector<TrialRow>& trials,
                                      const std::vector<TrialRow>& again);

// A line or two a scenario, for the terminal.
std::string recheck_text(const Summary& night, const std::vector<RecheckRow>& rows);
std::string recheck_json(const std::vector<RecheckRow>& rows);

}  // namespace dvfs_plan
