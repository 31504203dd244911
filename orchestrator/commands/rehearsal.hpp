// Each work of an experiment once, at its reference, with the meters looked at: what a night of it would meet at once, and how long it would
// take. Nothing of it is kept.
#pragma once

#include "orchestrator/commands/run_here.hpp"

namespace dvfs_plan {

// The exit code: 0, or 1 where a trial does not count. Settings are set for it, and put back, as in a run.
int rehearse(const RunOptions& options);

}  // namespace dvfs_plan
