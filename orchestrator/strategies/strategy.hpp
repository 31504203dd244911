// A strategy proposes the next trial from what is finished. The run loop asks until it has no more. It must
// go by the history alone: the same file and the same history give the same proposals, so that a resumed
// night goes on as it would have.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "results/store/trial_record.hpp"
#include "results/surface/optimum.hpp"

namespace dvfs_plan {

class History {
 public:
  explicit History(std::vector<FinishedTrial> trials = {});
  void add(const FinishedTrial& trial);
  bool contains(const std::string& key) const { return keys_.contains(key); }
  const std::vector<FinishedTrial>& trials() const { return trials_; }
  // Of workloads, warm-ups apart.
  int workload_trials() const { return workload_trials_; }
  // What the night has paid so far, warm-ups and idle windows included.
  Seconds spent() const { return spent_; }

 private:
  std::vector<FinishedTrial> trials_;
  std::set<std::string> keys_;
  int workload_trials_ = 0;
  Seconds spent_{0};
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // The trial to run next, nullptr when done. It stays owned by the strategy.
  virtual const PlannedTrial* next(const History& history) = 0;
  // How many trials of workloads are left, as far as it knows.
  virtual int remaining(const History& history) = 0;
  // What the budget buys and how it will be spent; empty if there is nothing to say.
  virtual std::string announcement(const History& history) = 0;
};

// The points that are worth confirming by all blocks before this one: of each scenario the best and those
// that come closest to it, as indices into Plan::points. None where there is nothing to confirm.
using Finalists = std::function<std::vector<int>(int before_block)>;

// Every point in `repeat.min` randomised complete blocks; then, where the experiment asks for an interval or
// has a budget, further blocks of the points whose intervals are widest; then `repeat.confirm` blocks of the
// finalists alone. Disturbed trials are run again at the end of their block.
std::unique_ptr<Strategy> randomised_blocks(const Plan& plan, Finalists finalists = {});

// Chooses each trial by what the trials before it say of the whole surface (results/surface), and stops once
// the setting it would name is close enough to the best, by `search` in the experiment. A block is some
// trials of each scenario, its reference first.
std::unique_ptr<Strategy> adaptive_search(const Plan& plan, const SurfaceShapes& shapes = {});

// The one that the experiment asks for.
std::unique_ptr<Strategy> make_strategy(const Plan& plan, const SurfaceShapes& shapes = {},
                                        Finalists finalists = {});

}  // namespace dvfs_plan
