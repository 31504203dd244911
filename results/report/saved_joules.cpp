#include "results/report/saved_joules.hpp"

#include <cmath>

namespace dvfs_plan {

std::optional<Change> saved_joules(const ScenarioSummary& scenario, const PointSummary& point) {
  if (!scenario.reference || point.is_reference) return std::nullopt;
  const std::optional<Estimate>& energy = scenario.points[*scenario.reference].work_energy;
  const bool is_best = scenario.best && &point == &scenario.points[*scenario.best];
  const bool as_stated = is_best && scenario.objective.minimise == Objective::energy && scenario.gain_of_best;
  const std::optional<Change>& saving = as_stated ? scenario.gain_of_best : point.saving;
  if (!energy || !saving) return std::nullopt;
  Change joules{saving->pairs, saving->value * energy->mean, std::nullopt, std::nullopt};
  if (!saving->low || !saving->high || !energy->half_width) return joules;
  const double level = saving->value * *energy->half_width;
  joules.low = joules.value - std::hypot((saving->value - *saving->low) * energy->mean, level);
  joules.high = joules.value + std::hypot((*saving->high - saving->value) * energy->mean, level);
  return joules;
}

}  // namespace dvfs_plan
