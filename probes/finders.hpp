// One function a built-in probe; probe_table.cpp lists them.
#pragma once

#include "probes/probe_table.hpp"

namespace dvfs_plan {

// RAPL energy counters: perf events where they may be opened, the powercap files otherwise.
// Documentation/power/powercap/powercap.rst; arch/x86/events/rapl.c.
ProbeFinding find_rapl(const Sysfs& sysfs);
ProbeFinding find_rapl_powercap(const Sysfs& sysfs);
ProbeFinding find_rapl_perf(const Sysfs& sysfs);

// Power and energy sensors of hwmon, ACPI power meters (whose files sit below device/) among them.
// Documentation/hwmon/sysfs-interface.rst, Documentation/hwmon/acpi_power_meter.rst.
ProbeFinding find_hwmon(const Sysfs& sysfs);

// Thermal zones. Documentation/driver-api/thermal/sysfs-api.rst.
ProbeFinding find_thermal(const Sysfs& sysfs);

// Clocks that cpufreq policies really run at. Documentation/admin-guide/pm/cpufreq.rst.
ProbeFinding find_cpufreq(const Sysfs& sysfs);

// NVIDIA boards: NVML, loaded at run time; where it cannot be, one long-lived nvidia-smi.
ProbeFinding find_nvidia(const ProbeRequest& request);
// AMD boards. Documentation/gpu/amdgpu/thermal.rst (hwmon), driver-misc.rst (gpu_busy_percent, mem_info_*).
ProbeFinding find_amdgpu(const ProbeRequest& request);
// Intel boards and integrated graphics. Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon,
// sysfs-driver-intel-i915-hwmon, sysfs-class-drm.
ProbeFinding find_intel_gpu(const ProbeRequest& request);

// One RAPL perf event on one CPU, as the kernel describes it below event_source/devices/power.
struct RaplEvent {
  Channel channel;
  unsigned type = 0;
  unsigned long config = 0;
  int cpu = 0;
  double joules_per_unit = 0;
};
std::vector<RaplEvent> list_rapl_events(const Sysfs& sysfs);

}  // namespace dvfs_plan
