// Per unit of work, where trials do unequal work: what a point's trials used together, by what they did together. The mean of each
// trial's own ratio is another thing: of 500 and 1500 units for 90 J each it is 0.12 J a unit, and 2000 units took 180 J, 0.09 J each;
// and a trial that did no work at all has no ratio of its own, but what it used was used.
//
// Each trial gets a value of which that ratio R is the mean, R (1 + x), or the geometric mean, R exp(x), with
// x = (used / R - units) / mean units: the linearised ratio estimator (W. G. Cochran, Sampling Techniques, 3rd ed., 6.4), whose scatter
// is that of the ratio. Where all did the same work it is the trial's own ratio.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "results/store/rows.hpp"

namespace dvfs_plan {

// Of one trial, per unit of work; nullopt: not known.
struct WorkOfTrial {
  std::optional<double> energy, time, objective, edp, ed2p;               // their mean is the totals' ratio
  std::optional<double> energy_in_logs, time_in_logs, objective_in_logs;  // their geometric mean is
};
using WorkOfTrials = std::unordered_map<const TrialRow*, WorkOfTrial>;

// By the totals where it is in `unequal`, else by its own.
WorkOfTrial work_of(const TrialRow& trial, const WorkOfTrials& unequal);

// Of one point's trials; of those that count. Empty where all did the same work, or its objective is not per unit.
WorkOfTrials work_of_totals(const std::vector<const TrialRow*>& trials, const ObjectiveSpec& objective);

// The same of all points: each trial's own amounts per unit and objective are replaced by those whose geometric mean is the totals'.
void set_work_of_totals(std::vector<TrialRow>& trials, const ExperimentRow& experiment);

// Takes out all trials of points of which one did not reach the target: no mean is made of those that did, which were the lucky ones.
void leave_out_bounded_points(std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
