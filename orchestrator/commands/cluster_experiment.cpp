#include "orchestrator/commands/cluster_experiment.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "orchestrator/commands/experiment_text.hpp"
#include "orchestrator/commands/result_place.hpp"
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

std::string nodes_folder(const Experiment& experiment, const std::string& result, const std::string& type) {
  const auto& folder = experiment.slurm->folder;
  if (!folder) return beside_result(result, ".nodes");
  auto path = std::filesystem::path(experiment.folder) / folder->text;
  if (!type.empty()) path += "." + type;
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string nodes_folder_of(Store& store, const std::string& result) {
  Statement source = store.database().prepare("SELECT source_file FROM experiment");
  source.step();
  const std::string file = source.text(0);
  Diagnostics diagnostics(file);
  const auto experiment =
      parse_experiment(store.experiment_file(), file, registered_vocabulary(), diagnostics);
  const std::string stem = std::filesystem::path(result).stem().string();
  // A result that an older program of other keys made: where it would be by itself.
  if (!experiment || !experiment->slurm) return beside_result(result, ".nodes");
  const auto dot = stem.rfind('.');  // NAME.TYPE.sqlite
  return nodes_folder(*experiment, result,
                      experiment->slurm->each_type && dot != std::string::npos ? stem.substr(dot + 1) : "");
}

}  // namespace dvfs_plan
