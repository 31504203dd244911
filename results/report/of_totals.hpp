// Of trials as a result has them, per unit of work or per run by the totals of their point (results/trial/unequal_work.hpp). Runs are as many
// as `measure: {at least: ...}` takes: few where they happen to be long, so that the mean of each trial's own time of a run is more than a run
// takes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "results/store/rows.hpp"

namespace dvfs_plan {

// Of one trial; nullopt: not known.
struct WorkOfTrial {
  // Per unit of work where the objective is, else per run.
  std::optional<double> energy, time, objective, edp, ed2p;               // their mean is the totals' ratio
  std::optional<double> energy_in_logs, time_in_logs, objective_in_logs;  // their geometric mean is
  std::optional<double> energy_of_run, time_of_run, above_idle_of_run;    // their mean is the totals' ratio
  double wider = 1,
         wider_of_run = 1;  // TotalsRatio::wider(): by how many times intervals made of these are to be wider
};
using WorkOfTrials = std::unordered_map<const TrialRow*, WorkOfTrial>;

// By the totals where it is in `unequal`, else by its own.
WorkOfTrial work_of(const TrialRow& trial, const WorkOfTrials& unequal);

// Of one point's trials; of those that count. Empty where all did the same work, in as many runs.
WorkOfTrials work_of_totals(const std::vector<const TrialRow*>& trials, const ObjectiveSpec& objective);

// The same of all points: what each trial took per unit (of no metric: per run, each a unit then) and its objective are replaced by those whose
// geometric mean is the totals', and which scatter `wider` times as much.
void set_work_of_totals(std::vector<TrialRow>& trials, const ExperimentRow& experiment);

// Scenario and point of those of which a trial did not reach the target; trials that are left out, a recheck's among them, tell of none.
using BoundedPoints = std::set<std::pair<std::string, std::string>>;
BoundedPoints bounded_points(const std::vector<TrialRow>& trials);
// Takes out all trials of these points: no mean is made of those that did reach it, which were the lucky ones.
void leave_out(std::vector<TrialRow>& trials, const BoundedPoints& points);

}  // namespace dvfs_plan
