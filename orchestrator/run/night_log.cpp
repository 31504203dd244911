#include "orchestrator/run/night_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/journald.hpp"
#include "base/output.hpp"
#include "base/text.hpp"

namespace dvfs_plan {

bool NightLog::write(Severity severity, const std::string& message, Fields fields) {
  if (to_ == LogTo::none) return true;
  if (to_ == LogTo::stderr_lines) {
    const char* const word = severity == Severity::info      ? "info"
                             : severity == Severity::warning ? "warning"
                                                             : "error";
    write_stderr(
        fmt::format("{} {}: {}: {}\n", clock_.wall_time(), word, printable(experiment_), printable(message)));
    return true;
  }
  fields.insert(fields.begin(), {"EXPERIMENT", experiment_});
  const LogPriority priority = severity == Severity::info      ? LogPriority::info
                               : severity == Severity::warning ? LogPriority::warning
                                                               : LogPriority::error;
  return send_to_journal("dvfs-plan", priority, message, fields);
}

bool NightLog::begun(const std::string& result) {
  return write(Severity::info, "begun: " + result, {{"EVENT", "begun"}, {"RESULT", result}});
}

void NightLog::finished(const TrialRecord& trial) {
  for (const EventRecord& event : trial.events)
    write(Severity::warning, fmt::format("{}: {}: {}", trial.key, event.kind, event.message),
          {{"EVENT", event.kind}, {"TRIAL", trial.key}});
  Fields fields{{"EVENT", "trial"}, {"TRIAL", trial.key}, {"VERDICT", std::string(to_string(trial.verdict))}};
  std::string text = trial.key;
  // Of one run, as in view trials.
  const double runs = static_cast<double>(std::max<std::size_t>(1, trial.starts()));
  if (trial.region_s) {
    text += fmt::format(": {:.6g} s", *trial.region_s / runs);
    fields.emplace_back("SECONDS", fmt::format("{}", *trial.region_s / runs));
  }
  if (trial.energy_j) {
    text += fmt::format(", {:.6g} J", *trial.energy_j / runs);
    fields.emplace_back("JOULES", fmt::format("{}", *trial.energy_j / runs));
  }
  if (trial.verdict != Verdict::ok)
    text += fmt::format("; does not count ({}): {}", to_string(trial.verdict), trial.verdict_text);
  write(trial.verdict == Verdict::ok ? Severity::info : Severity::warning, text, std::move(fields));
}

void NightLog::fault(const std::string& kind, const std::string& message) {
  write(Severity::error, fmt::format("{}: {}", kind, message), {{"EVENT", kind}});
}

void NightLog::ended(const std::string& how) {
  write(how == "done" ? Severity::info : Severity::warning, "ended: " + how,
        {{"EVENT", "ended"}, {"HOW", how}});
}

}  // namespace dvfs_plan
