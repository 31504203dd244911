#include "orchestrator/commands/cluster_context.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "orchestrator/commands/cluster_experiment.hpp"

namespace dvfs_plan {

ClusterContext::ClusterContext(const ClusterOptions& options_, const Experiment& experiment_,
                               std::string path_)
    : options(options_),
      experiment(experiment_),
      spec(*experiment_.slurm),
      path(std::move(path_)),
      folder(nodes_folder(experiment, path, options.type)),
      progress(clock, ::isatty(STDERR_FILENO) != 0, options.quiet) {}

std::string ClusterContext::shell_text(const std::string& command) const {
  return fmt::format("dvfs-plan {}{}{}", command.empty() ? "" : command + " ", shell_quote(options.file),
                     options.output.empty() ? "" : " --output " + shell_quote(options.output));
}

}  // namespace dvfs_plan
