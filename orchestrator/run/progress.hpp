// What a run says while it runs, on stderr: one line that moves on a terminal, a line a trial in a log.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

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
  // How long `remaining` trials will take, going by the last 50 of this session (as Store::progress() does for `status`), warm-ups and
  // idle windows included; nullopt: none is finished yet.
  std::optional<Seconds> expected(int remaining) const;
  // What would be answered by now, in a few words; empty: nothing yet.
  void best(const std::string& text) { best_ = text; }
  void finished(const TrialRecord& trial);
  void say(const std::string& line);     // a line of its own, between the moving ones
  void insist(const std::string& line);  // with --quiet too

 private:
  void clear();
  void warn(const std::string& kind, const std::string& key, const std::string& before,
            const std::string& message);
  std::string moving_line(const PlannedTrial& trial, int finished, int remaining) const;

  const Clock& clock_;
  bool terminal_, quiet_;
  bool shown_ = false;
  Nanoseconds started_ = 0;
  std::set<std::string> said_;
  std::deque<std::pair<double, bool>> last_;  // s, and whether it was a workload's: of the last trials
  struct Told {
    int times = 0;
  };
  std::map<std::string, Told> told_;  // warnings that say the same of one workload, numbers apart
  int unsaid_ = 0;                    // warnings that are only counted
  std::string best_;
};

}  // namespace dvfs_plan
