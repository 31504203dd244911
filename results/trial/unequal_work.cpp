#include "results/trial/unequal_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "results/statistics/estimate.hpp"
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
  totals.count_ = static_cast<double>(trials.size());
  totals.mean_units_ = units / totals.count_;
  totals.one_did_all_ =
      std::count_if(trials.begin(), trials.end(), [](const UsedForUnits& one) { return one.units > 0; }) < 2;
  for (const UsedForUnits& one : trials) totals.squares_ += std::pow(totals.share_of(one), 2);
  for (const UsedForUnits& one : trials) totals.middle_ += totals.as_it_scatters(one) / totals.count_;
  // Of what nothing is known: its exponential is to be a number yet.
  constexpr double most = 30;
  double farthest = 0;
  for (const UsedForUnits& one : trials)
    farthest = std::max(farthest, std::abs(totals.as_it_scatters(one) - totals.middle_));
  totals.wider_ = std::min(totals.wider_for(trials), std::max(1.0, most / std::max(farthest, 1e-300)));
  return totals;
}

// A trial that did the share h of the work departs from R by (1 - h) of its own scatter, and the others' part in R.
double TotalsRatio::residual_factor(double share) const {
  constexpr double least = 1e-4;  // of 99 % of the work or more
  if (one_did_all_) return 1;
  return std::max(1.0, std::sqrt((1 - 1 / count_) / std::max(least, 1 - 2 * share + squares_)));
}

double TotalsRatio::as_it_scatters(const UsedForUnits& trial) const {
  return residual_factor(share_of(trial)) * (trial.used / ratio_ - trial.units) / mean_units_;
}

// x is B r, where r are the departures of the trials' own ratios, all of one variance: B = H (D - d h'), with H taking the mean away, d
// the factors, D the same as a diagonal, and h the shares. Of G = B' B, which is a diagonal and four products of two vectors, the trace is
// what n (n - 1) squared errors of the mean are expected to be, and trace(G)^2 / trace(G^2) their degrees of freedom.
double TotalsRatio::wider_for(std::span<const UsedForUnits> trials) const {
  constexpr double confidence = 0.95;
  const std::size_t n = trials.size();
  if (one_did_all_) return 1;
  std::vector<double> h(n), a(n), c(n);
  double mean = 0, sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    h[i] = share_of(trials[i]);
    c[i] = residual_factor(h[i]) * h[i] * count_;
    a[i] = c[i] * c[i];
    mean += c[i] / count_;
    sum += a[i];
  }
  for (std::size_t i = 0; i < n; ++i) c[i] = c[i] / count_ - mean * h[i];
  const auto dot = [](const std::vector<double>& one, const std::vector<double>& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
  };
  struct Product {
    double times;
    const std::vector<double>&one, &other;
  };
  const std::array<Product, 4> products{{{-1, a, h}, {-1, h, a}, {sum, h, h}, {-count_, c, c}}};
  double trace = sum, squares = dot(a, a);
  for (const Product& p : products) {
    trace += p.times * dot(p.one, p.other);
    for (std::size_t i = 0; i < n; ++i) squares += 2 * a[i] * p.times * p.one[i] * p.other[i];
    for (const Product& q : products)
      squares += p.times * q.times * dot(p.one, q.one) * dot(p.other, q.other);
  }
  if (!(trace > 0) || !(squares > 0)) return 1;
  const double all = count_ - 1, known = std::clamp(trace * trace / squares, 1.0, all);
  const double too_small = std::sqrt(squares_ * count_ * all / trace);
  return std::max(1.0, too_small) * student_t(confidence, known) / student_t(confidence, all);
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
