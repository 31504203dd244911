// What all strategies share that choose each trial when those before it are known: blocks with a reference
// and idle windows, reruns, settings that cannot be run, what a budget leaves. Each adds which setting is
// next, and when to stop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "orchestrator/strategies/strategy.hpp"
#include "results/surface/plan_surface.hpp"

namespace dvfs_plan {

inline constexpr int trials_of_search_block = 12;  // of each scenario, its reference included

class OneByOne : public Strategy {
 public:
  explicit OneByOne(const StrategyRequest& request);
  const PlannedTrial* next(const History& history) override;
  int remaining(const History& history) override;
  bool is_over(const History& history) override;

 protected:
  // A point's runs, whether they count or not; those that are under way among them.
  struct PointPast {
    int runs = 0, counted = 0, under_way = 0;
    std::set<int> blocks;
  };
  // What a history says of one scenario.
  struct ScenarioPast {
    int trials = 0;    // of workloads, those that are under way among them
    int counted = 0;   // that tell of the surface
    int settings = 0;  // of these, different ones
    FailuresInARow failures;
    std::map<int, int> in_block;  // trials of each block, reruns apart
  };

  // Whether each choice rests on the outcome of all before it, so that there is nothing to choose while one is under way.
  virtual bool waits_for_all() const { return true; }
  // The next point of scenario `s`, of its `candidates`, which are not empty. The history was looked at.
  virtual int choose(std::size_t s, const std::vector<int>& candidates, const History& history) = 0;
  // Whether a scenario that has candidates and trials left needs no more of them.
  virtual bool is_enough(std::size_t s, const std::vector<int>& candidates, const History& history) = 0;

  // All that can be run: neither do they fail by themselves, nor were they disturbed again and again.
  std::vector<int> candidates_of(std::size_t s) const;
  std::vector<int> not_run(std::vector<int> candidates) const;
  std::size_t scenario_of(int point) const {
    return static_cast<std::size_t>(surface_.scenario[static_cast<std::size_t>(point)]);
  }
  const PointPast& past_of(int point) const { return points_[static_cast<std::size_t>(point)]; }
  int most_trials(std::size_t s) const;
  Objective minimise() const { return plan_.experiment.objective.minimise; }
  // A constraint compares with the reference, so that nothing can be named without it.
  bool needs_reference() const { return needs_reference_; }

  const Plan& plan_;
  std::string node_;  // that the trials are for; empty: there is one
  SurfaceQuestion surface_;
  std::vector<std::vector<int>> scenarios_;  // points of each
  std::vector<ScenarioPast> past_;           // of the history last looked at

 private:
  // `for_others`: as a machine would that has run nothing itself.
  void look_at(const History& history, bool for_others = false);
  std::optional<PlannedTrial> propose(const History& history);
  std::optional<PlannedTrial> rerun(const History& history, int position) const;
  PlannedTrial with_idle(int point, int block, int position, TrialRole role, const History& history) const;
  bool is_finished(std::size_t s, const History& history);
  bool owes_reference(std::size_t s, const std::vector<int>& candidates) const;
  std::optional<int> reference_due(std::size_t s, const std::vector<int>& candidates, int block) const;
  bool affordable(const History& history) const;

  std::optional<int> only_block_;
  ScheduleOptions options_;
  bool needs_reference_ = false;
  std::vector<PointPast> points_;
  std::set<int> hopeless_;
  PlannedTrial proposed_;
};

}  // namespace dvfs_plan
