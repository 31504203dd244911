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
  struct Work {
    std::vector<std::size_t> trials;
    std::vector<double> units;
  };
  std::map<int, Work> points;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].counts || !trials[i].units || !trials[i].used_s) continue;
    points[trials[i].point].trials.push_back(i);
    points[trials[i].point].units.push_back(*trials[i].units);
  }
  std::erase_if(points, [](const auto& one) { return !is_unequal(one.second.units); });
  if (points.empty()) return TrialsByTotals(trials);
  std::vector<FinishedTrial> all(trials.begin(), trials.end());
  for (const auto& [point, mine] : points) {
    std::vector<UsedForUnits> seconds, joules;
    for (const std::size_t i : mine.trials) {
      seconds.push_back({*all[i].used_s, *all[i].units});
      if (all[i].used_j) joules.push_back({*all[i].used_j, *all[i].units});
    }
    const auto time = TotalsRatio::of(seconds), energy = TotalsRatio::of(joules);
    if (!time) continue;
    for (const std::size_t i : mine.trials) {
      FinishedTrial& trial = all[i];
      trial.work_time_s = time->ratio() * std::exp(time->departure({*trial.used_s, *trial.units}));
      if (energy && trial.used_j)
        trial.work_energy_j = energy->ratio() * std::exp(energy->departure({*trial.used_j, *trial.units}));
      trial.objective = objective_value(objective(point), trial.work_energy_j, *trial.work_time_s);
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
