// Whether an experiment file is for a cluster.
#pragma once

#include <optional>
#include <string>

#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {

// The experiment; nullopt: it runs on this machine, or has faults.
std::optional<Experiment> cluster_experiment(const std::string& file);

}  // namespace dvfs_plan
