// dvfs-mixed CORE MEMORY: a fixed amount of core-bound and of memory-bound work.
//
// CORE is the core-bound part in seconds at 3 GHz: a chain of dependent multiply-adds, whose time goes with
// the clock. MEMORY is about the seconds spent streaming through an array far larger than any cache, whose
// time hardly does. The amounts are fixed counts, never timed loops: a slower clock takes longer.
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "experiments/regions/dvfs_plan_regions.h"

namespace {

// One step is a dependent 64-bit multiply (3 cycles) and add (1 cycle) on current x86 and Arm cores.
constexpr double steps_per_second_at_3_ghz = 3e9 / 4;
// Bytes a single core streams a second on a common server; only sets how much work "MEMORY" is.
constexpr double bytes_per_second = 8e9;

std::uint64_t core_bound(std::uint64_t steps) {
  std::uint64_t x = 88172645463325252ULL;
  for (std::uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
  return x;
}

std::uint64_t memory_bound(std::vector<std::uint64_t>& array, double bytes) {
  std::uint64_t sum = 0;
  const double array_bytes = static_cast<double>(array.size() * sizeof(std::uint64_t));
  const auto passes = static_cast<std::uint64_t>(bytes / array_bytes + 0.5);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < array.size(); i += 8) sum += array[i]++;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: dvfs-mixed CORE_SECONDS_AT_3_GHZ MEMORY_SECONDS\n");
    return 2;
  }
  const double core = std::atof(argv[1]), memory = std::atof(argv[2]);
  // Filling the array is start-up: it stays out of what counts.
  std::vector<std::uint64_t> array(memory > 0 ? 32 << 20 : 0, 1);  // 256 MiB
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t keep = 0;
  {
    const dvfs_plan_region region("work");
    keep = core_bound(static_cast<std::uint64_t>(core * steps_per_second_at_3_ghz));
    if (memory > 0) keep += memory_bound(array, memory * bytes_per_second);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  // Printing the result keeps the compiler from leaving the work out.
  fmt::print("elapsed {:.6f} s\nchecksum {} 1\n", elapsed.count(), keep % 1000);
  return 0;
}
