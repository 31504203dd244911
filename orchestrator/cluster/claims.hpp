// Who runs which trial of a search that several machines share: a log in the shared folder, to which each machine adds what it
// is about to run. Only one can add the next entry: who was second reads what was added and thinks again, so that no setting is
// run twice by accident. Nobody need be logged in, and no machine waits for another.
#pragma once

#include <string>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "orchestrator/cluster/shared_folder.hpp"

namespace dvfs_plan {

struct Claim {
  std::string origin;  // of the block's run, as in BlockRun
  std::string node;
  TrialId trial;
  std::string key;  // of the trial
};

class ClaimLog {
 public:
  explicit ClaimLog(SharedFolder folder) : folder_(std::move(folder)) {}
  // All that can be read now, in order. What is not as it was written says nothing.
  const std::vector<Claim>& read();
  // As the next one after all that was read.
  SharedFolder::Claimed add(const Claim& claim);
  // The next one is there and cannot be read: others go on behind it.
  void pass_over() { ++next_; }

 private:
  SharedFolder folder_;
  std::vector<Claim> claims_;
  int next_ = 1;
};

}  // namespace dvfs_plan
