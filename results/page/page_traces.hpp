// The traces that the page shows, decimated so that a night fits into some megabytes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/store/store.hpp"

namespace dvfs_plan {

// All samples of a page together: some 4 characters each. With more trials than that allows, those that are looked
// at first (not counted, of the reference, of `best`) come first, and `left_out` says how many are not there. A quarter of them is for trials
// that keep every reading (`whole`), in the same order.
inline constexpr std::size_t most_page_samples = 880'000;

// {groups, trials: {"1": {...}}, left_out}; see web/src/model.ts. `best`: keys of points; `samples`: of all of them, packed, one trial behind the
// other; `damaged`: what could not be read.
nlohmann::ordered_json page_traces(Store& store, const std::vector<TrialRow>& trials,
                                   const std::vector<std::string>& best, std::string& samples,
                                   std::vector<std::string>& damaged);

}  // namespace dvfs_plan
