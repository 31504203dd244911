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

// Of `point` to `other`, by their own trials; nullopt: one of them has none, or nothing was repeated.
std::optional<LogRatio> by_own_trials(int point, int other, const std::vector<SurfaceTrial>& trials,
                                      const std::set<int>& scenario, const OfTrial& of) {
  std::map<int, std::vector<double>> logs;
  for (const SurfaceTrial& trial : trials) {
    if (!scenario.contains(trial.point)) continue;
    if (const auto value = of(trial); value && *value > 0) logs[trial.point].push_back(std::log(*value));
  }
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  double squares = 0, degrees = 0;
  for (const auto& [at, values] : logs) {
    const double middle = mean(values);
    for (const double value : values) squares += (value - middle) * (value - middle);
    degrees += static_cast<double>(values.size()) - 1;
  }
  const auto mine = logs.find(point), theirs = logs.find(other);
  if (mine == logs.end() || theirs == logs.end() || degrees < 1) return std::nullopt;
  const double by = mean(mine->second) - mean(theirs->second);
  const double half =
      student_t(0.95, degrees) * std::sqrt(squares / degrees *
                                           (1.0 / static_cast<double>(mine->second.size()) +
                                            1.0 / static_cast<double>(theirs->second.size())));
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
