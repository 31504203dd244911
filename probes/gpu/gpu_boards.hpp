// The GPU boards of a machine, by every vendor's own way, and which of them an experiment means.
#pragma once

#include <string>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

enum class GpuVendor { nvidia, amd, intel };
std::string_view to_string(GpuVendor vendor);

struct GpuBoard {
  GpuVendor vendor = GpuVendor::nvidia;
  int index = 0;       // among all boards: NVIDIA's in nvidia-smi's order, then AMD's and Intel's by card
  std::string domain;  // "gpu-0": what its energy and its clocks are filed under
  std::string uuid;    // NVIDIA's UUID, AMD's unique_id; the PCI address where there is neither
  std::string name;
  std::string pci;     // "0000:03:00.0"
  std::string driver;  // "NVIDIA 580.159.04", "amdgpu", "xe"
  std::string folder;  // AMD, Intel: "/sys/class/drm/card1/device"
  bool mig = false;    // NVIDIA: split into instances; its power is that of all of them
};

struct GpuBoards {
  std::vector<GpuBoard> boards;
  std::string missing;  // where there are none: what was looked for, and the next step
};

// Asks NVML, else nvidia-smi; then /sys/class/drm. Integrated Intel graphics count as a board.
GpuBoards find_gpu_boards(const Sysfs& sysfs);

// Whether boards seem to be there, from the kernel's files alone: nothing is loaded and nothing is run.
// Graphics inside a CPU do not count.
bool has_gpu_boards(const Sysfs& sysfs);

// Those of `boards` that are named: an index ("1"), a UUID or the beginning of one, a PCI address.
// `problem` if a name means none or several.
struct GpuChoice {
  std::vector<GpuBoard> boards;
  std::string problem;
};
GpuChoice choose_boards(const std::vector<GpuBoard>& boards, const std::vector<std::string>& names);

}  // namespace dvfs_plan
