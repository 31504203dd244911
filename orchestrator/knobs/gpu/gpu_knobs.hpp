// What the GPU knobs of all vendors share. gpu_knobs.cpp finds the boards an axis means and asks their
// vendor.
#pragma once

#include <vector>

#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/nvidia_setter.hpp"

namespace dvfs_plan {

enum class GpuAxis { core, memory, power_limit, profile };

// `boards` are of one vendor and not empty.
KnobFinding find_nvidia_knob(GpuAxis axis, const KnobRequest& request, const std::vector<GpuBoard>& boards);
// nvidia_profiles.cpp
KnobFinding find_nvidia_profile_knob(const KnobRequest& request, const std::vector<GpuBoard>& boards);
KnobFinding find_amdgpu_knob(GpuAxis axis, const KnobRequest& request, const std::vector<GpuBoard>& boards);
KnobFinding find_intel_gpu_knob(GpuAxis axis, const KnobRequest& request,
                                const std::vector<GpuBoard>& boards);

// "core_clock" or "memory_clock": the channel that tells what was delivered.
std::string clock_quantity_of(GpuAxis axis);

// Clocks in MHz that all boards offer, as an axis takes them.
AxisOffer offer_of_mhz(std::vector<double> mhz);
// A range in watts with round steps, 25 at most.
AxisOffer offer_of_watts(double lowest, double highest);
AxisOffer offer_of_mhz_range(double lowest, double highest, double step);

// A power limit in a file that counts microwatts: amdgpu's power1_cap, xe's and i915's power1_max.
struct PowerFile {
  std::string target, path;
  double lowest_w = 0, highest_w = 0;
};
KnobFinding make_power_file_knob(const KnobRequest& request, std::vector<PowerFile> files);

}  // namespace dvfs_plan
