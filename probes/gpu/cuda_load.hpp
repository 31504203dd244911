// A load on one NVIDIA board, switched on and off at random times, so that its sensors' answer can be
// measured. Through libcuda (the CUDA driver API), loaded while the program runs. Sets nothing; it computes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace dvfs_plan {

struct CudaLoad {
  // From the first launch to the end of the last, CLOCK_MONOTONIC.
  std::vector<std::pair<Nanoseconds, Nanoseconds>> on;
  std::string problem;  // why there is none: no library, no such board, or what the driver said
};

// Computes on the board of this UUID ("GPU-6bd0...") for `length`, in all about half of it.
CudaLoad load_cuda_board(const std::string& uuid, Seconds length, std::uint64_t seed);

// On and off by turns, lengths from 30 ms to 0.5 s with the logarithm uniform: short ones for sensors that
// are renewed often, long ones for those that average over a second.
std::vector<Seconds> random_turns(Seconds length, std::uint64_t seed);

}  // namespace dvfs_plan
