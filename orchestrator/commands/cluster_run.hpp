// An experiment whose blocks Slurm's nodes run: submitted, watched, collected and reported from a login node.
#pragma once

#include "experiments/plan/experiment.hpp"
#include "orchestrator/commands/run_here.hpp"

namespace dvfs_plan {

struct ClusterOptions : RunOptions {
  enum class Do {
    all,      // submit what is not, wait, collect, report
    submit,   // and leave
    collect,  // what has been handed in until now, and report
    cancel,   // the jobs; what is finished is collected
  };
  Do what = Do::all;
};

// The exit code. Throws Error.
int run_on_cluster(const ClusterOptions& options, const Experiment& experiment);

}  // namespace dvfs_plan
