// Where trials are run. The run loop says which and keeps what comes back; an executor knows nothing of
// strategies and results. Here that is this machine, one trial at a time (local_executor.hpp); several at
// once, on other nodes, are what `begin` and `wait` are apart for.
#pragma once

#include <optional>

#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class Executor {
 public:
  virtual ~Executor() = default;
  // Whether one more trial may be begun now.
  virtual bool has_room() const = 0;
  // Throws Error where no more can be run: the machine does not stay as it is set. What is under way is lost
  // then.
  virtual void begin(const PlannedTrial& planned) = 0;
  // Waits until one of those that were begun is finished. nullopt: interrupted; all of them are then as if
  // they had not begun.
  virtual std::optional<TrialRecord> wait() = 0;
  // No more trials: what was kept up between them is ended.
  virtual void finish() {}
};

}  // namespace dvfs_plan
