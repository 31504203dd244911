// The best, its rivals and the reference of a finished result, again: randomised blocks of these few points, as many as asked for and
// as a time allows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "orchestrator/strategies/strategy.hpp"

namespace dvfs_plan {

class RecheckBlocks : public Strategy {
 public:
  // `points`: indices into the plan's points, references among them or not. Blocks are numbered from `first_block`, positions from
  // `first_position`: behind all that the result has. No block is begun that would not be over within `time`, going by those that were; of the
  // first one length_of_a_block() tells beforehand.
  RecheckBlocks(const Plan& plan, std::vector<int> points, int first_block, int first_position, int blocks,
                std::optional<Seconds> time);

  // By what a trial at each point takes, s, and an idle window; warm-ups included.
  Seconds length_of_a_block(const std::function<double(int point)>& trial, double window) const;

  const PlannedTrial* next(const History& history) override;
  int remaining(const History& history) override;
  std::string announcement(const History& history) override;

 private:
  struct Block {
    std::vector<PlannedTrial> trials;
    bool begun = false;
  };
  bool affordable(const History& history) const;

  const Plan& plan_;
  std::vector<Block> blocks_;
  std::optional<Seconds> time_;
  std::optional<Seconds> spent_before_;  // by the result's own trials
  std::optional<PlannedTrial> again_;    // a rerun that was handed out
};

}  // namespace dvfs_plan
