// amdgpu's table of clocks that may be edited: pp_od_clk_voltage.
// Documentation/gpu/amdgpu/thermal.rst; drivers/gpu/drm/amd/pm/amdgpu_pm.c.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/sysfs.hpp"

namespace dvfs_plan {

enum class OverdriveClock { core, memory };

struct OverdriveLimits {
  int low_mhz = 0, high_mhz = 0;
};
// OD_SCLK or OD_MCLK of the table's text: the limits in force. nullopt if the table has none.
std::optional<OverdriveLimits> overdrive_limits(std::string_view table, OverdriveClock clock);
// The range that OD_RANGE allows for it.
std::optional<OverdriveLimits> overdrive_range(std::string_view table, OverdriveClock clock);
// Edits both limits and commits. 0 or errno.
int set_overdrive(const Sysfs& sysfs, const std::string& file, OverdriveClock clock, OverdriveLimits limits);

}  // namespace dvfs_plan
