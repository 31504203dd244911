#include "results/report/trade_offs.hpp"

#include <algorithm>
#include <tuple>

namespace dvfs_plan {
namespace {

constexpr double usual_slowdowns[] = {0, 0.01, 0.02, 0.05, 0.10, 0.20};

bool other_constraints_hold(const PointSummary& point) {
  return std::all_of(point.constraints.begin(), point.constraints.end(), [](const ConstraintCheck& check) {
    return check.name == "slowdown" || check.holds.value_or(false);
  });
}

}  // namespace

std::vector<SlowdownOptimum> least_energy_by_slowdown(const std::vector<PointSummary>& points,
                                                      const std::vector<std::optional<double>>& energy) {
  std::vector<std::tuple<double, double, std::size_t>> candidates;  // slowdown, energy, point
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointSummary& point = points[i];
    if (!energy[i] || !other_constraints_hold(point) || !(point.is_reference || point.slowdown)) continue;
    const double slowdown = point.is_reference ? 0 : std::max(0.0, point.slowdown->value);
    candidates.emplace_back(slowdown, *energy[i], i);
  }
  std::sort(candidates.begin(), candidates.end());
  std::vector<SlowdownOptimum> optima;
  double least = 0;
  for (const auto& [slowdown, joules, point] : candidates) {
    if (!optima.empty() && joules >= least) continue;
    least = joules;
    if (!optima.empty() && optima.back().limit == slowdown)
      optima.back().point = point;
    else
      optima.push_back({slowdown, point});
  }
  return optima;
}

std::vector<SlowdownOptimum> at_usual_slowdowns(const std::vector<SlowdownOptimum>& by_slowdown) {
  std::vector<SlowdownOptimum> usual;
  for (const double limit : usual_slowdowns) {
    const auto beyond = std::find_if(by_slowdown.begin(), by_slowdown.end(),
                                     [&](const SlowdownOptimum& o) { return o.limit > limit; });
    if (beyond != by_slowdown.begin()) usual.push_back({limit, std::prev(beyond)->point});
  }
  return usual;
}

}  // namespace dvfs_plan
