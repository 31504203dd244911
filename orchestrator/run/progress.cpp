#include "orchestrator/run/progress.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/output.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// Columns of the terminal; what is wider would wrap, and no longer be one line that moves.
std::size_t columns() {
  winsize size{};
  constexpr std::size_t usual = 80, least = 40;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return std::max<std::size_t>(least, size.ws_col);
}

// What changes that a trial is excluded, or that it is warned of, where a key of the file does.
std::string key_for(const std::string& kind) {
  static const std::map<std::string, std::string> keys{
      {"foreign_load", "conditions: {foreign load: SHARE or off}"},
      {"clocks_unsteady", "conditions: {settle limit: TIME}"},
      {"short_region", "measure: {at least: TIME}"},
      {"timed_out", "workloads: {timeout: TIME}"},
      {"service_not_ready", "services: {ready: {within: TIME}}"},
  };
  const auto key = keys.find(kind);
  return key == keys.end() ? std::string() : "; what it goes by: " + key->second;
}

constexpr int one_by_one = 3;

// Its first warnings one by one, then at 10, 30, 100, 300, ...
bool is_told(int times) {
  if (times <= one_by_one) return true;
  for (int milestone = 10; milestone <= times; milestone *= 10) {
    if (times == milestone || times == 3 * milestone) return true;
  }
  return false;
}

}  // namespace

void Progress::clear() {
  if (shown_) write_stderr(fmt::format("\r\x1b[K"));
  shown_ = false;
}

void Progress::say(const std::string& line) {
  if (!quiet_) insist(line);
}

void Progress::insist(const std::string& line) {
  clear();
  write_stderr(fmt::format("{}\n", line));
}

std::optional<Seconds> Progress::expected(int remaining) const {
  double spent = 0;
  int trials = 0;
  for (const auto& [slot, is_workload] : last_) {
    spent += slot;
    trials += is_workload ? 1 : 0;
  }
  if (trials == 0) return std::nullopt;
  return Seconds{spent / trials * remaining};
}

// What is told first stays where the terminal is narrow.
std::string Progress::moving_line(const PlannedTrial& trial, int finished, int remaining) const {
  constexpr int bar = 20;
  const int all = std::max(1, finished + remaining), done = bar * finished / all;
  std::string eta = "ETA after the first trial";
  if (const auto left = expected(remaining)) eta = "ETA " + format_duration(*left);
  if (remaining == 0) eta = "the last of it";
  std::string line = fmt::format("[{}/{}] {}{} {} gone, {}", finished, finished + remaining,
                                 std::string(static_cast<std::size_t>(done), '#'),
                                 std::string(static_cast<std::size_t>(bar - done), '-'),
                                 format_duration(seconds(clock_.now() - started_)), eta);
  const std::size_t room = columns() - 1;
  const auto add = [&](const std::string& text) {
    if (line.size() + 2 + text.size() <= room) line += "  " + text;
  };
  if (unsaid_ > 0) add(fmt::format("{} more warnings", unsaid_));
  add(printable(trial.key));
  if (!best_.empty()) add("so far " + printable(best_));
  return line.substr(0, room);
}

// Of hundreds that are alike each would hide all else.
void Progress::warn(const std::string& kind, const std::string& key, const std::string& before,
                    const std::string& message) {
  // What differs in its numbers alone says the same.
  std::string shape = kind + '\n' + key.substr(0, key.find(' ')) + '\n';
  for (const char c : message) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || shape.back() != '#') shape += digit ? '#' : c;
  }
  const std::string text = printable(key) + before + printable(message);
  Told& told = told_[shape];
  ++told.times;
  if (!is_told(told.times)) {
    ++unsaid_;
    return;
  }
  if (told.times < one_by_one)
    say("warning: " + text);
  else if (told.times == one_by_one)
    say(fmt::format("warning: {}{}; further ones like it are counted", text, key_for(kind)));
  else
    say(fmt::format("warning: {} times so far ({}); the last: {}", told.times, kind, text));
}

void Progress::begins(const PlannedTrial& trial, int finished, int remaining) {
  if (started_ == 0) started_ = clock_.now();
  if (quiet_ || !terminal_) return;
  write_stderr("\r\x1b[K" + moving_line(trial, finished, remaining));
  shown_ = true;
}

void Progress::finished(const TrialRecord& trial) {
  constexpr std::size_t most = 50;
  last_.emplace_back(trial.slot_s, !is_idle(trial.role) && trial.role != TrialRole::warm_up);
  if (last_.size() > most) last_.pop_front();
  for (const EventRecord& event : trial.events) {
    // What is so of every trial of a workload is said once; all of them are in the result.
    const std::string about = trial.key.substr(0, trial.key.find(' '));
    const bool of_every_trial = event.kind == "short_region" || event.kind == "delivered_unknown" ||
                                event.kind == "sensor_unresolved";
    // Each board's sensor once.
    const std::string which = event.kind == "sensor_unresolved" ? event.message : "";
    if (of_every_trial && !said_.insert(event.kind + about + which).second) continue;
    warn(event.kind, trial.key, ": ", event.message);
  }
  if (trial.verdict == Verdict::censored) {
    say(fmt::format("{}: {}", printable(trial.key), printable(trial.verdict_text)));
  } else if (trial.verdict != Verdict::ok) {
    warn(std::string(to_string(trial.verdict)), trial.key,
         fmt::format(" does not count ({}): ", to_string(trial.verdict)), trial.verdict_text);
  } else if (!terminal_) {
    const double runs = static_cast<double>(trial.starts());
    say(fmt::format("{}: {:.4g} s{}", printable(trial.key), trial.region_s.value_or(0) / runs,
                    trial.energy_j ? fmt::format(", {:.4g} J", *trial.energy_j / runs) : ""));
  }
}

}  // namespace dvfs_plan
