// What lowers limits of clocks by itself: the kernel, where something is too hot.
#pragma once

#include "base/sysfs.hpp"

namespace dvfs_plan {

// Whether the kernel cools by clocks just now, CPUs (drivers/thermal/cpufreq_cooling.c, ACPI passive cooling) or devices
// (drivers/thermal/devfreq_cooling.c). Their limits read what it allows then, and not what their owner set.
bool cools_cpus_by_clock(const Sysfs& sysfs);
bool cools_devices_by_clock(const Sysfs& sysfs);

}  // namespace dvfs_plan
