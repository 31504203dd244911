#include "results/report/constraint_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// An estimate with its interval for one constraint at one point.
struct Bounded {
  double value;
  std::optional<double> low, high;
};

std::optional<Bounded> bounded(const std::optional<Estimate>& estimate) {
  if (!estimate) return std::nullopt;
  Bounded b{estimate->mean, std::nullopt, std::nullopt};
  if (estimate->half_width) {
    b.low = estimate->mean - *estimate->half_width;
    b.high = estimate->mean + *estimate->half_width;
  }
  return b;
}

std::string unit_of_measured(std::string_view name) {
  return name == "power" ? "W" : name == "time" ? "s" : name == "energy" ? "J" : "";
}

std::optional<Bounded> value_of(const ConstraintSpec& constraint, const PointSummary& point) {
  if (constraint.name == "power") return bounded(point.power);
  if (constraint.name == "time") return bounded(point.time);
  if (constraint.name == "energy") return bounded(point.energy);
  if (constraint.name == "slowdown") {
    if (point.is_reference) return point.counted > 0 ? std::optional(Bounded{0, 0, 0}) : std::nullopt;
    if (!point.slowdown) return std::nullopt;
    return Bounded{point.slowdown->value, point.slowdown->low, point.slowdown->high};
  }
  const auto metric = point.metrics.find(constraint.name);
  if (metric == point.metrics.end()) return std::nullopt;
  // Of several at once all must hold it: the worst of them.
  auto value =
      bounded(bounds_from_above(constraint.relation) ? metric->second.highest : metric->second.least);
  // Of a share that is a count both must say so: its trials, and the count, which knows that 100 of 100 is not all there are.
  const auto& count =
      bounds_from_above(constraint.relation) ? metric->second.highest_count : metric->second.least_count;
  if (count && value->low) {
    value->low = std::min(*value->low, count->first);
    value->high = std::max(*value->high, count->second);
  }
  return value;
}

}  // namespace

void check_constraints(PointSummary& point, const std::vector<ConstraintSpec>& constraints) {
  for (const ConstraintSpec& constraint : constraints) {
    ConstraintCheck check{constraint.name, constraint_text(constraint), std::nullopt, std::nullopt,
                          std::nullopt};
    const auto told =
        is_measured(constraint.name) ? point.metrics.end() : point.metrics.find(constraint.name);
    const std::string unit = told == point.metrics.end() ? "" : told->second.unit;
    auto value = value_of(constraint, point);
    const auto other = is_measured(constraint.name) ? point.in_other_units.end()
                                                    : point.in_other_units.find(constraint.name);
    if (other != point.in_other_units.end()) {
      check.why_not =
          fmt::format("{} of the {} trials of {} told it in a unit that does not compare with the others'",
                      other->second, point.counted, point.point);
      value.reset();
    }
    // A percentile is told by no trial that had too many requests unanswered: those that told it are the better ones.
    if (value && told != point.metrics.end() && told->second.trials < point.counted) {
      check.why_not = fmt::format("{} of the {} trials of {} told none", point.counted - told->second.trials,
                                  point.counted, point.point);
      value.reset();
    }
    if (value && !is_measured(constraint.name) && point.untold > 0) {
      check.why_not = fmt::format(
          "{} of the {} trials of {} are left out for want of what they were to tell (no_metric), and may be "
          "those that break it",
          point.untold, point.untold + point.counted, point.point);
      value.reset();
    }
    if (value && !as_bounded(constraint, value->value, unit)) {
      check.why_not = why_not_comparable(constraint, unit);
      value.reset();
    }
    if (value) {
      check.unit = told != point.metrics.end() ? plain_unit(constraint.unit.empty() ? unit : constraint.unit)
                                               : unit_of_measured(constraint.name);
      for (double* one :
           {&value->value, value->low ? &*value->low : nullptr, value->high ? &*value->high : nullptr}) {
        if (one != nullptr) *one = *as_bounded(constraint, *one, unit);
      }
      check.value = value->value;
      check.low = value->low;
      check.high = value->high;
      // A slowdown is a ratio of times less one: as a ratio it is rounded.
      const double beside = constraint.name == "slowdown" ? 1 : 0;
      const auto holds_at = [&](double at) {
        return holds(constraint.relation, at + beside, constraint.limit + beside);
      };
      check.holds = holds_at(value->value);
      if (value->low)
        check.certain = holds_at(*value->low) == *check.holds && holds_at(*value->high) == *check.holds;
    }
    point.feasible = point.feasible && check.holds.value_or(false);
    point.constraints.push_back(check);
  }
}

}  // namespace dvfs_plan
