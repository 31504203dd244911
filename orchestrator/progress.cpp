#include "orchestrator/progress.hpp"

#include <fmt/format.h>

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

void Progress::begins(const PlannedTrial& trial, int finished, int remaining) {
  if (started_ == 0) started_ = clock_.now();
  if (quiet_ || !terminal_) return;
  std::string eta = "ETA after the first trial";
  if (finished_here_ > 0) {
    const Seconds each = seconds((clock_.now() - started_) / finished_here_);
    eta = "ETA " + format_duration(each * remaining);
  }
  write_stderr(
      fmt::format("\r\x1b[K[{}/{}] {}  {}", finished, finished + remaining, printable(trial.key), eta));
  shown_ = true;
}

void Progress::finished(const TrialRecord& trial) {
  ++finished_here_;
  for (const EventRecord& event : trial.events)
    say(fmt::format("warning: {}: {}", printable(trial.key), printable(event.message)));
  if (trial.verdict != Verdict::ok) {
    say(fmt::format("warning: {} does not count ({}): {}", printable(trial.key), to_string(trial.verdict),
                    printable(trial.verdict_text)));
  } else if (!terminal_) {
    const double time = seconds(trial.child.ended - trial.child.started).value();
    say(fmt::format("{}: {:.4g} s{}", printable(trial.key), time,
                    trial.energy_j ? fmt::format(", {:.4g} J", *trial.energy_j) : ""));
  }
}

}  // namespace dvfs_plan
