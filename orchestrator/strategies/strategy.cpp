#include "orchestrator/strategies/strategy.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace dvfs_plan {

History::History(std::vector<FinishedTrial> trials) {
  for (const FinishedTrial& trial : trials) add(trial);
}

void History::add(const FinishedTrial& trial) {
  trials_.push_back(trial);
  ids_.insert(trial);
  spent_ = spent_ + Seconds{trial.slot_s};
  if (!is_idle(trial.role) && trial.role != TrialRole::warm_up) ++workload_trials_;
}

std::unique_ptr<Strategy> make_strategy(StrategyRequest request) {
  const std::string& method = request.plan.experiment.search.method;
  const StrategyKind* kind = Registered<StrategyKind>::find(method);
  if (kind == nullptr)
    throw Error(ExitCode::bad_experiment, fmt::format("there is no search '{}'", method),
                "this is a fault of dvfs-plan: the parser knows more searches than there are");
  return kind->make(std::move(request));
}

}  // namespace dvfs_plan
