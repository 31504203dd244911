// Loads that are switched on and off at random times while the sensors are looked at, so that their answer
// tells how old their values are and over how long each is a mean (results/energy/load_response.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probes/gpu/gpu_boards.hpp"
#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {

// When it was on; `problem` says why it was not.
struct TestLoad {
  std::vector<Window> on;
  std::string problem;
};

struct TestLoads {
  // "gpu-0"; "" is for all that CPUs load. Each returns once it is done.
  std::map<std::string, std::function<TestLoad()>> of_domain;
  // Told before any is run, while nothing is sampled; may be empty, and may throw to have none run.
  std::function<void(const std::string&)> say;
  // Set by whoever waits for them: they end at once.
  std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
};

// All CPUs that this process may use but one, which reads meanwhile; and NVIDIA's boards, each by a child of
// its own (`dvfs-plan load-board`), which serves the invoking user: a board's driver has no business in a
// process that sets clocks as root. For other vendors' boards there is no such load here.
TestLoads test_loads(const std::vector<GpuBoard>& boards, const Clock& clock);

// What that child does: computes on the board by turns and prints when, one "FROM TO" (CLOCK_MONOTONIC, ns) a
// line. Returns its exit code.
int run_board_load(const std::string& uuid);

}  // namespace dvfs_plan
