#include "orchestrator/strategies/recheck_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

RecheckBlocks::RecheckBlocks(const Plan& plan, std::vector<int> points, int first_block, int first_position,
                             int blocks, std::optional<Seconds> time)
    : plan_(plan), time_(time) {
  const ScheduleOptions options = schedule_options(plan.experiment);
  // Where the experiment has no references in its blocks, once in each all the same: all is judged against it.
  std::set<std::string> scenarios;
  for (const int point : points) scenarios.insert(plan.points[static_cast<std::size_t>(point)].scenario);
  for (std::size_t i = 0; !options.references && i < plan.points.size(); ++i) {
    const bool chosen = std::find(points.begin(), points.end(), static_cast<int>(i)) != points.end();
    if (plan.points[i].reference && scenarios.contains(plan.points[i].scenario) && !chosen)
      points.push_back(static_cast<int>(i));
  }
  for (int k = 0; k < blocks; ++k) {
    Block& block = blocks_.emplace_back();
    block.trials = schedule_block(plan.points, points, first_block + k, first_position, options);
    first_position += static_cast<int>(block.trials.size());
  }
}

Seconds RecheckBlocks::length_of_a_block(const std::function<double(int point)>& trial, double window) const {
  double length = 0;
  if (blocks_.empty()) return Seconds{0};
  const auto& trials = blocks_.front().trials;
  std::optional<std::string> warm;  // the services that are up
  for (const PlannedTrial& one : trials) {
    length += is_idle(one.role) ? window : trial(one.point);
    if (is_idle(one.role)) continue;
    const std::string& services = plan_.points[static_cast<std::size_t>(one.point)].services;
    if (warm != services) length += plan_.experiment.conditions.warm_up * trial(one.point);
    warm = services;
  }
  return Seconds{length};
}

const PlannedTrial* RecheckBlocks::next(const History& history) {
  if (!spent_before_) spent_before_ = history.spent();
  for (Block& block : blocks_) {
    if (!block.begun && !affordable(history)) return nullptr;
    for (const PlannedTrial& trial : block.trials) {
      if (history.contains(trial)) continue;
      block.begun = true;
      return &trial;
    }
    for (const PlannedTrial& trial : block.trials) {
      if (is_idle(trial.role)) continue;
      again_ = rerun_of(trial, history, plan_);
      if (again_) return &*again_;
    }
  }
  return nullptr;
}

bool RecheckBlocks::affordable(const History& history) const {
  const auto begun =
      std::count_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.begun; });
  if (!time_ || begun == 0) return true;
  const double spent = (history.spent() - *spent_before_).value();
  return spent + spent / static_cast<double>(begun) <= time_->value();
}

int RecheckBlocks::remaining(const History& history) {
  int left = 0;
  for (const Block& block : blocks_) {
    for (const PlannedTrial& trial : block.trials)
      left += is_idle(trial.role) || history.contains(trial) ? 0 : 1;
  }
  return left;
}

std::string RecheckBlocks::announcement(const History&) {
  if (blocks_.empty()) return {};
  const auto of_workloads = std::count_if(blocks_.front().trials.begin(), blocks_.front().trials.end(),
                                          [](const PlannedTrial& trial) { return !is_idle(trial.role); });
  return fmt::format("recheck: {} of {}{}", counted(static_cast<int>(blocks_.size()), "block"),
                     counted(static_cast<int>(of_workloads), "trial"),
                     time_ ? fmt::format(", as far as {} go", format_duration(*time_)) : "");
}

}  // namespace dvfs_plan
