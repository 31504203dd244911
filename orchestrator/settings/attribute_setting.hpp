// Settings that are attribute files of the kernel.
#pragma once

#include <memory>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

// What the file is tells its name: a limit or a speed of cpufreq, a board's power cap, else just a file.
std::unique_ptr<Setting> attribute_setting(const std::string& path, const Sysfs& sysfs);

}  // namespace dvfs_plan
