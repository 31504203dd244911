// The experiment that a result holds, as its file said it, and where that file is.
#pragma once

#include <string>

#include "experiments/plan/experiment.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// Throws Error where this program does not understand it any more. `file`: the result's name, for that.
Experiment stored_experiment(Store& store, const std::string& file);

// Programs that an experiment names by their way are sought from its file's folder. Both may have been moved since, together or not, and
// beside a result that was put into an archive lie other projects' programs.
struct ExperimentPlace {
  std::string file;  // absolute; it need not be there any more
  // The file is there as the result has it, or, edited since, where it was. Else it is a guess.
  bool known = false;
  std::string was_in = {};  // the folder, as the result has it; empty: a program before 1.2.3 made that
};
// `result`: as given; `named`: where the user says that it is; empty: he does not. Read as the invoking user.
ExperimentPlace experiment_place(Store& store, const std::string& result, const std::string& named);

}  // namespace dvfs_plan
