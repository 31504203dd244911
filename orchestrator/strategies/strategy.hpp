// A strategy proposes the next trial from what is finished. The run loop asks until it has no more. It must
// go by the history alone: the same file and the same history give the same proposals, so that a resumed
// night goes on as it would have.
#pragma once

#include <functional>
#include <map>
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

// What is finished, and what is under way.
class History {
 public:
  explicit History(std::vector<FinishedTrial> trials = {});
  // It is under way: not to be proposed again, and paid for by a budget, though nothing is known of it yet.
  void begin(const PlannedTrial& trial, const std::string& node = {});
  // It is finished, and under way no more.
  void add(const FinishedTrial& trial);
  // What counted does not after all.
  void take_back(const std::string& key);
  // Finished or under way.
  bool contains(const TrialId& id) const { return ids_.contains(id); }
  const std::vector<FinishedTrial>& trials() const { return trials_; }
  struct InFlight : PlannedTrial {
    std::string node = {};  // that runs it, where there are several
  };
  const std::vector<InFlight>& in_flight() const { return in_flight_; }
  // Of workloads, warm-ups apart; finished.
  int workload_trials() const { return workload_trials_; }
  // All, with those that are under way: what a budget of trials counts.
  int begun_workload_trials() const;
  // What the night has paid so far, warm-ups and idle windows included.
  Seconds spent() const { return spent_; }
  // The same with what is under way at the average of the finished ones: what a budget of time counts.
  Seconds committed() const;

 private:
  std::vector<FinishedTrial> trials_;
  std::vector<InFlight> in_flight_;
  std::set<TrialId> ids_;
  void remember(const TrialId& id);
  int workload_trials_ = 0;
  Seconds spent_{0};
};

// No more of `left` trials than a budget has room for; of time, at the pace of those that are finished.
int within_budget(int left, const BudgetSpec& budget, const History& history);

class Strategy {
 public:
  virtual ~Strategy() = default;
  // The trial to run next; nullptr when done or, with trials under way, until one of them is finished. It
  // stays owned by the strategy.
  virtual const PlannedTrial* next(const History& history) = 0;
  // How many trials of workloads are left, as far as it knows: the most, where what they find decides.
  virtual int remaining(const History& history) = 0;
  // Whether nothing is left to do in any block, not only in those of StrategyRequest::only_block.
  virtual bool is_over(const History&) { return true; }
  // What the budget buys and how it will be spent; empty if there is nothing to say.
  virtual std::string announcement(const History& history) = 0;
  // Whether that is all it will have to say; false: ask again after a further trial.
  virtual bool announces_all(const History&) const { return true; }
};

// The trial again, where what spoilt its last attempt may pass and the experiment has reruns left for it; nullopt: not now.
std::optional<PlannedTrial> rerun_of(const PlannedTrial& trial, const History& history, const Plan& plan);

// The points that are worth confirming by all blocks before this one: of each scenario the best and those
// that come closest to it, as indices into Plan::points. None where there is nothing to confirm.
using Finalists = std::function<std::vector<int>(int before_block)>;

// What a strategy is made from.
struct StrategyRequest {
  const Plan& plan;                    // must outlive the strategy
  std::vector<PriorShape> prior = {};  // what earlier results say of the points
  Finalists finalists = {};
  // What this form of the experiment adds is in blocks from this one on: those before are of forms that its file had before.
  int first_block_of_form = 1;
  // Of a part of a result: this one block, with its reruns, and no other.
  std::optional<int> only_block = {};
  // The machine that the trials are for, where others take part; empty: there is one.
  std::string node = {};
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
