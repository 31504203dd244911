#include "results/report/question_text.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"

namespace dvfs_plan {

std::string limits_text(const ObjectiveSpec& objective) {
  std::vector<std::string> limits;
  for (const ConstraintSpec& one : objective.constraints) limits.push_back(constraint_text(one));
  return join(limits, ", ");
}

std::string price_text(const ObjectiveSpec& objective) {
  return objective.price ? fmt::format("{:.9g} {} a joule and {:.9g} a second", objective.price->per_joule,
                                       objective.price->currency, objective.price->per_second)
                         : std::string();
}

std::string question_text(const ScenarioSummary& scenario) {
  const ObjectiveSpec& objective = scenario.objective;
  std::string text = fmt::format("the least {}", to_string(objective.minimise));
  if (objective.energy_of) text += fmt::format(" of {}", objective.energy_of->text);
  if (!objective.per.empty()) text += fmt::format(" per {}", objective.per);
  if (!scenario.target.empty()) text += fmt::format(" to {}", scenario.target);
  // Of anything else prices do not ask.
  if (objective.minimise == Objective::cost) text += " at " + price_text(objective);
  if (!objective.constraints.empty()) text += " with " + limits_text(objective);
  return scenario.reference ? fmt::format("{}, against {}", text, scenario.points[*scenario.reference].point)
                            : text;
}

}  // namespace dvfs_plan
