// The change of a point between two nights. Pure; on logarithms.
//
// A trial's logarithm is point + block + error. Few trials of one point do not tell their spread, so it is
// pooled over all points of a night: the error's variance from the residuals of that model, and the blocks'
// own variance from what trials of a point scatter beyond it. What shifts a whole block shifts all points
// alike and is known by the number of blocks only; Satterthwaite's degrees of freedom (Biometrics Bulletin 2,
// 1946) weigh the two.
#pragma once

#include <optional>
#include <span>

#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

// How one night scatters: variances of logarithms with their degrees of freedom.
struct NightError {
  double error = 0, error_degrees = 0;
  double block = 0, block_degrees = 0;
};

// nullopt where no point has two trials.
std::optional<NightError> night_error(std::span<const BlockedValue> values, int points);

// Geometric mean of `after` over that of `before`, less one: a share. `pairs` is the smaller number of
// values. Without both errors there is no interval. `sensor_before`, `sensor_after`: relative 95 %
// half-widths that the sensors add to each mean, taken as independent. nullopt if either is empty or holds
// what is not positive.
std::optional<Change> change_between(std::span<const double> before,
                                     const std::optional<NightError>& error_before,
                                     std::span<const double> after,
                                     const std::optional<NightError>& error_after, double confidence = 0.95,
                                     double sensor_before = 0, double sensor_after = 0);

}  // namespace dvfs_plan
