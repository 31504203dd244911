// A strategy proposes the next trial from what is finished. The run loop asks until it has no more. It must
// go by the history alone: the same file and the same history give the same proposals, so that a resumed
// night goes on as it would have.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/registered.hpp"
#include "experiments/plan/plan.hpp"
#include "results/trial/prior_shape.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class History {
 public:
  explicit History(std::vector<FinishedTrial> trials = {});
  void add(const FinishedTrial& trial);
  bool contains(const TrialId& id) const { return ids_.contains(id); }
  const std::vector<FinishedTrial>& trials() const { return trials_; }
  // Of workloads, warm-ups apart.
  int workload_trials() const { return workload_trials_; }
  // What the night has paid so far, warm-ups and idle windows included.
  Seconds spent() const { return spent_; }

 private:
  std::vector<FinishedTrial> trials_;
  std::set<TrialId> ids_;
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

// What a strategy is made from.
struct StrategyRequest {
  const Plan& plan;                    // must outlive the strategy
  std::vector<PriorShape> prior = {};  // what earlier results say of the points
  Finalists finalists = {};
};

// A strategy, as its file declares it.
struct StrategyKind {
  std::string_view name;  // as `search` in an experiment file calls it
  int place = 0;
  std::string_view what;  // it does: for people
  bool by_model = false;  // stops by what a model says of the settings, and learns from earlier results
  std::unique_ptr<Strategy> (*make)(StrategyRequest) = nullptr;
};

// The one that the experiment asks for.
std::unique_ptr<Strategy> make_strategy(StrategyRequest request);

}  // namespace dvfs_plan
