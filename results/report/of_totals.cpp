#include "results/report/of_totals.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "results/trial/judge.hpp"
#include "results/trial/unequal_work.hpp"

namespace dvfs_plan {
namespace {

// What a trial did: units of work, or runs.
using Done = std::optional<double> (*)(const TrialRow&);
std::optional<double> units_of(const TrialRow& trial) {
  return trial.units;
}
std::optional<double> runs_of(const TrialRow& trial) {
  return static_cast<double>(trial.runs);
}
// Where the objective is per run: of copies that do the same work each is a unit.
std::optional<double> units_or_runs_of(const TrialRow& trial) {
  return trial.units ? trial.units : runs_of(trial);
}

// Of all runs of the trial: a row has them per run.
std::optional<double> energy_used(const TrialRow& trial) {
  return trial.energy_j ? std::optional(*trial.energy_j * trial.runs) : std::nullopt;
}
std::optional<double> time_used(const TrialRow& trial) {
  return trial.time_s ? std::optional(*trial.time_s * trial.runs) : std::nullopt;
}

// Those that count and tell what they did.
std::vector<const TrialRow*> that_did(const std::vector<const TrialRow*>& trials, Done done) {
  std::vector<const TrialRow*> those;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(those),
               [&](const TrialRow* trial) { return trial->counts() && trial->time_s && done(*trial); });
  return those;
}

// What one trial took by the totals; of each amount `x`, its departure from their ratio.
struct TotalsOfPoint {
  std::optional<TotalsRatio> energy, time;
  Done done = units_of;
  bool wide = false;  // departures as many times as large as intervals are to be wider

  double wider() const { return std::max(time->wider(), energy ? energy->wider() : 1); }
  double x_time(const TrialRow& trial) const {
    return (wide ? time->wider() : 1) * time->departure({*time_used(trial), *done(trial)});
  }
  std::optional<double> x_energy(const TrialRow& trial) const {
    const auto used = energy_used(trial);
    if (!used || !energy) return std::nullopt;
    return (wide ? energy->wider() : 1) * energy->departure({*used, *done(trial)});
  }
};

// nullopt: all did the same, or nothing at all.
std::optional<TotalsOfPoint> unequal_totals(const std::vector<const TrialRow*>& those, Done done) {
  std::vector<double> amounts;
  std::vector<UsedForUnits> joules, seconds;
  for (const TrialRow* trial : those) {
    amounts.push_back(*done(*trial));
    seconds.push_back({*time_used(*trial), *done(*trial)});
    if (const auto used = energy_used(*trial)) joules.push_back({*used, *done(*trial)});
  }
  if (!is_unequal(amounts)) return std::nullopt;
  TotalsOfPoint totals{TotalsRatio::of(joules), TotalsRatio::of(seconds), done};
  return totals.time ? std::optional(totals) : std::nullopt;
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
  work.energy_of_run = trial.energy_j;
  work.time_of_run = trial.time_s;
  work.above_idle_of_run = trial.above_idle_j;
  return work;
}

void set_run(WorkOfTrial& one, const TrialRow& trial, const TotalsOfPoint& totals) {
  one.wider_of_run = totals.wider();
  one.time_of_run = totals.time->ratio() * (1 + totals.x_time(trial));
  const auto x_energy = totals.x_energy(trial);
  if (!x_energy) return;
  one.energy_of_run = totals.energy->ratio() * (1 + *x_energy);
  // What it draws idle, for as long.
  if (trial.above_idle_j && *trial.time_s > 0)
    one.above_idle_of_run =
        *one.energy_of_run - (*trial.energy_j - *trial.above_idle_j) / *trial.time_s * *one.time_of_run;
}

void set_unit(WorkOfTrial& one, const TrialRow& trial, const TotalsOfPoint& totals,
              const ObjectiveSpec& objective) {
  one.wider = totals.wider();
  const double time = totals.time->ratio(), x_time = totals.x_time(trial);
  one.time = time * (1 + x_time);
  one.time_in_logs = time * std::exp(x_time);
  std::optional<double> energy;
  one.energy.reset(), one.energy_in_logs.reset(), one.edp.reset(), one.ed2p.reset(), one.objective.reset();
  if (const auto x_energy = totals.x_energy(trial)) {
    energy = totals.energy->ratio();
    one.energy = *energy * (1 + *x_energy);
    one.energy_in_logs = *energy * std::exp(*x_energy);
    one.edp = *energy * time * (1 + *x_energy + x_time);
    one.ed2p = *energy * time * time * (1 + *x_energy + 2 * x_time);
  }
  one.objective_in_logs = objective_value(objective, one.energy_in_logs, *one.time_in_logs);
  const auto middle = objective_value(objective, energy, time);
  if (one.objective_in_logs && middle)
    one.objective = *middle * (1 + std::log(*one.objective_in_logs / *middle));
}

}  // namespace

WorkOfTrial work_of(const TrialRow& trial, const WorkOfTrials& unequal) {
  const auto found = unequal.find(&trial);
  return found == unequal.end() ? own_work(trial) : found->second;
}

namespace {

WorkOfTrials work_by_totals(const std::vector<const TrialRow*>& trials, const ObjectiveSpec& objective,
                            bool wide) {
  WorkOfTrials work;
  const auto with_runs = that_did(trials, runs_of);
  const auto of_runs = unequal_totals(with_runs, runs_of);
  const auto work_of_one = [&](const TrialRow* trial) -> WorkOfTrial& {
    return work.try_emplace(trial, own_work(*trial)).first->second;
  };
  if (of_runs) {
    for (const TrialRow* trial : with_runs) set_run(work_of_one(trial), *trial, *of_runs);
  }
  const Done did = objective.per.empty() ? units_or_runs_of : units_of;
  const auto those = that_did(trials, did);
  auto totals = unequal_totals(those, did);
  if (totals) totals->wide = wide;
  if (totals) {
    for (const TrialRow* trial : those) set_unit(work_of_one(trial), *trial, *totals, objective);
  }
  return work;
}

}  // namespace

WorkOfTrials work_of_totals(const std::vector<const TrialRow*>& trials, const ObjectiveSpec& objective) {
  return work_by_totals(trials, objective, false);
}

void set_work_of_totals(std::vector<TrialRow>& trials, const ExperimentRow& experiment) {
  std::map<std::pair<std::string, std::string>, std::vector<TrialRow*>> points;
  for (TrialRow& trial : trials) points[{trial.scenario, trial.point}].push_back(&trial);
  for (const auto& [point, mine] : points) {
    const std::vector<const TrialRow*> those(mine.begin(), mine.end());
    const WorkOfTrials work = work_by_totals(those, experiment.objective_for(those.front()->workload), true);
    for (TrialRow* trial : mine) {
      const auto found = work.find(trial);
      if (found == work.end()) continue;
      if (!trial->units) trial->units = trial->runs;
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
