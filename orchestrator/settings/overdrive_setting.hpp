// Limits of a clock in amdgpu's table (amdgpu_overdrive.hpp), as a setting: "LOW HIGH" in MHz.
#pragma once

#include <memory>
#include <string_view>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

inline constexpr std::string_view overdrive_prefix = "amdgpu-od:";

// nullptr: the path is none of these.
std::unique_ptr<Setting> overdrive_setting_at(const std::string& path, const Sysfs& sysfs);

}  // namespace dvfs_plan
