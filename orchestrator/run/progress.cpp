#include "orchestrator/run/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/output.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

void Progress::clear() {
  if (shown_) write_stderr(fmt::format("\r\x1b[K"));
  shown_ = false;
}

void Progress::say(const std::string& line) {
  if (quiet_) return;
  clear();
  write_stderr(fmt::format("{}\n", line));
}

// Warm-ups and idle windows are in what each trial has taken so far.
std::optional<Seconds> Progress::expected(int remaining) const {
  if (workload_trials_here_ == 0) return std::nullopt;
  return seconds((clock_.now() - started_) / workload_trials_here_) * remaining;
}

void Progress::begins(const PlannedTrial& trial, int finished, int remaining) {
  if (started_ == 0) started_ = clock_.now();
  if (quiet_ || !terminal_) return;
  std::string eta = "ETA after the first trial";
  if (const auto left = expected(remaining)) eta = "ETA " + format_duration(*left);
  if (remaining == 0) eta = "the last of it";
  write_stderr(
      fmt::format("\r\x1b[K[{}/{}] {}  {}", finished, finished + remaining, printable(trial.key), eta));
  shown_ = true;
}

void Progress::finished(const TrialRecord& trial) {
  if (!is_idle(trial.role) && trial.role != TrialRole::warm_up) ++workload_trials_here_;
  for (const EventRecord& event : trial.events) {
    // What is so of every trial of a workload is said once; all of them are in the result.
    const std::string about = trial.key.substr(0, trial.key.find(' '));
    const bool of_every_trial = event.kind == "short_region" || event.kind == "delivered_unknown" ||
                                event.kind == "sensor_unresolved";
    // Each board's sensor once.
    const std::string which = event.kind == "sensor_unresolved" ? event.message : "";
    if (of_every_trial && !said_.insert(event.kind + about + which).second) continue;
    say(fmt::format("warning: {}: {}", printable(trial.key), printable(event.message)));
  }
  if (trial.verdict == Verdict::censored) {
    say(fmt::format("{}: {}", printable(trial.key), printable(trial.verdict_text)));
  } else if (trial.verdict != Verdict::ok) {
    say(fmt::format("warning: {} does not count ({}): {}", printable(trial.key), to_string(trial.verdict),
                    printable(trial.verdict_text)));
  } else if (!terminal_) {
    const double runs = static_cast<double>(trial.starts());
    say(fmt::format("{}: {:.4g} s{}", printable(trial.key), trial.region_s.value_or(0) / runs,
                    trial.energy_j ? fmt::format(", {:.4g} J", *trial.energy_j / runs) : ""));
  }
}

}  // namespace dvfs_plan
