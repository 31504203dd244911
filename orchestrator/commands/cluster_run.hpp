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
  // One type of several: what its result is called beside the experiment's own name, and its nodes. Empty: there is one type.
  std::string type = {};
  std::vector<std::string> nodes_of_type = {};
  bool says_how_to_collect = true;  // once submitted
};

// The exit code. Throws Error.
int run_on_cluster(const ClusterOptions& options, const Experiment& experiment);

// Where `types: each` has a result of each type of node, as Slurm describes them: that of one.
std::string result_of_type(const std::string& path, const std::string& hardware);
// What the same command makes of a result that is there, in brackets; empty: none is there. Throws Error where it would refuse it.
std::string how_it_goes_on(const Experiment& experiment, const std::string& path);

}  // namespace dvfs_plan
