// How long the kernel has had each CPU policy at each clock:
// /sys/devices/system/cpu/cpufreq/policyN/stats/time_in_state (Documentation/cpu-freq/cpufreq-stats.rst), for
// drivers with a table of clocks. It is what the kernel set, not what the hardware did; but a clock that the
// kernel left meanwhile was certainly not delivered, even if it is back by the end.
#pragma once

#include <map>
#include <string>

#include "base/sysfs.hpp"

namespace dvfs_plan {

// policy -> clock in Hz -> seconds since the driver was loaded (in steps of 10 ms). Empty where there are
// none.
using ClockResidency = std::map<std::string, std::map<double, double>>;
ClockResidency clock_residency(const Sysfs& sysfs);
// What was added in between.
ClockResidency residency_between(const ClockResidency& before, const ClockResidency& after);

}  // namespace dvfs_plan
