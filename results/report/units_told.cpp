#include "results/report/units_told.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/amounts.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {

std::vector<std::string> told_in_several_units(const Summary& summary, const std::vector<TrialRow>& trials) {
  std::map<std::string, std::vector<std::string>> decide;  // by scenario
  std::map<std::string, std::string> per;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    std::vector<std::string> names = deciding_metrics(scenario.objective);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    decide[scenario.scenario] = std::move(names);
    per[scenario.scenario] = scenario.objective.per;
  }
  // By workload and metric: the units, each with the first trial that told it.
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, std::string>>> told;
  for (const TrialRow& trial : trials) {
    const auto names = decide.find(trial.scenario);
    if (!trial.counts() || names == decide.end()) continue;
    for (const std::string& name : names->second) {
      const auto unit = trial.units_of_metrics.find(name);
      // Units of work that are told as a count are what was counted; what a constraint is about is its share, in %.
      const bool work = per.at(trial.scenario) == name;
      if (unit == trial.units_of_metrics.end() || (work && trial.counts_of_metrics.contains(name))) continue;
      auto& units = told[{trial.workload, name}];
      const bool known = std::any_of(units.begin(), units.end(), [&](const auto& one) {
        return unit_factor(one.first, unit->second).has_value();  // such are converted: one_unit.hpp
      });
      if (!known) units.emplace_back(unit->second, trial.key);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [whose, units] : told) {
    if (units.size() < 2) continue;
    std::vector<std::string> texts;
    for (const auto& [unit, trial] : units)
      texts.push_back(fmt::format("{} (first in {})", unit_in_words(unit), printable(trial)));
    sentences.push_back(fmt::format(
        "{}: values of '{}' come in more than one unit: {}; what is made of them cannot be compared",
        printable(whose.first), printable(whose.second), join(texts, ", ")));
  }
  return sentences;
}

std::vector<std::string> told_under_measured_names(const Summary& summary) {
  std::vector<std::string> sentences;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    for (const ConstraintSpec& constraint : scenario.objective.constraints) {
      if (!is_measured(constraint.name) || !unit_of_metric(scenario, constraint.name)) continue;
      sentences.push_back(
          fmt::format("{}: '{}' bounds what is measured; the metric '{}' that the workload tells is not "
                      "looked at: to bound "
                      "it, have it told under another name",
                      printable(scenario.scenario), printable(constraint_text(constraint)), constraint.name));
    }
  }
  return sentences;
}

std::optional<std::string> unit_of_metric(const ScenarioSummary& scenario, const std::string& name) {
  for (const PointSummary& point : scenario.points) {
    const auto metric = point.metrics.find(name);
    if (metric != point.metrics.end())
      return metric->second.count_of > 0 ? std::string() : plain_unit(metric->second.unit);
  }
  return std::nullopt;
}

namespace {

// "samples 400 samples" says no more than "samples 400".
std::string unit_beside_its_name(const ScenarioSummary& scenario) {
  const std::string& per = scenario.objective.per;
  const std::string unit = unit_of_metric(scenario, per).value_or("");
  return unit == per || unit == one_of(per) ? std::string() : unit;
}

}  // namespace

bool counts_units(const ScenarioSummary& scenario) {
  return !scenario.objective.per.empty() ||
         std::any_of(scenario.points.begin(), scenario.points.end(),
                     [](const PointSummary& point) { return point.in_units; });
}

std::string unit_of_work(const ScenarioSummary& scenario) {
  const std::string unit = unit_beside_its_name(scenario);
  return unit.empty() ? one_of(scenario.objective.per)
                      : fmt::format("{} of {}", unit, scenario.objective.per);
}

std::string unit_of(const ObjectiveSpec& objective) {
  if (objective.minimise == Objective::cost && objective.price) return objective.price->currency;
  return objective.minimise == Objective::energy ? "J" : objective.minimise == Objective::time ? "s" : "";
}

std::string units_of_work(const ScenarioSummary& scenario) {
  const std::string unit = unit_beside_its_name(scenario);
  if (scenario.objective.per.empty()) return "units";
  return unit.empty() ? scenario.objective.per : fmt::format("{} of {}", unit, scenario.objective.per);
}

}  // namespace dvfs_plan
