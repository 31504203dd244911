#include "results/report/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "results/report/amounts.hpp"
#include "results/statistics/blocks.hpp"

namespace dvfs_plan {
namespace {

// Whether a trial of one alone is of the same settings, and of the same of what it marks: on each axis that both have, but for those that
// say how many run at once.
bool same_but_alone(const TrialRow& alone, const TrialRow& shared,
                    const std::set<std::string>& axes_of_instances) {
  for (const AxisSetting& mine : alone.settings) {
    const auto other = std::find_if(shared.settings.begin(), shared.settings.end(),
                                    [&](const AxisSetting& setting) { return setting.axis == mine.axis; });
    if (other == shared.settings.end() || other->text == mine.text) continue;
    if (!axes_of_instances.contains(mine.axis) || mine.number != 1.0) return false;
  }
  return (" + " + shared.region + " + ").find(" + " + alone.region + " + ") != std::string::npos;
}

std::optional<double> time_of(const TrialRow::Instance& one) {
  const double work = one.units.value_or(one.runs);
  return one.time_s && work > 0 ? std::optional(*one.time_s / work) : std::nullopt;
}

std::string instance_text(const InstanceSummary& one) {
  std::string text = one.name;
  if (!one.time)
    return text + ": its own time is not known, since it marks nothing of what counts or told no work";
  text += " " + amount(*one.time, "s");
  if (!one.slowdown)
    return text + (one.alone_otherwise ? ", ran alone here at other settings, or with something else counted"
                                       : ", did not run alone here");
  text += fmt::format(", {:.2f} times as long as alone", 1 + one.slowdown->value);
  if (one.slowdown->low)
    text += fmt::format(" [{:.2f}, {:.2f}]", 1 + *one.slowdown->low, 1 + *one.slowdown->high);
  return text;
}

}  // namespace

void compare_with_alone(Summary& summary, const std::vector<TrialRow>& trials) {
  std::map<std::string, std::vector<const TrialRow*>> alone, shared;  // by workload; by point
  for (const TrialRow& trial : trials) {
    if (!trial.counts()) continue;
    if (trial.instances.empty())
      alone[trial.workload].push_back(&trial);
    else
      shared[trial.point].push_back(&trial);
  }
  // What counts of a workload that has a target ends where that is reached.
  const auto target_of = [&](const std::string& workload) {
    const auto found = summary.experiment.targets.find(workload);
    return found == summary.experiment.targets.end() ? std::string() : found->second;
  };
  for (ScenarioSummary& scenario : summary.scenarios) {
    for (PointSummary& point : scenario.points) {
      for (std::size_t i = 0; i < point.instances.size(); ++i) {
        InstanceSummary& one = point.instances[i];
        const auto& mine = shared[point.point];
        std::vector<BlockedValue> values;
        for (const TrialRow* trial : mine) {
          const auto time = i < trial->instances.size() ? time_of(trial->instances[i]) : std::nullopt;
          if (time && *time > 0) values.push_back({1, trial->block, *time});
        }
        for (const TrialRow* trial : alone[one.workload]) {
          const auto time = trial->work_time();
          // Where no metric counts it, it is a run.
          const bool by_metric = !summary.experiment.objective_for(one.workload).per.empty();
          const bool same_unit =
              !mine.empty() && i < mine.front()->instances.size() &&
              (!by_metric || mine.front()->instances[i].units.has_value() == trial->units.has_value());
          if (same_unit && time && *time > 0 && target_of(one.workload) == target_of(point.workload) &&
              same_but_alone(*trial, *mine.front(), summary.experiment.axes_of_instances))
            values.push_back({0, trial->block, *time});
        }
        one.slowdown = paired_change(values, 1, 0, ChangeOf::increase);
        one.alone_otherwise = !one.slowdown && !alone[one.workload].empty();
      }
    }
  }
}

std::string beside_lines(const ScenarioSummary& scenario) {
  std::string text;
  constexpr std::size_t most = 8;
  for (const PointSummary& point : scenario.points) {
    if (point.instances.empty()) continue;
    if (text.empty()) text += "\nSide by side (s per unit of work, or per run):\n";
    text += fmt::format("  {}: ", printable(settings_text(point)));
    if (point.all_running_share)
      text +=
          fmt::format("all ran at once in {:.1f} % of what counts; ", 100 * point.all_running_share->mean);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < point.instances.size() && i < most; ++i)
      texts.push_back(printable(instance_text(point.instances[i])));
    if (point.instances.size() > most)
      texts.push_back(fmt::format("and {} more", point.instances.size() - most));
    text += join(texts, "; ") + "\n";
  }
  bool boards = false;
  for (const PointSummary& point : scenario.points) {
    if (point.joules_of_boards.size() < 2) continue;
    if (!std::exchange(boards, true)) text += "\nEnergy of each board, per run:\n";
    std::vector<std::string> texts;
    for (const auto& [domain, joules] : point.joules_of_boards)
      texts.push_back(fmt::format("{} {}", printable(domain), amount(joules, "J")));
    text += fmt::format("  {}: {}\n", printable(settings_text(point)), join(texts, ", "));
  }
  if (boards) text += "  (± is of the trials; the sensors' own part is not in it)\n";
  bool metrics = false;
  for (const PointSummary& point : scenario.points) {
    std::vector<std::string> texts;
    for (const ConstraintSpec& constraint : scenario.objective.constraints) {
      const auto metric = point.metrics.find(constraint.name);
      if (metric == point.metrics.end() || is_measured(constraint.name)) continue;
      const MetricSummary& told = metric->second;
      std::string one =
          fmt::format("{} {}", printable(constraint.name), amount(told.value, printable(told.unit)));
      // Of several at once a limit is about the worst of them.
      if (told.least && told.highest && told.highest->mean > told.least->mean)
        one += fmt::format(" (of those at once from {} on the average)",
                           amounts_from_to(told.least->mean, told.highest->mean, printable(told.unit)));
      if (told.count_low)
        one += fmt::format(" ({:.0f} of {:.0f}, [{:.2f}, {:.2f}] % by the count alone)", told.count,
                           told.count_of, *told.count_low, *told.count_high);
      // Pooled it says nothing of each.
      if (told.least_count && told.highest_count && *told.least_count != *told.highest_count)
        one += fmt::format(" (of each by itself from {:.2f} to {:.2f} %)", told.least_count->first,
                           told.highest_count->second);
      // A percentile is not told where too many requests were not answered: those that told one are the better trials.
      if (told.trials < point.counted)
        one += fmt::format(" (told in {} of {} trials only, and so not known of this setting)", told.trials,
                           point.counted);
      texts.push_back(one);
    }
    if (texts.empty()) continue;
    if (!std::exchange(metrics, true)) text += "\nWhat the constraints are about:\n";
    text += fmt::format("  {}: {}\n", printable(settings_text(point)), join(texts, ", "));
  }
  return text;
}

std::string value_text(const ConstraintCheck& check) {
  if (!check.value) return "not known";
  if (check.name == "slowdown") return fmt::format("{:.1f} %", 100 * *check.value);
  return fmt::format("{:.4g}{}{}", *check.value, check.unit.empty() ? "" : " ", printable(check.unit));
}

std::string without_constraints(const ScenarioSummary& scenario) {
  if (scenario.objective.constraints.empty() || scenario.search) return {};
  const PointSummary* least = nullptr;
  for (const PointSummary& point : scenario.points) {
    if (point.objective_level && (least == nullptr || *point.objective_level < *least->objective_level))
      least = &point;
  }
  if (least == nullptr || (scenario.best && &scenario.points[*scenario.best] == least)) return {};
  std::vector<std::string> broken;
  bool known = true, shown = true;
  const auto is_shown = [](const ConstraintCheck& check) { return !check.holds || !check.may_hold(); };
  const bool some_shown =
      std::any_of(least->constraints.begin(), least->constraints.end(),
                  [](const ConstraintCheck& check) { return check.holds == false && !check.may_hold(); });
  for (const ConstraintCheck& check : least->constraints) {
    if (check.holds == true) continue;
    known = known && check.holds;
    // Where one of several is shown, each that is not says so itself.
    const std::string unshown = some_shown && !is_shown(check) ? ", which its interval does not show" : "";
    shown = shown && (some_shown || is_shown(check));
    broken.push_back(
        check.value              ? fmt::format("{}: it has {}{}", check.text, value_text(check),
                                  check.name == "slowdown" && check.low && check.high
                                                   ? fmt::format(" [{:.1f}, {:.1f}]", 100 * *check.low, 100 * *check.high)
                                                   : "")
        : !check.why_not.empty() ? fmt::format("{}: {}", check.text, check.why_not)
                                 : check.text + ": not known");
    broken.back() += unshown;
  }
  if (broken.empty()) return {};
  std::string text = fmt::format("without the constraints the least would be at {}", settings_text(*least));
  const auto* best = scenario.best ? &scenario.points[*scenario.best] : nullptr;
  if (best != nullptr && best->objective->mean > 0 && scenario.balanced)
    text += fmt::format(", whose mean is {:.1f} % below that of what is named",
                        100 * (1 - least->objective->mean / best->objective->mean));
  return text +
         fmt::format(" ({} {})",
                     !known  ? "which is not known to hold"
                     : shown ? "which does not hold"
                             : "which by its estimate does not hold, though its interval does not show it,",
                     join(broken, "; "));
}

}  // namespace dvfs_plan
