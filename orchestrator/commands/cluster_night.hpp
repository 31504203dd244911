// One result of a sweep over a cluster's nodes: asks a node what it offers, submits the blocks, collects what is finished, reports.
#pragma once

#include <string>

#include "experiments/plan/experiment.hpp"
#include "orchestrator/commands/cluster_run.hpp"

namespace dvfs_plan {

// `experiment` as it was submitted, of one type of node (`options.type`); `path` of its result file. `grows`: it is another one than what the
// result that is there was submitted with, and is added to that. Returns the exit code; throws Error.
int run_cluster_night(const ClusterOptions& options, const std::string& path, const Experiment& experiment,
                      bool grows);

}  // namespace dvfs_plan
