#include "orchestrator/run/brake.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// What the next trial will meet as well, as far as can be known. Disturbances pass, what a setting does to a trial
// (its clock is not delivered, its target not reached) is a result, and resetters and services are stopped for elsewhere.
bool lasts(Verdict verdict) {
  switch (verdict) {
    case Verdict::not_launched:
    case Verdict::exited:
    case Verdict::signalled:
    case Verdict::timed_out:
    case Verdict::knob_refused:
    case Verdict::not_in_force:
    case Verdict::sensor_absent:
    case Verdict::sensor_denied:
    case Verdict::sensor_gone:
    case Verdict::sensor_dead:
    case Verdict::sensor_frozen:
    case Verdict::sensor_gap:
    case Verdict::sensor_impossible:
    case Verdict::sensors_disagree:
    case Verdict::no_region:
    case Verdict::marks_unpaired:
    case Verdict::marks_lost:
    case Verdict::no_metric:
    case Verdict::instance_failed:
      return true;
    default:
      return false;
  }
}

// A meter that stalls comes back, or is started again: of short trials many pass meanwhile.
constexpr Seconds stall{10};
bool may_be_a_stall(Verdict verdict) {
  return verdict == Verdict::sensor_absent || verdict == Verdict::sensor_gone ||
         verdict == Verdict::sensor_frozen || verdict == Verdict::sensor_gap;
}

}  // namespace

std::string last_lines(const std::string& text) {
  constexpr std::size_t most = 300;
  const std::string_view end = trim(text);
  return printable(std::string(end.substr(end.size() - std::min(end.size(), most))));
}

std::optional<std::string> Brake::stops_behind(const TrialRecord& trial) {
  // It would run beside whatever comes next.
  if (trial.child.stuck > 0) {
    keys_.clear();
    if (counts_for_its_point(trial.role)) keys_.push_back(trial.key);
    return fmt::format(
        "{}: process {} of it was killed and does not end: it waits within the kernel, for a driver or a "
        "file system",
        printable(trial.key), trial.child.stuck);
  }
  if (after_ == 0 || !counts_for_its_point(trial.role)) return std::nullopt;
  if (trial.verdict != cause_) keys_.clear();
  cause_ = trial.verdict;
  if (!lasts(trial.verdict)) {
    keys_.clear();
    return std::nullopt;
  }
  if (keys_.empty()) since_ = trial.child.started;
  keys_.push_back(trial.key);
  if (static_cast<int>(keys_.size()) < after_) return std::nullopt;
  if (may_be_a_stall(trial.verdict) && seconds(trial.child.ended - since_) < stall) return std::nullopt;
  const std::string said = last_lines(trial.child.errors.tail);
  return fmt::format("{} trials in a row failed in the same way ({}); the last, {}: {}{}", keys_.size(),
                     to_string(trial.verdict), printable(trial.key), printable(trial.verdict_text),
                     said.empty() ? "" : fmt::format("; it said: {}", said));
}

}  // namespace dvfs_plan
