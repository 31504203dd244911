#include "results/trial/unequal_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "results/statistics/estimate.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {

namespace {

// x is B r, where r are the departures of the trials' own ratios, all of one variance: B = n (D - h h'), with h the shares of the work and D the
// same as a diagonal. Of G = B' B, which is a diagonal and three products of two vectors, the trace is what n (n - 1) squared errors of the mean
// are expected to come to, and trace(G)^2 / trace(G^2) their degrees of freedom.
double wider_for(std::span<const UsedForUnits> trials, double units) {
  constexpr double confidence = 0.95;
  const std::size_t n = trials.size();
  const bool all_did =
      std::all_of(trials.begin(), trials.end(), [](const UsedForUnits& one) { return one.units > 0; });
  if (!all_did || n < 2) return 1;
  std::vector<double> h, a;
  for (const UsedForUnits& one : trials) {
    h.push_back(one.units / units);
    a.push_back(h.back() * h.back());
  }
  const auto dot = [](const std::vector<double>& one, const std::vector<double>& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
  };
  const double sum = dot(h, h);
  struct Product {
    double times;
    const std::vector<double>&one, &other;
  };
  const std::array<Product, 3> products{{{-1, a, h}, {-1, h, a}, {sum, h, h}}};
  double trace = sum, squares = dot(a, a);  // in units of n^2, of n^4
  for (const Product& p : products) {
    trace += p.times * dot(p.one, p.other);
    for (std::size_t i = 0; i < n; ++i) squares += 2 * a[i] * p.times * p.one[i] * p.other[i];
    for (const Product& q : products)
      squares += p.times * q.times * dot(p.one, q.one) * dot(p.other, q.other);
  }
  constexpr double most = 1000;  // one trial did all of it but for rounding
  if (!(trace > 0) || !(squares > 0)) return most;
  const double count = static_cast<double>(n), all = count - 1;
  const double known = std::clamp(trace * trace / squares, 1.0, all);
  const double too_small = std::sqrt(sum * all / (count * trace));
  return std::clamp(too_small * student_t(confidence, known) / student_t(confidence, all), 1.0, most);
}

}  // namespace

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
  totals.wider_ = wider_for(trials, units);
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
      trial.work_time_s =
          time->ratio() * std::exp(time->wider() * time->departure({*trial.used_s, *trial.units}));
      if (energy && trial.used_j)
        trial.work_energy_j =
            energy->ratio() * std::exp(energy->wider() * energy->departure({*trial.used_j, *trial.units}));
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
