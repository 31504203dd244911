#include "orchestrator/run/night_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// In a label's value backslash, quotation mark and line feed are escaped (OpenMetrics, ABNF of escaped-string).
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text, true)) {
    if (c == '\\' || c == '"') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result;
}

class OpenMetrics {
 public:
  explicit OpenMetrics(std::string experiment) : experiment_(std::move(experiment)) {}

  void family(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
    name_ = std::string("dvfs_plan_") + std::string(name);
    text_ += fmt::format("# TYPE {} {}\n", name_, type);
    if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name_, unit);
    text_ += fmt::format("# HELP {} {}\n", name_, help);
    suffix_ = type == "counter" ? "_total" : type == "info" ? "_info" : "";
  }
  void sample(const Labels& labels, double value) {
    text_ += fmt::format("{}{}{{experiment=\"{}\"", name_, suffix_, escaped(experiment_));
    for (const auto& [label, says] : labels) text_ += fmt::format(",{}=\"{}\"", label, escaped(says));
    text_ += fmt::format("}} {}\n", value);
  }
  std::string end() && { return std::move(text_) + "# EOF\n"; }

 private:
  std::string experiment_, name_, suffix_, text_;
};

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

NightMetrics::NightMetrics(const Clock& clock, const Plan& plan, std::vector<Channel> channels,
                           std::string version)
    : clock_(clock), plan_(plan), channels_(std::move(channels)), version_(std::move(version)) {}

void NightMetrics::begins(const PlannedTrial& trial, int finished, int remaining,
                          std::optional<Seconds> eta) {
  const std::lock_guard lock(mutex_);
  now_ = trial;
  begun_ = true;
  finished_ = finished;
  remaining_ = remaining;
  done_at_ = eta ? std::optional(clock_.now() + nanoseconds(*eta)) : std::nullopt;
}

void NightMetrics::finished(const TrialRecord& trial) {
  const std::lock_guard lock(mutex_);
  now_.reset();
  for (const EventRecord& event : trial.events) note_fault(event.kind, trial.key + ": " + event.message);
  if (trial.verdict != Verdict::ok)
    note_fault(std::string(to_string(trial.verdict)), trial.key + ": " + trial.verdict_text);
  if (is_idle(trial.role) || trial.role == TrialRole::warm_up) return;
  ++finished_;
  remaining_ = std::max(0, remaining_ - 1);
  ++verdicts_[std::string(to_string(trial.verdict))];
  Last last{trial.key, trial.region_s, trial.energy_j, {}};
  for (const ChannelEnergy& energy : trial.energies) {
    if (!energy.joules || !trial.region_s || *trial.region_s <= 0 || energy.channel >= channels_.size())
      continue;
    // Of several of one domain a counter, as where energies are summed (results/energy/energy_source.cpp).
    const Channel& channel = channels_[energy.channel];
    if (channel.kind == ChannelKind::counter || !last.watts.contains(channel.domain))
      last.watts[channel.domain] = *energy.joules / *trial.region_s;
  }
  last_ = std::move(last);
}

void NightMetrics::note_fault(const std::string& kind, const std::string& message) {
  ++faults_[kind];
  last_fault_ = Fault{kind, message, seconds_since_1970()};
}

void NightMetrics::fault(const std::string& kind, const std::string& message) {
  const std::lock_guard lock(mutex_);
  note_fault(kind, message);
}

void NightMetrics::drift(const std::map<std::string, double>& by_scenario) {
  const std::lock_guard lock(mutex_);
  drift_ = by_scenario;
}

void NightMetrics::ends() {
  const std::lock_guard lock(mutex_);
  now_.reset();
  done_at_.reset();
}

std::string NightMetrics::text() const {
  const std::lock_guard lock(mutex_);
  OpenMetrics all(plan_.experiment.name);
  all.family("build", "info", "", "The program that runs the night.");
  all.sample({{"version", version_}}, 1);
  if (begun_) {
    all.family("trials_finished", "gauge", "",
               "Trials of workloads that are finished, those of earlier sessions included.");
    all.sample({}, finished_);
    all.family("trials_left", "gauge", "",
               "Trials that are planned and not finished; of a search at most so many.");
    all.sample({}, remaining_);
  }
  if (done_at_) {
    all.family("time_left_seconds", "gauge", "seconds",
               "Until what is planned is done, going by the last trials.");
    all.sample({}, std::max(0.0, seconds(*done_at_ - clock_.now()).value()));
  }
  all.family("trial", "info", "", "The trial that runs now.");
  if (now_) all.sample({{"trial", now_->key}}, 1);
  all.family("setting", "info", "", "What the trial that runs now asked for, axis by axis.");
  if (now_) {
    const PlanPoint& point = plan_.points[static_cast<std::size_t>(now_->point)];
    for (std::size_t axis = 0; axis < plan_.axes.size(); ++axis) {
      // An idle window has the point's settings and none of its work.
      if (point.values[axis] && (plan_.axes[axis].knob || !is_idle(now_->role)))
        all.sample({{"axis", plan_.axes[axis].name}, {"value", point.values[axis]->text}}, 1);
    }
  }
  if (last_) {
    all.family("last_trial", "info", "", "The last trial that is finished.");
    all.sample({{"trial", last_->trial}}, 1);
    if (last_->seconds) {
      all.family("last_trial_seconds", "gauge", "seconds", "How long what counts of the last trial took.");
      all.sample({}, *last_->seconds);
    }
    if (last_->joules) {
      all.family("last_trial_joules", "gauge", "joules", "Its energy, of the domains that count.");
      all.sample({}, *last_->joules);
    }
    if (!last_->watts.empty())
      all.family("last_trial_power_watts", "gauge", "watts", "Its mean power, by domain.");
    for (const auto& [domain, watts] : last_->watts) all.sample({{"domain", domain}}, watts);
  }
  all.family("trials", "counter", "", "Trials of this session, by verdict.");
  for (const auto& [verdict, count] : verdicts_) all.sample({{"verdict", verdict}}, count);
  all.family("faults", "counter", "", "Warnings and faults of this session, by kind.");
  for (const auto& [kind, count] : faults_) all.sample({{"kind", kind}}, count);
  if (last_fault_) {
    all.family("last_fault", "info", "", "The last warning or fault.");
    all.sample({{"kind", last_fault_->kind}, {"message", last_fault_->message}}, 1);
    all.family("last_fault_time_seconds", "gauge", "seconds", "When that was, since 1970.");
    all.sample({}, last_fault_->at);
  }
  if (!drift_.empty())
    all.family("reference_change_ratio", "gauge", "ratio",
               "Change of the reference's objective within the last block that is concluded.");
  for (const auto& [scenario, change] : drift_) all.sample({{"scenario", scenario}}, change);
  return std::move(all).end();
}

}  // namespace dvfs_plan
