// How busy each CPU was, from /proc/stat: a clock measured on an idle CPU says nothing about a request.
#pragma once

#include <map>

#include "base/sysfs.hpp"

namespace dvfs_plan {

struct CpuTimes {
  double busy = 0;   // ticks
  double total = 0;  // ticks
};
using CpuTimesOfAll = std::map<int, CpuTimes>;

CpuTimesOfAll read_cpu_times(const Sysfs& sysfs);
// Share of the time between the two that each CPU was not idle; CPUs for which no tick went by are left out.
std::map<int, double> busy_between(const CpuTimesOfAll& before, const CpuTimesOfAll& after);

}  // namespace dvfs_plan
