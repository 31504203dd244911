#include "results/surface/stated_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "results/statistics/estimate.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {
namespace {

using OfTrial = std::function<std::optional<double>(const SurfaceTrial&)>;

struct LogRatio {
  double low = 0, high = 0;
};

// A value and when in the night it came: the number of its trial.
struct Told {
  double at = 0, log = 0;
};

double mean_of(const std::vector<Told>& values, double Told::*member) {
  double sum = 0;
  for (const Told& one : values) sum += one.*member;
  return sum / static_cast<double>(values.size());
}

// About the middle of each point's own: sums over all points, and what is left to judge scatter by.
struct WithinPoints {
  double of_logs = 0, of_times = 0, together = 0, degrees = 0;
};
WithinPoints within_points(const std::map<int, std::vector<Told>>& points) {
  WithinPoints sums;
  for (const auto& [point, values] : points) {
    const double log = mean_of(values, &Told::log), at = mean_of(values, &Told::at);
    for (const Told& one : values) {
      sums.of_logs += (one.log - log) * (one.log - log);
      sums.of_times += (one.at - at) * (one.at - at);
      sums.together += (one.log - log) * (one.at - at);
    }
    sums.degrees += static_cast<double>(values.size()) - 1;
  }
  return sums;
}

// Of `point` to `other`, by their own trials; nullopt: one of them has none, or nothing was repeated. What drifts evenly through the night is
// taken out by the repetitions (a common slope: analysis of covariance), where there are enough of them to tell it from scatter.
std::optional<LogRatio> by_own_trials(int point, int other, const std::vector<SurfaceTrial>& trials,
                                      const std::set<int>& scenario, const OfTrial& of) {
  std::map<int, std::vector<Told>> points;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!scenario.contains(trials[i].point)) continue;
    if (const auto value = of(trials[i]); value && *value > 0)
      points[trials[i].point].push_back({static_cast<double>(i), std::log(*value)});
  }
  const WithinPoints sums = within_points(points);
  const auto mine = points.find(point), theirs = points.find(other);
  if (mine == points.end() || theirs == points.end() || sums.degrees < 1) return std::nullopt;
  double by = mean_of(mine->second, &Told::log) - mean_of(theirs->second, &Told::log);
  double variance =
      1.0 / static_cast<double>(mine->second.size()) + 1.0 / static_cast<double>(theirs->second.size());
  double squares = sums.of_logs, degrees = sums.degrees;
  if (degrees >= 2 && sums.of_times > 0) {
    const double slope = sums.together / sums.of_times,
                 apart = mean_of(mine->second, &Told::at) - mean_of(theirs->second, &Told::at);
    by -= slope * apart;
    variance += apart * apart / sums.of_times;
    squares = std::max(0.0, squares - slope * sums.together);
    degrees -= 1;
  }
  const double half = student_t(0.95, degrees) * std::sqrt(squares / degrees * variance);
  return LogRatio{by - half, by + half};
}

}  // namespace

SurfaceComparison stated_comparison(const OptimumModel& model, int point, int other,
                                    const std::vector<SurfaceTrial>& trials, const std::vector<int>& scenario,
                                    const ObjectiveSpec& objective) {
  SurfaceComparison stated = model.compare(point, other);
  const std::set<int> points(scenario.begin(), scenario.end());
  // `less`: the change is how much less the point has.
  const auto widen = [&](SurfaceChange& change, bool less, const OfTrial& of) {
    const auto own = by_own_trials(point, other, trials, points, of);
    if (!own) return;
    const double low = less ? -std::expm1(own->high) : std::expm1(own->low),
                 high = less ? -std::expm1(own->low) : std::expm1(own->high);
    change.low = std::min(change.low, low);
    change.high = std::max(change.high, high);
  };
  if (stated.saving) widen(*stated.saving, true, [](const SurfaceTrial& trial) { return trial.energy_j; });
  widen(stated.slowdown, false, [](const SurfaceTrial& trial) { return std::optional(trial.time_s); });
  widen(stated.gain, true,
        [&](const SurfaceTrial& trial) { return objective_value(objective, trial.energy_j, trial.time_s); });
  return stated;
}

}  // namespace dvfs_plan
