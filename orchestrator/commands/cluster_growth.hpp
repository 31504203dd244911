// An experiment for a cluster whose file changed behind its blocks: a node resolves the file as it is now (a look), and what that adds or asks
// otherwise is planned in the result on the login node, which resolves nothing itself.
#pragma once

#include <set>
#include <string>

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/plan.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// Takes what `look` found into `store`, the result at `path`. Throws Error where its trials could not be compared, or the node that looked is of
// another type than the one that the result's plan was made on; then nothing is changed.
PlanChange grow_by_look(Store& store, Store& look, const Experiment& experiment, const std::string& path,
                        const std::string& now);

// The blocks in which the result's plan has trials: 1 to `repeat` where it never grew. Not of a search, which plans none.
std::set<int> planned_blocks(Store& store, const Experiment& experiment);

}  // namespace dvfs_plan
