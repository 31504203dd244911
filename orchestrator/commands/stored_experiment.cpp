#include "orchestrator/commands/stored_experiment.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "orchestrator/commands/vocabulary.hpp"

namespace dvfs_plan {

Experiment stored_experiment(Store& store, const std::string& file) {
  Diagnostics diagnostics("the experiment in " + file);
  auto experiment = parse_experiment(store.experiment_file(), file, registered_vocabulary(), diagnostics);
  if (experiment && !diagnostics.has_errors()) return std::move(*experiment);
  std::string text = diagnostics.text();
  if (!text.empty()) text.pop_back();
  throw Error(ExitCode::bad_experiment, text, "it was written for another version of dvfs-plan");
}

}  // namespace dvfs_plan
