// Which nodes of a partition an experiment's blocks are spread over, and whether Slurm can be asked for what the file wants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "orchestrator/cluster/slurm.hpp"

namespace dvfs_plan {

struct NodeChoice {
  std::vector<std::string> chosen;
  std::vector<std::string> others;  // of the partition, and none of them
  std::string hardware;             // of those chosen, as Slurm knows it
};

struct NodeWish {
  std::map<std::string, std::string> left_out = {};  // node -> why
  std::vector<std::string> of_type = {};             // only these; empty: all of the partition
};

// Throws Error that says what the partition offers instead.
NodeChoice choose_nodes(const Slurm& slurm, const SlurmSpec& spec, const NodeWish& wish);

// Whether a node has the feature that 'constraint' names. Expressions are for Slurm to judge.
bool has_feature(const SlurmSpec& spec, const SlurmNode& node);

// Throws Error (exit code 2) where the experiment cannot be cut into blocks that are submitted all at once.
void require_planned_blocks(const Experiment& experiment);
// Throws Error (exit code 2) where the partition ends jobs before a block's 'time' is over: such a job waits for ever.
void require_time_fits(const Slurm& slurm, const Experiment& experiment);

// Options of sbatch for a block, or a look, that must not run on these nodes.
std::vector<std::string> options_of_task(const SlurmSpec& spec, const std::vector<std::string>& without);

}  // namespace dvfs_plan
