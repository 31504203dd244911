// Trials of a result file judged anew, from their raw readings with today's code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/store/store.hpp"

namespace dvfs_plan {

struct RecomputedTrial {
  std::string key;
  std::optional<double> stored_j, stored_half_width_j;
  std::optional<double> joules, half_width_j;
  std::string stored_verdict, verdict, verdict_text;
  // What else came out otherwise, in words: delivered clocks, what boards' limits held down, energies of
  // regions.
  std::vector<std::string> differences;
  bool same() const {
    return stored_j == joules && stored_half_width_j == half_width_j && stored_verdict == verdict &&
           differences.empty();
  }
};
struct Recomputed {
  std::vector<RecomputedTrial> trials;        // all that were launched, idle windows among them
  std::vector<std::string> without_readings;  // keys of those whose readings are not in the file, or damaged
  // Trials that requested a clock, of a file that does not say what it was judged by (schema 9 and before).
  int clocks_not_judged = 0;
  int idle_windows = 0;  // of `trials`
};

// What was found of the sensors is taken from the audit of each trial's session. What other things than
// readings say (how the workload ended, its marks, who else used the machine, what was changed meanwhile)
// stands as it was recorded.
Recomputed recompute(Store& store);

std::string recomputed_text(const Recomputed& recomputed);
std::string json_recomputed(const Recomputed& recomputed);

}  // namespace dvfs_plan
