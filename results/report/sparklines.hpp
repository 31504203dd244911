// The shape of each quantity over an axis in a line of a terminal: "energy  █▃▁▂▄▇  52.5 to 72.8 J".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// Eight heights, the least and the most of `values` at the ends; a dot where nothing is known. Empty without
// two different values.
std::string sparkline(const std::vector<std::optional<double>>& values);

// Some lines a scenario, over its numeric axis with most values; a line for each setting of the others, the
// best's first, at most eight. Empty where no axis has three values.
std::string sparkline_table(const ScenarioSummary& scenario);

}  // namespace dvfs_plan
