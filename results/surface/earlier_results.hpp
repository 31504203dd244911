// Trials of an earlier result as the shape of a surface, to begin a search with.
#pragma once

#include <cstddef>
#include <span>

#include "results/surface/optimum.hpp"
#include "results/trial/prior_shape.hpp"

namespace dvfs_plan {

// With fewer workloads nobody knows how much they differ: no search uses them.
inline constexpr std::size_t fewest_shapes = 5;

// What the trials say of log time and log power at each point of the question, their means taken out. Without
// power where a trial has no energy. `trials` must not be empty.
PriorShape learn_shape(const SurfaceQuestion& question, std::span<const SurfaceTrial> trials);

}  // namespace dvfs_plan
