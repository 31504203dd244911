// Settings that are attribute files of the kernel.
#pragma once

#include <memory>
#include <string_view>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

// Whether it is a tunable of one of the kernel's governors that have any, of all policies together or of one:
// "/sys/devices/system/cpu/cpufreq/schedutil/rate_limit_us", ".../policy0/ondemand/up_threshold".
bool is_governor_tunable(std::string_view path);

// What the file is tells its name: a limit or a speed of cpufreq, a board's power cap, else just a file.
std::unique_ptr<Setting> attribute_setting(const std::string& path, const Sysfs& sysfs);

}  // namespace dvfs_plan
