// The Slurm jobs of a cluster's night: submitted for the nodes that it may run on, and asked after.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/cluster/node_choice.hpp"
#include "orchestrator/cluster/slurm.hpp"
#include "orchestrator/commands/cluster_context.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

struct ClusterJob {
  std::vector<int> indices = {0};         // of its array
  std::optional<int> offset = {};         // of them; nullopt: it runs no blocks
  std::optional<int> at_once = {};        // tasks
  std::vector<std::string> without = {};  // nodes that it must not run on
  std::string words = {}, on_node = {};   // further ones for `dvfs-plan task`; the node that it must run on
};

class ClusterJobs {
 public:
  // Throws Error where a command of Slurm's is not there.
  explicit ClusterJobs(ClusterContext& night) : night_(night) {}

  const Slurm& slurm() const { return slurm_; }

  // Node -> why it gets no more blocks.
  const std::map<std::string, std::string>& left_out() const { return left_out_; }
  void only_left_out(std::map<std::string, std::string> nodes) { left_out_ = std::move(nodes); }
  // False: it was already.
  bool leave_out(const std::string& node, const std::string& why) {
    return left_out_.emplace(node, why).second;
  }

  // Throws Error that says what the partition offers instead.
  NodeChoice choose() const;
  // The job's number. Throws Error, and SlurmSilent where Slurm may have taken it all the same.
  std::string submit(const ClusterJob& job) const;

  // What Slurm still knows of these jobs, or of the result's; nullopt: it does not answer now, which is told once.
  std::optional<std::vector<SlurmTask>> tasks_of(const std::vector<std::string>& jobs);
  std::optional<std::vector<SlurmTask>> tasks_of(Store& store);
  // Those that wait or run; none where Slurm does not answer (silent()).
  std::vector<SlurmTask> live_tasks_of(const std::vector<std::string>& jobs);
  std::vector<SlurmTask> live_tasks_of(Store& store);
  // Of all that was ever submitted from here, by the folder alone: the result is not there.
  std::vector<SlurmTask> live_tasks_by_folder();
  bool silent() const { return silent_; }
  void tell_of_silence(const SlurmSilent& silence);

  // sbatch took jobs and could not say so (a time limit; this command was killed): they go on as what was submitted.
  void take_in_unheard(Store& store, const std::vector<SlurmTask>& tasks);
  // That it was submitted, in the result and in the folder.
  void note(Store& store, const std::string& job, std::vector<int> blocks);
  // Where that fails it runs its block for nothing; whose counts is settled.
  void cancel_waiting(const SlurmTask& task) const;

 private:
  std::string task_command(const std::string& more) const;

  ClusterContext& night_;
  Slurm slurm_;
  std::map<std::string, std::string> left_out_;
  std::set<std::string> job_names_;
  bool silent_ = false;
};

}  // namespace dvfs_plan
