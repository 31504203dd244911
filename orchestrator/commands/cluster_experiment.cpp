#include "orchestrator/commands/cluster_experiment.hpp"

#include "base/error.hpp"
#include "orchestrator/commands/experiment_text.hpp"
#include "orchestrator/commands/vocabulary.hpp"

namespace dvfs_plan {

std::optional<Experiment> cluster_experiment(const std::string& file) {
  try {
    Diagnostics diagnostics(file);
    auto experiment =
        parse_experiment(read_experiment_file(file), file, registered_vocabulary(), diagnostics);
    if (experiment && !diagnostics.has_errors() && experiment->slurm) return experiment;
  } catch (const Error&) {
  }
  // A file with faults is told of by who resolves it, all of them at once, and behind what comes first of all: that a
  // machine which an earlier run left is put back.
  return std::nullopt;
}

}  // namespace dvfs_plan
