#include "results/report/overview.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "results/report/amounts.hpp"
#include "results/report/cells.hpp"
#include "results/report/text_table.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {

std::string how_sure(const ScenarioSummary& scenario) {
  if (!scenario.best) return scenario.counted == 0 ? "no trial counts" : "none holds the constraints";
  if (scenario.search && !scenario.search->scatter_known) return "not known: too few trials";
  if (scenario.search) return "no other " + at_most_better(scenario.search->bound);
  if (!scenario.spread_known) return "not known: too few trials";
  const auto others = std::count_if(scenario.points.begin(), scenario.points.end(),
                                    [](const PointSummary& point) { return point.not_told_apart; }) -
                      1;
  return others > 0 ? fmt::format("not told apart from {}", counted(static_cast<int>(others), "other"))
                    : "all others are worse";
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
