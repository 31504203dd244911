// What the parts of a cluster's night work with.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/interruption.hpp"
#include "experiments/plan/experiment.hpp"
#include "orchestrator/cluster/shared_folder.hpp"
#include "orchestrator/commands/cluster_run.hpp"
#include "orchestrator/run/progress.hpp"

namespace dvfs_plan {

inline constexpr Seconds between_looks{0.5}, between_questions{2};
// Time that a finished file may take to be seen on another machine before its task counts as gone without it.
inline constexpr Seconds patience_of_folder{5};

struct ClusterContext {
  ClusterContext(const ClusterOptions& options, const Experiment& experiment, std::string path);
  // The command that does this for the night: "dvfs-plan collect night.yaml"; empty: the one that runs it.
  std::string shell_text(const std::string& command = {}) const;

  const ClusterOptions& options;
  const Experiment& experiment;
  const SlurmSpec& spec;
  Interruption interruption;
  SystemClock& clock = system_clock();
  std::string path;     // of the result; another one where that was lost meanwhile
  SharedFolder folder;  // of the nodes
  Progress progress;
};

}  // namespace dvfs_plan
