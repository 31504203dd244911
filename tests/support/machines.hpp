// Machines as attribute trees. Names, files and values are those that such machines report (an Alder Lake
// laptop, a two-socket Xeon, a Zen 4 desktop, an older server on acpi-cpufreq); files only, no behaviour:
// what the kernel does with a write is proven in the virtual machine.
#pragma once

#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan::machines {

// 8 P-core threads (4 cores, 0-1, 2-3, ...; 0.4-4.7 GHz) and 8 E-cores (8-15; 0.4-3.4 GHz), a policy a CPU.
void hybrid(const TemporaryFolder& root);
// intel_pstate on 4 CPUs without SMT: active (performance, powersave, preferences) or passive (generic
// governors).
void intel_pstate(const TemporaryFolder& root, bool active);
// amd-pstate-epp on 4 CPUs, boost by policy as of Linux 6.11.
void amd_pstate_epp(const TemporaryFolder& root);
// acpi-cpufreq: two policies of two CPUs, six P-states, boost for the whole machine.
void acpi_cpufreq(const TemporaryFolder& root);
// Two packages with core, uncore and DRAM zones; DRAM wraps at its own, smaller range.
void rapl(const TemporaryFolder& root, bool with_psys);
// The limits of the first package of rapl() (165 W, 198 W for some ms), and of its second interface, which is lower.
void rapl_limits(const TemporaryFolder& root);
// Idle states of CPUs 0 to 3: POLL, C1, C1E, and C6, of which the driver keeps C1E off (intel_idle's default on some servers).
void idle_states(const TemporaryFolder& root);

// One H200: the stand-in nvidia-smi (tests/support/nvidia-smi), with the stand-in library (fake_nvml.cpp) or
// without it. Its folder gpu/ drives both and logs every call.
void h200(const TemporaryFolder& root, bool with_library);
// A board of amdgpu with hwmon; `overdrive`: its table of clocks may be edited, else it has DPM levels.
void radeon(const TemporaryFolder& root, bool overdrive);
// An Instinct MI300X of amdgpu without hwmon; its table of clocks is InstinctDriver's.
void instinct(const TemporaryFolder& root);
// A discrete board under xe: one tile with a compute and a media GT.
void arc_xe(const TemporaryFolder& root);
// Graphics under i915 with a GT folder.
void arc_i915(const TemporaryFolder& root);

}  // namespace dvfs_plan::machines
