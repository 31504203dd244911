#include "results/surface/settings_grid.hpp"

#include <algorithm>
#include <cmath>

namespace dvfs_plan {

SettingsGrid::Axis grid_axis(std::span<const std::optional<double>> numbers) {
  SettingsGrid::Axis axis;
  const auto known = [](const std::optional<double>& n) { return n.has_value(); };
  axis.ordered = std::all_of(numbers.begin(), numbers.end(), known);
  for (const auto& number : numbers)
    axis.x.push_back(axis.ordered ? *number : static_cast<double>(axis.x.size()));
  if (!axis.ordered || axis.x.empty()) return axis;
  const auto [least, most] = std::minmax_element(axis.x.begin(), axis.x.end());
  const double low = *least, high = *most;
  if (low > 0 && high > low) {
    axis.span = std::log(high / low);
    for (double& x : axis.x) x = std::log(x / low) / axis.span;
  } else {
    for (double& x : axis.x) x = high > low ? (x - low) / (high - low) : 0;
  }
  return axis;
}

}  // namespace dvfs_plan
