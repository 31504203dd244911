#include "results/surface/stated_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
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

double mean_of_logs(const std::vector<double>& logs) {
  return std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
}

// Of each point that ran on a machine together with `other`: the logarithm of its ratio there, by the machines.
std::map<int, std::vector<double>> ratios_on_nodes(int other, const std::vector<SurfaceTrial>& trials,
                                                   const std::set<int>& scenario, const OfTrial& of) {
  std::map<int, std::map<int, std::vector<double>>> nodes;  // by point
  for (const SurfaceTrial& trial : trials) {
    if (!scenario.contains(trial.point)) continue;
    if (const auto value = of(trial); value && *value > 0)
      nodes[trial.node][trial.point].push_back(std::log(*value));
  }
  std::map<int, std::vector<double>> ratios;
  for (const auto& [node, points] : nodes) {
    const auto theirs = points.find(other);
    if (theirs == points.end()) continue;
    for (const auto& [point, logs] : points) {
      if (point != other) ratios[point].push_back(mean_of_logs(logs) - mean_of_logs(theirs->second));
    }
  }
  return ratios;
}

// Of machines of the type: Student's t over those that ran both, and no closer than the scatter of all points' ratios, pooled, has it, since few
// machines may agree by chance. A machine's ratios share its reference, and what it is: there are no more degrees of freedom than machines that
// ran that, less one. Of a point that ran together with `other` on one of them or on none that scatter is about what the model says
// (`by_model`). nullopt: no point ran on two.
std::optional<LogRatio> by_nodes(int point, const std::map<int, std::vector<double>>& ratios,
                                 const LogRatio& by_model) {
  const auto squares_of = [](const std::vector<double>& logs) {
    const double mean = mean_of_logs(logs);
    double squares = 0;
    for (const double one : logs) squares += (one - mean) * (one - mean);
    return squares;
  };
  double squares = 0, degrees = 0;
  std::size_t most = 0;
  for (const auto& [other, logs] : ratios) {
    squares += squares_of(logs);
    degrees += static_cast<double>(logs.size()) - 1;
    most = std::max(most, logs.size());
  }
  if (most < 2) return std::nullopt;
  const auto mine = ratios.find(point);
  const double machines = mine == ratios.end() ? 1 : static_cast<double>(mine->second.size());
  double half = student_t(0.95, static_cast<double>(most) - 1) * std::sqrt(squares / degrees / machines);
  if (machines >= 2) {
    half = std::max(half, student_t(0.95, machines - 1) *
                              std::sqrt(squares_of(mine->second) / (machines - 1) / machines));
    return LogRatio{mean_of_logs(mine->second) - half, mean_of_logs(mine->second) + half};
  }
  const double middle = (by_model.low + by_model.high) / 2;
  half = std::hypot(half, (by_model.high - by_model.low) / 2);
  return LogRatio{middle - half, middle + half};
}

}  // namespace

SurfaceComparison stated_comparison(const OptimumModel& model, int point, int other,
                                    const std::vector<SurfaceTrial>& trials, const std::vector<int>& scenario,
                                    const ObjectiveSpec& objective) {
  SurfaceComparison stated = model.compare(point, other);
  const std::set<int> points(scenario.begin(), scenario.end());
  const bool several = std::any_of(trials.begin(), trials.end(),
                                   [&](const SurfaceTrial& t) { return t.node != trials.front().node; });
  // `less`: the change is how much less the point has.
  const auto widen = [&](SurfaceChange& change, bool less, const OfTrial& of) {
    // A saving beyond 100 % has no logarithm, and is none.
    const auto log_of = [&](double share) { return std::log1p(std::max(less ? -share : share, -0.999999)); };
    const LogRatio by_model{log_of(less ? change.high : change.low), log_of(less ? change.low : change.high)};
    const auto own = several ? by_nodes(point, ratios_on_nodes(other, trials, points, of), by_model)
                             : by_own_trials(point, other, trials, points, of);
    // By one machine nothing is known of others of its type.
    if (!own && several) change.low = -INFINITY, change.high = INFINITY;
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
