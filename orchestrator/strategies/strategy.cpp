#include "orchestrator/strategies/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace dvfs_plan {

History::History(std::vector<FinishedTrial> trials) {
  for (const FinishedTrial& trial : trials) add(trial);
}

namespace {

bool is_of_workload(const TrialId& trial) {
  return !is_idle(trial.role) && trial.role != TrialRole::warm_up;
}

}  // namespace

void History::remember(const TrialId& id) {
  if (ids_.insert(id).second && is_of_workload(id) && id.attempt == 1) ++begun_of_block_[id.block];
}

int History::begun_of_block(int block) const {
  const auto found = begun_of_block_.find(block);
  return found == begun_of_block_.end() ? 0 : found->second;
}

void History::begin(const PlannedTrial& trial, const std::string& node) {
  in_flight_.push_back({trial, node});
  remember(trial);
}

void History::add(const FinishedTrial& trial) {
  std::erase_if(in_flight_, [&](const TrialId& one) { return one == trial; });
  trials_.push_back(trial);
  remember(trial);
  spent_ = spent_ + Seconds{trial.slot_s};
  if (is_of_workload(trial)) ++workload_trials_;
}

int History::begun_workload_trials() const {
  return workload_trials_ +
         static_cast<int>(std::count_if(in_flight_.begin(), in_flight_.end(), is_of_workload));
}

Seconds History::committed() const {
  const int more = begun_workload_trials() - workload_trials_;
  if (more == 0 || workload_trials_ == 0) return spent_;
  return spent_ + spent_ * (static_cast<double>(more) / workload_trials_);
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
