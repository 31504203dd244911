// Stops a night in which one trial after another fails in the same way: a meter that is silent, a workload that may not
// be executed, a policy that has vanished. Hours of it would tell no more than the first few trials.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class Brake {
 public:
  // `after` so many in a row, and for what may be a meter that stalls, ten seconds of them; 0: never.
  explicit Brake(int after) : after_(after) {}

  // A trial is finished. Why the night is to stop now; nullopt: it goes on.
  std::optional<std::string> stops_behind(const TrialRecord& trial);
  // Those that failed: they are to be run again where the night goes on.
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  int after_;
  Verdict cause_ = Verdict::ok;
  Nanoseconds since_ = 0;  // the first of these began
  std::vector<std::string> keys_;
};

// The end of what a workload said, safe to print.
std::string last_lines(const std::string& text);

}  // namespace dvfs_plan
