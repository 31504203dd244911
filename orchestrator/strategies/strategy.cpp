#include "orchestrator/strategies/strategy.hpp"

namespace dvfs_plan {

History::History(std::vector<FinishedTrial> trials) {
  for (const FinishedTrial& trial : trials) add(trial);
}

void History::add(const FinishedTrial& trial) {
  trials_.push_back(trial);
  keys_.insert(trial.key);
  spent_ = spent_ + Seconds{trial.slot_s};
  if (!is_idle(trial.role) && trial.role != TrialRole::warm_up) ++workload_trials_;
}

std::unique_ptr<Strategy> make_strategy(const Plan& plan, const SurfaceShapes& shapes, Finalists finalists) {
  return plan.experiment.search.method == SearchSpec::Method::adaptive
             ? adaptive_search(plan, shapes)
             : randomised_blocks(plan, std::move(finalists));
}

}  // namespace dvfs_plan
