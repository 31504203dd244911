// amdgpu's table of clocks that may be edited: pp_od_clk_voltage.
// Documentation/gpu/amdgpu/thermal.rst; drivers/gpu/drm/amd/pm/amdgpu_pm.c.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

enum class OverdriveClock { core, memory };

struct OverdriveLimits {
  int low_mhz = 0, high_mhz = 0;
};
// OD_SCLK or OD_MCLK of the table's text: the limits in force. nullopt unless both may be edited: some boards
// list the upper one only, which pins nothing.
std::optional<OverdriveLimits> overdrive_limits(std::string_view table, OverdriveClock clock);
// The range that OD_RANGE allows for it.
std::optional<OverdriveLimits> overdrive_range(std::string_view table, OverdriveClock clock);
// The lines to write, in an order in which the limits never cross; the last commits.
std::vector<std::string> overdrive_edits(const OverdriveLimits& now, const OverdriveLimits& wanted,
                                         OverdriveClock clock);
// Edits both limits and commits. 0 or errno.
int set_overdrive(const Sysfs& sysfs, const std::string& file, OverdriveClock clock, OverdriveLimits limits);

}  // namespace dvfs_plan
