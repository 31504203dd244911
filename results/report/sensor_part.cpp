#include "results/report/sensor_part.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dvfs_plan {

double sensor_share(const std::optional<Estimate>& estimate) {
  if (!estimate || !estimate->sensor_half_width || !(estimate->mean > 0)) return 0;
  return *estimate->sensor_half_width / estimate->mean;
}

double sensors_of_ratio(const PointSummary& a, const PointSummary& b, bool energy_by_gauge,
                        double trials_a_value_of_a, double trials_a_value_of_b) {
  constexpr double of_edges = 0.02;
  double squares = 0, systematic = 0, own = 0;
  for (const auto& [point, trials] :
       {std::pair{&a, trials_a_value_of_a}, std::pair{&b, trials_a_value_of_b}}) {
    const double all = sensor_share(point->energy);
    if (all == 0) continue;
    const double same = point->energy->systematic_half_width / point->energy->mean;
    squares += std::max(0.0, all * all - same * same) * trials;
    // What a gauge's means smear over an edge has the sign of the step there, which is each point's own.
    if (energy_by_gauge) {
      systematic = std::hypot(systematic, same);
      continue;
    }
    systematic = std::min(same, of_edges) - systematic;
    own += std::max(0.0, same - of_edges);
  }
  return std::hypot(std::sqrt(squares), std::abs(systematic) + own);
}

double sensors_of_objective(const ScenarioSummary& scenario, const PointSummary& a, const PointSummary& b) {
  if (scenario.objective.minimise == Objective::time) return 0;
  return sensors_of_ratio(a, b, scenario.energy_by_gauge);
}

}  // namespace dvfs_plan
