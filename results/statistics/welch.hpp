// The ratio of two independent means that need not scatter alike: Welch's t (Biometrika 34, 1947) on logarithms, with
// the smaller sample's degrees of freedom: Satterthwaite's are too many for two and ten values at the levels that many
// comparisons take.
#pragma once

#include <optional>
#include <span>

#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

// Geometric mean of `after` over that of `before`, less one: a share. `pairs` is the smaller number of values. The interval
// wants two values on either side; `sensor_before`, `sensor_after`: relative 95 % half-widths that the sensors add to each
// mean, taken as independent. nullopt if either is empty; all values must be positive.
std::optional<Change> welch_change(std::span<const double> before, std::span<const double> after, double confidence = 0.95,
                                   double sensor_before = 0, double sensor_after = 0);

}  // namespace dvfs_plan
