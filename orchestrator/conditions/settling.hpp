// Waits until clocks that were set hold: for a least time, then until they read the same three times in a
// row.
#pragma once

#include <optional>
#include <string>

#include "base/interruption.hpp"
#include "probes/sampler.hpp"

namespace dvfs_plan {

struct Settled {
  bool interrupted = false;
  Seconds waited{0};
  std::string outcome;  // 'held', 'timed_out'; '' where no clock can be read on a machine at rest
};

// Clocks that say nothing about an idle CPU (APERF/MPERF) are not waited for.
Settled settle(Sampler& sampler, Seconds least, Seconds limit, Interruption& interruption,
               const Clock& clock);

}  // namespace dvfs_plan
