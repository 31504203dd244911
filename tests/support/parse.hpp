// Experiments as the program parses them: with all knobs, probes and searches that are registered.
#pragma once

#include "experiments/plan/experiment.hpp"
#include "orchestrator/commands/vocabulary.hpp"

namespace dvfs_plan {

inline std::optional<Experiment> parse_experiment(std::string_view text, const std::string& file,
                                                  Diagnostics& diagnostics) {
  return parse_experiment(text, file, registered_vocabulary(), diagnostics);
}

}  // namespace dvfs_plan
