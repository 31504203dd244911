// What programs of the user's own that measure say when they are started, before a night depends on them.
#pragma once

#include <string>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "orchestrator/guard/guard_client.hpp"

namespace dvfs_plan {

struct OwnMeters {
  std::vector<std::string> lines;
  bool told_a_value = false;  // of any channel
};

// Starts each for a second and ends it. A line for each channel ("m:wall: 98 values in 1 s, first 101 W, 102 W, 103 W"), for what is not
// understood, and for what is said on standard error; what one leaves running is ended, but not the guardian. Throws Error where one cannot be
// started.
OwnMeters hear_own_meters(const Experiment& experiment, const GuardClient& guard);

}  // namespace dvfs_plan
