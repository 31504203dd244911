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
};

// What a run is made of, handed in.
struct RunParts {
  const Plan& plan;
  Strategy& strategy;
  Executor& executor;
  Store& store;
  Interruption& interruption;
  Clock& clock;
};

enum class RunEnd { done, interrupted };

// Runs trials until done or interrupted. A trial cut short by an interruption is not stored: it is run
// again on resume. Throws Error if the store fails; the guard's owner puts the machine back.
RunEnd run_trials(RunParts& run, const RunEvents& events);

}  // namespace dvfs_plan
