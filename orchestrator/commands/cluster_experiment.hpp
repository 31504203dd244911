// Whether an experiment file is for a cluster, and where its nodes hand in what they have finished.
#pragma once

#include <optional>
#include <string>

#include "experiments/plan/experiment.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// The experiment; nullopt: it runs on this machine, or has faults.
std::optional<Experiment> cluster_experiment(const std::string& file);

// The folder that its nodes share with this machine; `type` of theirs, where each has a result of its own.
std::string nodes_folder(const Experiment& experiment, const std::string& result, const std::string& type);
// The same of a result, by the experiment that is kept in it.
std::string nodes_folder_of(Store& store, const std::string& result);

}  // namespace dvfs_plan
