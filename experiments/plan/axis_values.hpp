// An axis as written, resolved to the values it takes.
#pragma once

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

// `offer` is what the machine offers, nullptr for a parameter of the workload. Returns an empty axis with
// errors in `diagnostics` if nothing is left.
PlanAxis resolve_axis(const AxisSpec& spec, const AxisOffer* offer, Diagnostics& diagnostics);

// The value of `axis` that `raw` names (exclude rules, the reference), or nullopt with an error.
std::optional<AxisValue> match_axis_value(const RawValue& raw, const PlanAxis& axis, std::string_view what,
                                          Diagnostics& diagnostics);

}  // namespace dvfs_plan
