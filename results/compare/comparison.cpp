#include "results/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "results/statistics/between_nights.hpp"

namespace dvfs_plan {
namespace {

constexpr double quantities_judged = 3;  // energy, time, power

using Quantity = std::optional<double> (*)(const TrialRow&);
std::optional<double> energy_of(const TrialRow& trial) {
  return trial.work_energy();
}
std::optional<double> time_of(const TrialRow& trial) {
  return trial.work_time();
}
std::optional<double> power_of(const TrialRow& trial) {
  return trial.mean_power_w;
}
std::optional<double> objective_of(const TrialRow& trial) {
  return trial.objective_value;
}

// One quantity of one scenario of a night: its trials by point, and how they scatter.
struct Night {
  std::map<std::string, std::vector<double>> values;
  std::optional<NightError> error;
};

Night night_of(const std::vector<TrialRow>& trials, const std::string& scenario, Quantity quantity) {
  Night night;
  std::map<std::string, int> index;
  std::vector<BlockedValue> blocked;
  for (const TrialRow& trial : trials) {
    const auto value = quantity(trial);
    if (trial.scenario != scenario || !trial.counts() || !value || !(*value > 0)) continue;
    night.values[trial.point].push_back(*value);
    const int point = index.try_emplace(trial.point, static_cast<int>(index.size())).first->second;
    blocked.push_back({point, trial.block, *value});
  }
  night.error = night_error(blocked, static_cast<int>(index.size()));
  return night;
}

double sensor_share(const std::optional<Estimate>& estimate) {
  if (!estimate || !estimate->sensor_half_width || !(estimate->mean > 0)) return 0;
  return *estimate->sensor_half_width / estimate->mean;
}

class ScenarioComparison {
 public:
  ScenarioComparison(const ComparedResult& one, const ScenarioSummary& before, const ComparedResult& other,
                     const ScenarioSummary& after, bool energies_compare)
      : one_(one), other_(other), energies_compare_(energies_compare), before_(before), after_(after) {}

  ComparedScenario finish() {
    result_.scenario = before_.scenario;
    for (const PointSummary& point : before_.points) {
      if (const PointSummary* other = find(after_, point.point))
        add(point, *other);
      else
        result_.only_before.push_back(point.point);
    }
    for (const PointSummary& point : after_.points) {
      if (find(before_, point.point) == nullptr) result_.only_after.push_back(point.point);
    }
    if (energies_compare_) {
      judge(&ComparedPoint::energy, energy_of);
      judge(&ComparedPoint::power, power_of);
    }
    judge(&ComparedPoint::time, time_of);
    result_.all_energy = all(&ComparedPoint::energy);
    result_.all_time = all(&ComparedPoint::time);
    compare_best();
    return std::move(result_);
  }

 private:
  static const PointSummary* find(const ScenarioSummary& scenario, const std::string& key) {
    const auto found = std::find_if(scenario.points.begin(), scenario.points.end(),
                                    [&](const PointSummary& p) { return p.point == key; });
    return found == scenario.points.end() ? nullptr : &*found;
  }

  void add(const PointSummary& before, const PointSummary& after) {
    ComparedPoint one;
    one.point = before.point;
    one.called = settings_text(before);
    one.before = before;
    one.after = after;
    if (before.saving) one.saving_before = before.saving->value;
    if (after.saving) one.saving_after = after.saving->value;
    result_.points.push_back(std::move(one));
  }

  void judge(ChangeOfPoint ComparedPoint::*field, Quantity quantity) {
    const Night before = night_of(one_.trials, before_.scenario, quantity),
                after = night_of(other_.trials, after_.scenario, quantity);
    const auto change = [&](const ComparedPoint& point, double confidence) -> std::optional<Change> {
      const auto a = before.values.find(point.point), b = after.values.find(point.point);
      if (a == before.values.end() || b == after.values.end()) return std::nullopt;
      const bool of_sensors = quantity != time_of;
      return change_between(a->second, before.error, b->second, after.error, confidence,
                            of_sensors ? sensor_share(point.before.work_energy) : 0,
                            of_sensors ? sensor_share(point.after.work_energy) : 0);
    };
    int known = 0;
    for (ComparedPoint& point : result_.points) {
      (point.*field).change = change(point, 0.95);
      known += (point.*field).change && (point.*field).change->low ? 1 : 0;
    }
    result_.compared = std::max(result_.compared, known);
    for (ComparedPoint& point : result_.points) {
      const auto strict = change(point, 1 - level_of_changes / (quantities_judged * std::max(1, known)));
      (point.*field).beyond_noise = strict && strict->low && (*strict->low > 0 || *strict->high < 0);
    }
  }

  // How much higher the night as a whole lies. Without an interval: what shifts a night shifts all its points
  // together, and two nights do not tell how much that scatters.
  ChangeOfPoint all(ChangeOfPoint ComparedPoint::*quantity) const {
    std::vector<double> logs;
    for (const ComparedPoint& point : result_.points) {
      if (const auto& c = (point.*quantity).change) logs.push_back(std::log1p(c->value));
    }
    const auto mean = estimate(logs);
    ChangeOfPoint result;
    if (mean)
      result.change =
          Change{static_cast<int>(logs.size()), std::expm1(mean->mean), std::nullopt, std::nullopt};
    return result;
  }

  void compare_best() {
    if (before_.best) result_.best_before = before_.points[*before_.best].point;
    if (!after_.best) return;
    const PointSummary& best = after_.points[*after_.best];
    result_.best_after = best.point;
    const PointSummary* old = result_.best_before ? find(after_, *result_.best_before) : nullptr;
    if (old == nullptr || !energies_compare_) return;
    result_.old_best_not_told_apart = old->not_told_apart;
    result_.old_best_feasible = old->feasible;
    if (old->point == best.point) return;
    const Night night = night_of(other_.trials, after_.scenario, objective_of);
    const auto a = night.values.find(best.point), b = night.values.find(old->point);
    if (a != night.values.end() && b != night.values.end())
      result_.cost_of_old_best = change_between(a->second, night.error, b->second, night.error, 0.95,
                                                sensor_share(best.objective), sensor_share(old->objective));
  }

  const ComparedResult &one_, &other_;
  bool energies_compare_;
  const ScenarioSummary &before_, &after_;
  ComparedScenario result_;
};

std::vector<std::string> warnings_of(const ComparedResult& before, const ComparedResult& after) {
  std::vector<std::string> warnings;
  const ExperimentRow &a = before.summary.experiment, &b = after.summary.experiment;
  const auto differ = [&](const char* what, const std::string& x, const std::string& y, const char* so) {
    if (x != y) warnings.push_back(fmt::format("{}: '{}' before, '{}' after; {}", what, x, y, so));
  };
  differ("energy source", a.energy_source.value_or("none"), b.energy_source.value_or("none"),
         "their energies are of different things and do not compare");
  differ("objective", std::string(to_string(a.objective.minimise)),
         std::string(to_string(b.objective.minimise)), "the best points answer different questions");
  differ("unit of work", a.objective.per, b.objective.per, "their energies are per different units");
  for (const ComparedResult* one : {&before, &after}) {
    if (one->summary.left > 0 && !one->summary.experiment.search)
      warnings.push_back(fmt::format("{} is unfinished: {} of its trials are still to be run", one->file,
                                     one->summary.left));
  }
  return warnings;
}

// A point that ran at another clock than its name says, in one of the two or differently.
std::string delivered_otherwise(const ComparedScenario& scenario) {
  std::vector<std::string> points;
  for (const ComparedPoint& point : scenario.points) {
    const std::string before = settings_text(point.before), after = settings_text(point.after);
    if (before != after) points.push_back(fmt::format("{} before and {} after", before, after));
  }
  return points.empty() ? ""
                        : fmt::format("{}: clocks that were delivered differ: {}", scenario.scenario,
                                      join(points, "; "));
}

std::vector<Difference> machine_differences(const ComparedResult& before, const ComparedResult& after) {
  std::set<std::string> names;
  for (const auto& [name, value] : before.machine) names.insert(name);
  for (const auto& [name, value] : after.machine) names.insert(name);
  std::vector<Difference> differences;
  const auto of = [](const ComparedResult& r, const std::string& name) {
    const auto found = r.machine.find(name);
    return found == r.machine.end() ? std::string() : found->second;
  };
  for (const std::string& name : names) {
    if (of(before, name) != of(after, name)) differences.push_back({name, of(before, name), of(after, name)});
  }
  if (before.summary.experiment.tool_version != after.summary.experiment.tool_version)
    differences.push_back(
        {"dvfs-plan", before.summary.experiment.tool_version, after.summary.experiment.tool_version});
  return differences;
}

}  // namespace

Comparison compare(const ComparedResult& before, const ComparedResult& after) {
  Comparison comparison;
  comparison.name_before = before.file;
  comparison.name_after = after.file;
  comparison.same_plan = before.plan_hash == after.plan_hash;
  const ExperimentRow &a = before.summary.experiment, &b = after.summary.experiment;
  comparison.energies_compare = a.energy_source == b.energy_source && a.objective.per == b.objective.per;
  comparison.warnings = warnings_of(before, after);
  comparison.machine = machine_differences(before, after);
  for (const ScenarioSummary& scenario : before.summary.scenarios) {
    for (const ScenarioSummary& other : after.summary.scenarios) {
      if (other.scenario == scenario.scenario)
        comparison.scenarios.push_back(
            ScenarioComparison(before, scenario, after, other, comparison.energies_compare).finish());
    }
  }
  for (const ComparedScenario& scenario : comparison.scenarios) {
    if (const std::string differs = delivered_otherwise(scenario); !differs.empty())
      comparison.warnings.push_back(differs);
  }
  if (before.commands != after.commands)
    comparison.warnings.push_back("the workloads' commands differ: their trials may not be the same work");
  if (comparison.scenarios.empty())
    comparison.warnings.push_back(
        "the two have no work in common: no workload and parameters of the one are in the other");
  return comparison;
}

}  // namespace dvfs_plan
