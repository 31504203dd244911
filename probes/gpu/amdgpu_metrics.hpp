// The energy counter of AMD's Instinct boards, in the binary file gpu_metrics (Documentation/gpu/amdgpu/thermal.rst; its layouts:
// drivers/gpu/drm/amd/include/kgd_pp_interface.h).
//
// The counter is in units of 2^-16 J (15.259 uJ) by what the driver says of the layouts 1.4 to 1.8 (MI300 and newer), and for MI200 by
// rocm_smi's counter_resolution. Of Radeon boards the same field is in units that nobody tells: it is not read.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/sysfs.hpp"
#include "base/unique_fd.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

// J, as the file has it; nullopt: the layout has none that is known, or the firmware fills none in (all bits set, or none).
std::optional<double> energy_in_gpu_metrics(std::span<const std::byte> file, std::string_view pci_device);

class GpuMetricsEnergy {
 public:
  // `folder`: of the board, ".../card1/device".
  GpuMetricsEnergy(const Sysfs& sysfs, const std::string& folder);
  Sample read();

 private:
  UniqueFd fd_;
  std::string pci_device_;  // "0x74a1"
};

}  // namespace dvfs_plan
