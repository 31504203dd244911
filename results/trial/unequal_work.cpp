#include "results/trial/unequal_work.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "results/trial/judge.hpp"

namespace dvfs_plan {

std::optional<TotalsRatio> TotalsRatio::of(std::span<const UsedForUnits> trials) {
  double used = 0, units = 0;
  for (const UsedForUnits& one : trials) {
    used += one.used;
    units += one.units;
  }
  if (!(units > 0) || !(used > 0)) return std::nullopt;
  TotalsRatio totals;
  totals.ratio_ = used / units;
  totals.mean_units_ = units / static_cast<double>(trials.size());
  return totals;
}

bool is_unequal(std::span<const double> units) {
  if (units.empty()) return false;
  constexpr double rounding = 1e-12;
  const auto [least, most] = std::minmax_element(units.begin(), units.end());
  return *most > 0 && *most - *least > rounding * *most;
}

TrialsByTotals by_totals(std::span<const FinishedTrial> trials,
                         const std::function<const ObjectiveSpec&(int point)>& objective) {
  std::map<int, std::vector<double>> units_of;
  for (const FinishedTrial& trial : trials) {
    if (trial.counts && trial.units && trial.used_s) units_of[trial.point].push_back(*trial.units);
  }
  if (std::none_of(units_of.begin(), units_of.end(), [](const auto& one) { return is_unequal(one.second); }))
    return TrialsByTotals(trials);
  std::vector<FinishedTrial> all(trials.begin(), trials.end());
  std::map<int, std::vector<FinishedTrial*>> points;
  for (FinishedTrial& trial : all) {
    if (trial.counts && trial.units && trial.used_s) points[trial.point].push_back(&trial);
  }
  for (const auto& [point, mine] : points) {
    std::vector<double> units;
    std::vector<UsedForUnits> seconds, joules;
    for (const FinishedTrial* trial : mine) {
      units.push_back(*trial->units);
      seconds.push_back({*trial->used_s, *trial->units});
      if (trial->used_j) joules.push_back({*trial->used_j, *trial->units});
    }
    if (!is_unequal(units)) continue;
    const auto time = TotalsRatio::of(seconds), energy = TotalsRatio::of(joules);
    if (!time) continue;
    for (FinishedTrial* trial : mine) {
      trial->work_time_s = time->ratio() * std::exp(time->departure({*trial->used_s, *trial->units}));
      if (energy && trial->used_j)
        trial->work_energy_j = energy->ratio() * std::exp(energy->departure({*trial->used_j, *trial->units}));
      trial->objective = objective_value(objective(point), trial->work_energy_j, *trial->work_time_s);
    }
  }
  return TrialsByTotals(std::move(all));
}

TrialsByTotals by_totals(std::span<const FinishedTrial> trials, Objective minimise) {
  ObjectiveSpec spec;
  spec.minimise =
      minimise == Objective::cost ? Objective::energy : minimise;  // only whether it is known matters here
  return by_totals(trials, [&](int) -> const ObjectiveSpec& { return spec; });
}

}  // namespace dvfs_plan
