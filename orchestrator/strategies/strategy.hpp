// A strategy proposes the next trial from what is finished. The run loop asks until it has no more.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

class Strategy {
 public:
  virtual ~Strategy() = default;
  // The trial to run next, nullptr when done. `finished` are keys; the trial stays owned by the strategy.
  virtual const PlannedTrial* next(const std::set<std::string>& finished) = 0;
  // How many trials are left after `finished`, as far as it knows.
  virtual int remaining(const std::set<std::string>& finished) const = 0;
};

// Every point in every block, in the plan's (shuffled) order.
std::unique_ptr<Strategy> full_grid(const Plan& plan);

}  // namespace dvfs_plan
