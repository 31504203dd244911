// How the run reaches NVIDIA's boards: nvidia-smi on PATH, and NVML where it can be loaded. The guardian has
// its own.
#pragma once

#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {

// `by_nvml`: they are read by NVML where it can be loaded.
NvidiaDoors nvidia_doors(bool by_nvml = false);

}  // namespace dvfs_plan
