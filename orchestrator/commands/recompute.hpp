// Energies of a result file judged anew, from its raw readings with today's code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/store/store.hpp"

namespace dvfs_plan {

struct RecomputedEnergy {
  std::string key;
  std::optional<double> stored_j, stored_half_width_j;
  std::optional<double> joules, half_width_j;
  // What the sensors say of the trial: "ok", "sensor_gap", "sensors_disagree". Empty where something else than a sensor
  // excluded it, whatever the sensors say.
  std::string stored_verdict, verdict, verdict_text;
  bool same() const {
    return stored_j == joules && stored_half_width_j == half_width_j && stored_verdict == verdict;
  }
};
struct Recomputed {
  std::vector<RecomputedEnergy> trials;       // all that were launched, idle windows among them
  std::vector<std::string> without_readings;  // keys of those whose readings are not in the file, or damaged
};

// What was found of the sensors is taken from the audit of each trial's session. Verdicts of other things
// than sensors are not judged again: what they need is not all in the file.
Recomputed recompute_energies(Store& store);

std::string recomputed_text(const Recomputed& recomputed);
std::string json_recomputed(const Recomputed& recomputed);

}  // namespace dvfs_plan
