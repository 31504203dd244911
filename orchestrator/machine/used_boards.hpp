// Which GPU boards an experiment is about, what its workloads are told of them, and what is remembered.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "probes/gpu/gpu_boards.hpp"

namespace dvfs_plan {

// The boards of the machine, and those of them that the experiment uses.
struct UsedBoards {
  GpuBoards all;
  std::vector<GpuBoard> used;
  std::string problem = {};  // why none can be used although there are some
};

// Nothing is looked for unless the experiment is about boards: `gpus`; else the boards that its axes name;
// else those of CUDA_VISIBLE_DEVICES in `environment`; else all.
UsedBoards find_used_boards(const Experiment& experiment, const Sysfs& sysfs,
                            const std::map<std::string, std::string>& environment);

// All boards of the machine, as if each were used.
UsedBoards all_boards(const Sysfs& sysfs);

// CUDA_VISIBLE_DEVICES and its like, so that a workload sees the boards that are measured and no others.
std::map<std::string, std::string> visible_devices(const UsedBoards& boards);

// "gpu-0" -> "NVIDIA H200, GPU-..., NVIDIA 580.159.04, power limit 700.00 W, ...".
std::map<std::string, std::string> board_facts(const std::vector<GpuBoard>& boards, const Sysfs& sysfs);

// The power limit in force of each board that tells it, W, by domain.
std::map<std::string, double> power_limits(const std::vector<GpuBoard>& boards, const Sysfs& sysfs);

}  // namespace dvfs_plan
