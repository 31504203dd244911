#include "orchestrator/strategies/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  ids_.insert(id);
}

void History::begin(const PlannedTrial& trial, const std::string& node) {
  in_flight_.push_back({trial, node});
  remember(trial);
}

void History::take_back(const std::string& key) {
  for (FinishedTrial& trial : trials_) {
    if (trial.key == key) trial.counts = false;
  }
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

int within_budget(int left, const BudgetSpec& budget, const History& history) {
  if (budget.trials) left = std::min(left, std::max(0, *budget.trials - history.begun_workload_trials()));
  if (!budget.time || history.workload_trials() == 0 || history.spent().value() <= 0) return left;
  const double each = history.spent().value() / history.workload_trials();
  const double room = std::max(0.0, budget.time->value() - history.committed().value());
  return room / each < left ? static_cast<int>(std::ceil(room / each)) : left;
}

std::optional<PlannedTrial> rerun_of(const PlannedTrial& trial, const History& history, const Plan& plan) {
  if (std::any_of(history.in_flight().begin(), history.in_flight().end(),
                  [&](const PlannedTrial& one) { return same_but_for_attempt(one, trial); }))
    return std::nullopt;
  int attempts = 0, spent = 0;
  bool mends = false;
  for (const FinishedTrial& one : history.trials()) {
    if (!same_but_for_attempt(one, trial)) continue;
    ++attempts;
    if (!one.given_up) ++spent;
    mends = one.may_pass;
  }
  if (!mends || spent > plan.experiment.conditions.reruns) return std::nullopt;
  PlannedTrial again = trial;
  again.attempt = attempts + 1;
  again.key = trial_key(plan.points[static_cast<std::size_t>(trial.point)], again);
  return again;
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
