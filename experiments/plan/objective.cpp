// The words for objectives and constraints.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::energy:
      return "energy";
    case Objective::time:
      return "time";
    case Objective::edp:
      return "edp";
    case Objective::ed2p:
      return "ed2p";
    case Objective::cost:
      return "cost";
  }
  return "?";
}

std::optional<Objective> parse_objective(std::string_view text) {
  for (const Objective objective :
       {Objective::energy, Objective::time, Objective::edp, Objective::ed2p, Objective::cost}) {
    if (text == to_string(objective)) return objective;
  }
  return std::nullopt;
}

std::string_view to_string(ConstraintSpec::Relation relation) {
  switch (relation) {
    case ConstraintSpec::Relation::at_most:
      return "<=";
    case ConstraintSpec::Relation::less:
      return "<";
    case ConstraintSpec::Relation::at_least:
      return ">=";
    case ConstraintSpec::Relation::more:
      return ">";
  }
  return "?";
}

bool holds(ConstraintSpec::Relation relation, double value, double limit) {
  // Means and ratios are worked out in steps, each of which rounds: 4 s of 8 s is half of it.
  constexpr double rounding = 1e-12;
  // Of what overflowed no part is rounding.
  const bool equal =
      value == limit || (std::isfinite(value) &&
                         std::abs(value - limit) <= rounding * std::max(std::abs(value), std::abs(limit)));
  switch (relation) {
    case ConstraintSpec::Relation::at_most:
      return equal || value < limit;
    case ConstraintSpec::Relation::less:
      return !equal && value < limit;
    case ConstraintSpec::Relation::at_least:
      return equal || value > limit;
    case ConstraintSpec::Relation::more:
      return !equal && value > limit;
  }
  return false;
}

bool bounds_from_above(ConstraintSpec::Relation relation) {
  return relation == ConstraintSpec::Relation::at_most || relation == ConstraintSpec::Relation::less;
}

bool is_measured(std::string_view name) {
  return name == "slowdown" || name == "power" || name == "time" || name == "energy";
}

std::optional<double> as_bounded(const ConstraintSpec& constraint, double value, const std::string& told) {
  if (is_measured(constraint.name)) return value;
  if (plain_unit(constraint.unit).empty() && told != "%") return value;
  const auto factor = unit_factor(told, constraint.unit);
  return factor ? std::optional(value * *factor) : std::nullopt;
}

std::string why_not_comparable(const ConstraintSpec& constraint, const std::string& told) {
  const auto in = [](const std::string& unit) {
    return plain_unit(unit).empty() ? "without a unit" : "in " + unit_in_words(unit);
  };
  return fmt::format("its values are told {}, and the bound is {}: write it {}", in(told),
                     in(constraint.unit), in(told));
}

const ObjectiveSpec& objective_of(const Experiment& experiment, const WorkloadSpec& workload) {
  return workload.objective ? *workload.objective : experiment.objective;
}

const MeasureSpec& measure_of(const Experiment& experiment, const WorkloadSpec& workload) {
  return workload.measure ? *workload.measure : experiment.measure;
}

bool minimises_energy(const Experiment& experiment) {
  return std::any_of(experiment.workloads.begin(), experiment.workloads.end(),
                     [&](const WorkloadSpec& workload) {
                       return objective_of(experiment, workload).minimise != Objective::time;
                     });
}

std::string constraint_text(const ConstraintSpec& c) {
  std::string limit = fmt::format("{:g}{}{}", c.limit, c.unit.empty() ? "" : " ", c.unit);
  if (c.name == "slowdown") limit = fmt::format("{:g} %", 100 * c.limit);
  if (c.name == "power") limit = format_quantity(c.limit, Dimension::power, 6);
  if (c.name == "time") limit = format_quantity(c.limit, Dimension::time, 6);
  if (c.name == "energy") limit = format_quantity(c.limit, Dimension::energy, 6);
  return fmt::format("{} {} {}", c.name, to_string(c.relation), limit);
}

}  // namespace dvfs_plan
