#include "results/report/overview.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "results/report/amounts.hpp"
#include "results/report/cells.hpp"
#include "results/report/text_table.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {

bool tells_alone(const ScenarioSummary& scenario) {
  return scenario.unknown_points > 0 && !scenario.spread_known &&
         std::count_if(scenario.points.begin(), scenario.points.end(),
                       [](const PointSummary& p) { return p.objective.has_value(); }) == 1;
}

std::string how_sure(const ScenarioSummary& scenario) {
  if (!scenario.best) {
    if (scenario.counted == 0) return "no trial counts";
    return scenario.objective.constraints.empty() || holds_without_a_mean(scenario)
               ? "not known"
               : "none is known to hold the constraints";
  }
  if (scenario.planned_points == 1) return "it is the only point";
  if (scenario.search && !scenario.search->scatter_known) return "not known: too few trials";
  if (scenario.search) {
    if (!std::isfinite(scenario.search->bound)) return "not known well enough yet";
    return fmt::format("no other{} {} ({:g} % confidence)",
                       scenario.objective.constraints.empty() ? "" : " that holds the constraints",
                       at_most_better(scenario.search->bound), 100 * scenario.search->rule.confidence);
  }
  if (tells_alone(scenario)) return "not known: no trial of another point tells what is compared";
  if (!scenario.spread_known) return "not known: too few trials";
  // Of each other setting what is known: who is not compared is not worse.
  int not_told_apart = 0, worse = 0, breaks = 0, by_mean = 0, missed = 0,
      unknown = std::max(0, scenario.planned_points - static_cast<int>(scenario.points.size()));
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    if (i == *scenario.best) continue;
    const PointSummary& point = scenario.points[i];
    const bool constraints_known =
        std::all_of(point.constraints.begin(), point.constraints.end(),
                    [](const ConstraintCheck& check) { return check.holds.has_value(); });
    const auto any = [&](auto condition) {
      return std::any_of(point.constraints.begin(), point.constraints.end(), condition);
    };
    if (point.censored > 0)
      ++missed;
    else if (any([](const ConstraintCheck& check) { return check.holds == false && !check.may_hold(); }))
      ++breaks;
    else if (constraints_known && !point.feasible)
      ++by_mean;
    else if (!point.objective || !constraints_known)
      ++unknown;
    else
      ++(point.not_told_apart ? not_told_apart : worse);
  }
  std::vector<std::string> parts;
  if (not_told_apart > 0)
    parts.push_back(fmt::format("not told apart from {}", counted(not_told_apart, "other")));
  if (breaks + by_mean + missed + unknown == 0) return parts.empty() ? "all others are worse" : parts.front();
  if (not_told_apart == 0 && worse > 0)
    parts.push_back(worse == 1 ? "1 other is worse" : fmt::format("{} others are worse", worse));
  if (breaks > 0) parts.push_back(fmt::format("{} break{} the constraints", breaks, breaks == 1 ? "s" : ""));
  if (by_mean > 0)
    parts.push_back(
        fmt::format("{} break{} the constraints by the mean alone", by_mean, by_mean == 1 ? "s" : ""));
  if (missed > 0) parts.push_back(fmt::format("{} did not reach the target", missed));
  if (unknown > 0) parts.push_back(fmt::format("{} not known", unknown));
  return join(parts, ", ");
}

std::string overview_table(const Summary& summary, const TextLook& look) {
  if (summary.scenarios.size() < 2) return {};
  TextTable table;
  const bool per_unit = std::any_of(summary.scenarios.begin(), summary.scenarios.end(),
                                    [](const ScenarioSummary& one) { return !one.objective.per.empty(); });
  std::vector<std::string> head{"", "answer", "energy"};
  const std::string per = unit_of_work(summary.scenarios.front());
  const bool alike = std::all_of(summary.scenarios.begin(), summary.scenarios.end(),
                                 [&](const ScenarioSummary& one) { return unit_of_work(one) == per; });
  if (per_unit) head.push_back("energy/" + (alike ? printable(per) : "unit"));
  for (const char* name : {"time", "better by", "slowdown", "how sure"}) head.emplace_back(name);
  table.row(head, true);
  for (const ScenarioSummary& scenario : summary.scenarios) {
    const PointSummary* const best = scenario.best ? &scenario.points[*scenario.best] : nullptr;
    std::vector<std::string> cells{printable(scenario.scenario),
                                   best == nullptr ? "—" : printable(settings_text(*best)),
                                   best == nullptr ? "—" : cell(best->energy, "J")};
    if (per_unit) cells.push_back(best == nullptr ? "—" : cell(best->energy_per_unit, "J"));
    const bool is_reference = best != nullptr && best->is_reference;
    cells.push_back(best == nullptr ? "—" : cell(best->time, "s"));
    cells.push_back(best == nullptr ? "—" : is_reference ? "is the reference" : cell(scenario.gain_of_best));
    cells.push_back(best == nullptr || is_reference ? "—" : cell(best->slowdown));
    cells.push_back(how_sure(scenario));
    table.row(cells);
  }
  return "\n" + table.text(look);
}

}  // namespace dvfs_plan
