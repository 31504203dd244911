// The order of points in tables: numbers before words, numbers by size.
#pragma once

#include <vector>

#include "results/store/rows.hpp"

namespace dvfs_plan {

bool earlier_settings(const std::vector<AxisSetting>& a, const std::vector<AxisSetting>& b);

}  // namespace dvfs_plan
