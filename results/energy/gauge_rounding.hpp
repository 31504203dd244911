// What a gauge that tells its power in steps (whole watts, as a board's management controller does) leaves out. Pure.
//
// A load steadier than such a step is told the same again by each reading, and all of them are off the same way: in each trial of a setting
// too, and at another setting otherwise. It is no gain error, and does not cancel in savings.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>

#include "results/energy/fresh_values.hpp"

namespace dvfs_plan {

// The step in which these values are told: the decimals that all of them leave out, or what all of them are multiples of, where that is
// no chance; `smallest_seen`, by a look at the sensor, where it explains them too. 0: in none.
double common_step(const std::set<double>& levels, std::optional<double> smallest_seen);
// The same of a gauge, W; 0: in none that matters beside the power itself.
double told_in_steps_of(std::span<const Look> looks, std::optional<double> smallest_seen);

// For how long which value was told, s by W.
using TimesOfLevels = std::map<double, double>;

// By how much the energy may be off, J, 95 %. Of each level it is not known where within the step it lies, nor whether the gauge rounds or
// cuts off: where it cuts off all of them are half a step too low.
double rounding_half_width(const TimesOfLevels& levels, double step);

}  // namespace dvfs_plan
