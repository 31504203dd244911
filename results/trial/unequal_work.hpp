// Per unit of work, where trials of a point do unequal work: what they used together, by what they did together. The mean of each trial's
// own ratio is another thing: of 500 and 1500 units for 90 J each it is 0.12 J a unit, and 2000 units took 180 J, 0.09 J each; and a trial
// that did no work at all has no ratio of its own, but what it used was used.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

struct UsedForUnits {
  double used = 0, units = 0;  // joules or seconds; of all runs of a trial
};

// The ratio R of the totals. Each trial gets a value of which R is the mean, R (1 + x), or the geometric mean, R exp(x), with
// x = (used / R - units) / mean units: the linearised ratio estimator (W. G. Cochran, Sampling Techniques, 3rd ed., 6.4), whose scatter
// is that of the ratio. Where all did the same work it is the trial's own ratio.
class TotalsRatio {
 public:
  // nullopt: nothing was done, or nothing used.
  static std::optional<TotalsRatio> of(std::span<const UsedForUnits> trials);
  double ratio() const { return ratio_; }
  double departure(const UsedForUnits& trial) const {
    return (trial.used / ratio_ - trial.units) / mean_units_;
  }
  // By how many times an interval for R is to be wider than what Student's t of n - 1 makes of these departures; 1 or more.
  //
  // Where a few trials did most of the work R follows those, so that they depart from it by less than they scatter, and n trials tell of the
  // scatter what fewer would. Both are taken as they are where each trial has a ratio of its own, and these scatter alike (R. M. Bell,
  // D. F. McCaffrey, Survey Methodology 28 (2002) 169); where a trial did nothing it is 1.
  double wider() const { return wider_; }

 private:
  double ratio_ = 0, mean_units_ = 0, wider_ = 1;
};

// Whether these did unequal work, and some at all.
bool is_unequal(std::span<const double> units);

// Trials as they are, or as copies of their own.
class TrialsByTotals {
 public:
  explicit TrialsByTotals(std::span<const FinishedTrial> as_they_are) : seen_(as_they_are) {}
  explicit TrialsByTotals(std::vector<FinishedTrial> own) : own_(std::move(own)), seen_(own_) {}
  TrialsByTotals(TrialsByTotals&&) = default;  // a vector's elements stay where they are
  auto begin() const { return seen_.begin(); }
  auto end() const { return seen_.end(); }
  const FinishedTrial& operator[](std::size_t i) const { return seen_[i]; }

 private:
  std::vector<FinishedTrial> own_;
  std::span<const FinishedTrial> seen_;
};

// The same trials, those that count with the time and energy of a unit by the totals of their point where it did unequal work:
// R exp(x wider()), so that they scatter as much as they tell.
// `objective`: that of a point; its value is set with them. `trials` must outlive what is returned.
TrialsByTotals by_totals(std::span<const FinishedTrial> trials,
                         const std::function<const ObjectiveSpec&(int point)>& objective);
TrialsByTotals by_totals(std::span<const FinishedTrial> trials, Objective minimise);

}  // namespace dvfs_plan
