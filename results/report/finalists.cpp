#include "results/report/finalists.hpp"

#include <algorithm>
#include <cmath>

namespace dvfs_plan {

std::vector<std::string> finalists(const ScenarioSummary& scenario) {
  if (!scenario.best || !scenario.reference || *scenario.best == *scenario.reference) return {};
  const PointSummary& best = scenario.points[*scenario.best];
  std::vector<const PointSummary*> rivals;
  for (const PointSummary& point : scenario.points) {
    if (point.not_told_apart && point.feasible && !point.is_reference && point.objective && &point != &best)
      rivals.push_back(&point);
  }
  // By pairs with the reference, which the blocks' levels cancel in.
  const auto gain = [](const PointSummary* point) { return point->gain ? point->gain->value : -INFINITY; };
  std::stable_sort(rivals.begin(), rivals.end(),
                   [&](const PointSummary* a, const PointSummary* b) { return gain(a) > gain(b); });
  std::vector<std::string> keys{best.point};
  for (const PointSummary* rival : rivals) {
    if (keys.size() < most_finalists) keys.push_back(rival->point);
  }
  return keys;
}

}  // namespace dvfs_plan
