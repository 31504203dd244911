// What a run says while it runs, on stderr: one line that moves on a terminal, a line a trial in a log.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "experiments/plan/plan.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class Progress {
 public:
  Progress(const Clock& clock, bool terminal, bool quiet)
      : clock_(clock), terminal_(terminal), quiet_(quiet) {}
  ~Progress() { clear(); }

  void begins(const PlannedTrial& trial, int finished, int remaining);
  // How long `remaining` trials will take, going by those of this session; nullopt: none is finished yet.
  std::optional<Seconds> expected(int remaining) const;
  void finished(const TrialRecord& trial);
  void say(const std::string& line);  // a line of its own, between the moving ones

 private:
  void clear();
  const Clock& clock_;
  bool terminal_, quiet_;
  bool shown_ = false;
  Nanoseconds started_ = 0;
  std::set<std::string> said_;
  int workload_trials_here_ = 0;
};

}  // namespace dvfs_plan
