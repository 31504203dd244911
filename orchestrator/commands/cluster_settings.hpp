// What the nodes of a cluster's night were set to: waited for where its tasks were ended, put back by a job where one ended without a word,
// and told where it is not known to be back.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/interruption.hpp"
#include "experiments/plan/experiment.hpp"
#include "orchestrator/cluster/node_settings.hpp"
#include "orchestrator/cluster/slurm.hpp"
#include "orchestrator/run/progress.hpp"

namespace dvfs_plan {

class ClusterSettings {
 public:
  struct Night {
    const SharedFolder& folder;
    const Slurm& slurm;
    const SlurmSpec& spec;
    Clock& clock;
    Interruption& interruption;
    Progress& progress;
    // The night's tasks that are on a node: "1234_3"; nullopt: Slurm does not answer now.
    std::function<std::optional<std::set<std::string>>()> running;
    // Submits a task with these further words on that node; the job. Throws Error.
    std::function<std::string(const std::string& words, const std::string& node)> submit;
  };
  explicit ClusterSettings(Night night) : night_(std::move(night)) {}

  // Whether all of it is back; what is not is told on stderr, with --quiet too. `asks`: nodes that work are asked to put back what is left.
  bool are_back(bool asks);
  // For tasks that were ended: they put back what they set. `collects`: the command that tells later. False: some are still at it.
  bool wait(const std::string& collects);

 private:
  bool sleep(Seconds time);
  void put_back_on(const NodeSettings& settings);
  Night night_;
};

}  // namespace dvfs_plan
