// Blocks of a cluster's night to tasks of Slurm's: what no task has is submitted, again where a task ended without finishing its block.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/commands/cluster_blocks.hpp"
#include "orchestrator/commands/cluster_jobs.hpp"
#include "orchestrator/commands/cluster_look.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {

class ClusterSubmissions {
 public:
  ClusterSubmissions(ClusterContext& night, ClusterJobs& jobs, ClusterBlocks& blocks, const ClusterLook& look)
      : night_(night), jobs_(jobs), blocks_(blocks), look_(look) {}

  // Throws Error where Slurm refuses it, or the tasks of a block end again and again without one more finished trial.
  void submit_what_is_missing(Store& store);
  // A block has no task any more, and its last file may still come.
  bool waits_for_files() const { return !gone_since_.empty(); }
  // A job whose tasks somebody else cancelled while this looked on; empty: none.
  const std::string& cancelled() const { return cancelled_; }
  // What a task said last of why it gave up.
  void last_fault(std::string text) { last_fault_ = std::move(text); }

 private:
  struct Seen {
    bool over = false;         // a search: no more is wanted
    std::set<int> taken = {};  // blocks that a task has
    std::vector<SlurmTask> waiting = {}, running = {};
  };

  Seen look_at(const std::vector<SlurmTask>& tasks, const std::vector<Submission>& submitted,
               const std::vector<int>& open);
  void look_at(const SlurmTask& task, int block, bool is_open, Seen& seen);
  bool waits_for_a_dead_node(const SlurmTask& task);
  void tell_if_queued_again(const SlurmTask& task, int block);
  void show(Store& store, const Seen& seen);
  void let_none_begin(const std::vector<SlurmTask>& tasks, const Seen& seen);
  std::vector<int> missing(const std::vector<int>& open, const std::set<int>& taken,
                           const std::vector<Submission>& submitted);
  void count_tries(Store& store, const std::vector<int>& blocks);
  void submit(Store& store, const std::vector<int>& blocks);

  ClusterContext& night_;
  ClusterJobs& jobs_;
  ClusterBlocks& blocks_;
  const ClusterLook& look_;

  std::map<int, Nanoseconds> gone_since_;  // by block: no task has it
  std::set<std::string> alive_;            // tasks, seen waiting or running
  std::map<std::string, std::set<std::string>>
      chosen_of_;                // by job submitted here: the nodes that it may run on
  std::set<std::string> moved_;  // tasks: they waited for a node that is down, and are submitted anew
  std::set<int> moved_blocks_;   // theirs, until they are submitted
  std::map<std::string, Nanoseconds> unavailable_since_;  // by task
  std::map<int, std::string> began_on_;  // by block: the node where its task was seen running
  struct Tries {
    int count = 0, trials = -1;  // submissions since `trials` of the block were finished
  };
  std::map<int, Tries> tries_;                // by block
  std::optional<Nanoseconds> drained_since_;  // a search is over: since when no task runs
  std::string last_fault_, cancelled_, shown_;
};

}  // namespace dvfs_plan
