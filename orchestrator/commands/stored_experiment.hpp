// The experiment that a result holds, as its file said it.
#pragma once

#include <string>

#include "experiments/plan/experiment.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// Throws Error where this program does not understand it any more. `file`: the result's name, for that.
Experiment stored_experiment(Store& store, const std::string& file);

}  // namespace dvfs_plan
