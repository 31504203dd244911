#include "results/report/of_totals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "results/trial/judge.hpp"
#include "results/trial/unequal_work.hpp"

namespace dvfs_plan {
namespace {

bool is_one(const TrialRow& trial) {
  return trial.counts() && trial.units && trial.time_s;
}

// Of all runs of the trial: a row has them per run.
std::optional<double> energy_used(const TrialRow& trial) {
  return trial.energy_j ? std::optional(*trial.energy_j * trial.runs) : std::nullopt;
}
std::optional<double> time_used(const TrialRow& trial) {
  return trial.time_s ? std::optional(*trial.time_s * trial.runs) : std::nullopt;
}

template <class Used>
std::optional<TotalsRatio> ratio_of(const std::vector<const TrialRow*>& trials, Used used) {
  std::vector<UsedForUnits> known;
  for (const TrialRow* trial : trials) {
    const std::optional<double> one = is_one(*trial) ? used(*trial) : std::nullopt;
    if (one) known.push_back({*one, *trial->units});
  }
  return TotalsRatio::of(known);
}

// By the trial's own ratio.
WorkOfTrial own_work(const TrialRow& trial) {
  WorkOfTrial work;
  work.energy = work.energy_in_logs = trial.work_energy();
  work.time = work.time_in_logs = trial.work_time();
  work.objective = work.objective_in_logs = trial.objective_value;
  if (work.energy && work.time) {
    work.edp = *work.energy * *work.time;
    work.ed2p = *work.energy * *work.time * *work.time;
  }
  return work;
}

}  // namespace

WorkOfTrial work_of(const TrialRow& trial, const WorkOfTrials& unequal) {
  const auto found = unequal.find(&trial);
  return found == unequal.end() ? own_work(trial) : found->second;
}

WorkOfTrials work_of_totals(const std::vector<const TrialRow*>& trials, const ObjectiveSpec& objective) {
  WorkOfTrials work;
  if (objective.per.empty()) return work;
  std::vector<double> units;
  for (const TrialRow* trial : trials) {
    if (is_one(*trial)) units.push_back(*trial->units);
  }
  if (!is_unequal(units)) return work;
  const auto energy = ratio_of(trials, energy_used), time = ratio_of(trials, time_used);
  for (const TrialRow* trial : trials) {
    if (!is_one(*trial) || !time) continue;
    WorkOfTrial& one = work[trial];
    const double x_time = time->departure({*time_used(*trial), *trial->units});
    one.time = time->ratio() * (1 + x_time);
    one.time_in_logs = time->ratio() * std::exp(x_time);
    std::optional<double> mean;
    if (const auto used = energy_used(*trial); used && energy) {
      const double x_energy = energy->departure({*used, *trial->units});
      one.energy = energy->ratio() * (1 + x_energy);
      one.energy_in_logs = energy->ratio() * std::exp(x_energy);
      mean = energy->ratio();
      const double product = energy->ratio() * time->ratio();
      one.edp = product * (1 + x_energy + x_time);
      one.ed2p = product * time->ratio() * (1 + x_energy + 2 * x_time);
    }
    one.objective_in_logs = objective_value(objective, one.energy_in_logs, *one.time_in_logs);
    const auto middle = objective_value(objective, mean, time->ratio());
    if (one.objective_in_logs && middle)
      one.objective = *middle * (1 + std::log(*one.objective_in_logs / *middle));
  }
  return work;
}

void set_work_of_totals(std::vector<TrialRow>& trials, const ExperimentRow& experiment) {
  std::map<std::pair<std::string, std::string>, std::vector<TrialRow*>> points;
  for (TrialRow& trial : trials) points[{trial.scenario, trial.point}].push_back(&trial);
  for (const auto& [point, mine] : points) {
    const std::vector<const TrialRow*> those(mine.begin(), mine.end());
    const WorkOfTrials work = work_of_totals(those, experiment.objective_for(those.front()->workload));
    for (TrialRow* trial : mine) {
      const auto found = work.find(trial);
      if (found == work.end()) continue;
      trial->energy_per_unit_j = found->second.energy_in_logs;
      trial->time_per_unit_s = found->second.time_in_logs;
      trial->objective_value = found->second.objective_in_logs;
    }
  }
}

BoundedPoints bounded_points(const std::vector<TrialRow>& trials) {
  BoundedPoints bounded;
  for (const TrialRow& trial : trials) {
    if (trial.left_out.empty() && trial.role != TrialRole::warm_up && trial.censored())
      bounded.insert({trial.scenario, trial.point});
  }
  return bounded;
}

void leave_out(std::vector<TrialRow>& trials, const BoundedPoints& points) {
  std::erase_if(trials, [&](const TrialRow& trial) {
    return points.contains({trial.scenario, trial.point});
  });
}

}  // namespace dvfs_plan
