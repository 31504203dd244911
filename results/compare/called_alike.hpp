// Points are found again by their keys, which name their axes in the order of the experiment's file: another order is no other setting. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "results/compare/comparison.hpp"

namespace dvfs_plan {

// The same nights with the keys of points and scenarios that the first of them has for the same settings. nullopt: they are so already.
std::optional<std::pair<std::vector<ComparedResult>, std::vector<ComparedResult>>> called_alike(
    const std::vector<ComparedResult>& before, const std::vector<ComparedResult>& after);

}  // namespace dvfs_plan
