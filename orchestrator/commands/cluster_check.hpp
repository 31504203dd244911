// What `check` says of an experiment that a cluster runs: what Slurm would do with it. Nothing is submitted.
#pragma once

#include <string>

#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {

// The exit code of a submission that would be refused, else done.
int check_on_cluster(const Experiment& experiment, const std::string& result, bool json);

}  // namespace dvfs_plan
