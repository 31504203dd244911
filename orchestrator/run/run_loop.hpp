// The night: one trial after another until the strategy has no more, or somebody wants us to stop.
//
//   strategy ─► (warm-ups, once a block) ─► executor ─► store
#pragma once

#include <functional>
#include <string>

#include "base/interruption.hpp"
#include "orchestrator/run/executor.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// Told as things happen; the terminal's progress line listens.
struct RunEvents {
  std::function<void(const PlannedTrial&, int finished, int remaining)> begins;
  std::function<void(const TrialRecord&)> finished;
  std::function<void(const std::string&)> waits;            // the result file cannot be written just now
  std::function<void(const std::string&)> announces;        // what the budget buys
  std::function<void(const Store::Rescued&)> rescued = {};  // the result file was lost: where it goes on
  std::function<void()> block_ended = {};                   // and another one follows
  std::function<void(const std::string&)> gave_up = {};  // one trial after another failed: why it stops here
};

// What a run is made of, handed in.
struct RunParts {
  const Plan& plan;
  Strategy& strategy;
  Executor& executor;
  Store& store;
  Interruption& interruption;
  Clock& clock;
  int give_up_after = 0;  // ConditionsSpec::give_up_after; 0: somebody else sees to that
};

enum class RunEnd { done, interrupted, gave_up };

// Runs trials until done, given up or interrupted. A trial cut short by an interruption is not stored: it is run
// again on resume. Throws Error if the store fails; the guard's owner puts the machine back.
RunEnd run_trials(RunParts& run, const RunEvents& events);

}  // namespace dvfs_plan
