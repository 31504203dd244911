// One function a knob; knob_table.cpp lists them.
#pragma once

#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {

// cpu.frequency: min = max on every policy, under whatever governor is in force. Works with every driver;
// intel_pstate and amd-pstate in active mode have no userspace governor to ask instead.
KnobFinding find_cpu_frequency(const KnobRequest& request);
// cpu.governor: a name of scaling_available_governors.
KnobFinding find_cpu_governor(const KnobRequest& request);
// cpu.epp: energy_performance_preference (intel_pstate and amd-pstate in active mode).
KnobFinding find_cpu_epp(const KnobRequest& request);
// cpu.turbo: on or off.
KnobFinding find_cpu_turbo(const KnobRequest& request);
// cpu.uncore: intel_uncore_frequency, per package and die.
// Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst.
KnobFinding find_cpu_uncore(const KnobRequest& request);
// cpu.cores: how many CPUs the workload gets, whole cores first.
KnobFinding find_cpu_cores(const KnobRequest& request);
// gpu.core, gpu.memory: clocks of the boards used, or of one (@1, @UUID). NVIDIA: locks by nvidia-smi, else
// application clocks; AMD: amdgpu's DPM levels, or its overdrive table; Intel: xe and i915 min/max files.
KnobFinding find_gpu_core(const KnobRequest& request);
KnobFinding find_gpu_memory(const KnobRequest& request);
// gpu.power_limit: NVIDIA by nvidia-smi; AMD and Intel by hwmon.
KnobFinding find_gpu_power_limit(const KnobRequest& request);
// devfreq.NAME: /sys/class/devfreq. Documentation/ABI/testing/sysfs-class-devfreq.
KnobFinding find_devfreq(const KnobRequest& request);
// sysfs.NAME: a file below /sys that the experiment names with its allowed values.
KnobFinding find_sysfs_knob(const KnobRequest& request);

}  // namespace dvfs_plan
