// The points worth confirming, by what a result file holds.
#pragma once

#include "orchestrator/strategies/strategy.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// Both must outlive it.
Finalists stored_finalists(Store& store, const Plan& plan);

}  // namespace dvfs_plan
