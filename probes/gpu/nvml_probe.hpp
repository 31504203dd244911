// Probes over NVML: what a board's own sensors say. Several, because they are worth reading at different
// rates: an energy counter keeps a CPU busy for 4 ms a read on an H200 and is followed in its own phase,
// board by board; power and clocks take microseconds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/gpu/gpu_boards.hpp"
#include "probes/gpu/nvml_library.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

struct NvmlProbes {
  std::vector<std::unique_ptr<Probe>> energy;  // total energy, one a board
  std::unique_ptr<Probe> power;                // instant and average
  std::unique_ptr<Probe> state;                // clocks, utilisation, time held down by each limit
  std::unique_ptr<Probe> slow;                 // temperatures, memory in use
  std::vector<std::string> lacks;              // "gpu-0 has no total energy counter"
};

// Each channel is tried once; those that the board does not have are left out and named.
NvmlProbes make_nvml_probes(std::shared_ptr<NvmlLibrary> library, const std::vector<GpuBoard>& boards);

}  // namespace dvfs_plan
