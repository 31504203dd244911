// The two ways to RAPL's energy counters. Internal to this folder.
// Documentation/power/powercap/powercap.rst; arch/x86/events/rapl.c.
#pragma once

#include <string>
#include <vector>

#include "probes/probe_table.hpp"

namespace dvfs_plan {

// One RAPL perf event on one CPU, as the kernel describes it below event_source/devices/power.
struct RaplEvent {
  Channel channel;
  unsigned type = 0;
  unsigned long config = 0;
  int cpu = 0;
  double joules_per_unit = 0;
};
std::vector<RaplEvent> list_rapl_events(const Sysfs& sysfs);

ProbeFinding find_rapl_powercap(const Sysfs& sysfs);

}  // namespace dvfs_plan
