// A search that tasks on several machines carry on together: each asks its own strategy, which is shown what all of them
// finished and what the others are at. What they finished it reads where the collector does, into a copy of its own on the
// node's disk; what they are at, in the log of claims.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "orchestrator/cluster/claims.hpp"
#include "orchestrator/cluster/collector.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

class SharedSearch : public Strategy {
 public:
  // Why it had no next trial, for whoever outlives it.
  struct Outcome {
    bool stopped = false;  // somebody wanted it to stop
    bool over = false;     // no more is wanted of any block
    bool barren = false;   // trials were run, and none of them counts
  };
  struct Task {
    SharedFolder folder;
    std::string copy;  // path of the private copy; it holds the plan and is removed at the end
    std::string node;
    int block = 1;
    const std::string& origin;  // of the block's run; empty: it has not begun, and claims nothing
    Outcome& outcome;
    Clock& clock;
    std::function<bool(Seconds)> pause;            // false: somebody wants us to stop
    std::function<void(const std::string&)> warn;  // of what is told once
  };
  // `plan` must outlive it.
  SharedSearch(const Plan& plan, std::unique_ptr<Strategy> inner, Task task);
  ~SharedSearch() override;

  const PlannedTrial* next(const History& history) override;
  int remaining(const History& history) override;
  bool is_over(const History& history) override { return inner_->is_over(all(history)); }
  std::string announcement(const History& history) override { return inner_->announcement(history); }
  bool announces_all(const History& history) const override { return inner_->announces_all(history); }

 private:
  History all(const History& own);
  bool pause(Seconds time);
  // Of the other machines' runs.
  struct Known {
    std::set<std::pair<std::string, std::string>> finished = {};  // origin and key
    std::set<std::string> ended = {};                             // origins
    Seconds longest{0};                                           // that a trial may take
  };
  bool is_under_way(const std::vector<Claim>& claims, std::size_t at, const Known& of_others);
  Seconds longest_trial(const History& known) const;

  const Plan& plan_;
  std::unique_ptr<Strategy> inner_;
  Task task_;
  Store others_;
  Collector collector_;
  ClaimLog claims_;
  std::map<std::size_t, Nanoseconds> seen_;  // by place in the log: when this machine first saw it unfinished
  std::optional<History> last_;              // what was known when it was asked last
  bool told_ = false;
  int taken_ = 0;  // claims in a row of which another was first and cannot be read
};

}  // namespace dvfs_plan
