// The settings of an experiment as a product of axes, in coordinates in which what the hardware does is
// smooth: logarithms of clocks and power limits, scaled to [0, 1] over what is swept. Plain data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dvfs_plan {

struct SettingsGrid {
  struct Axis {
    bool ordered = true;    // numbers; else words (a governor), of which none lies between two others
    std::vector<double> x;  // coordinate of each value, ascending in [0, 1]; of words: 0, 1, 2, ...
    double span = 1;        // logarithm of highest to lowest value; 1 where values are not all above 0
    bool scenario =
        false;  // its values are scenarios (workloads): levels are incomparable, shapes may be alike
  };
  std::vector<Axis> axes;
  std::vector<std::vector<int>>
      cells;  // of each point, its index on each axis; cells without point do not exist

  int points() const { return static_cast<int>(cells.size()); }
};

// One axis from its values; numbers where all of them are known, else words.
SettingsGrid::Axis grid_axis(std::span<const std::optional<double>> numbers);

}  // namespace dvfs_plan
