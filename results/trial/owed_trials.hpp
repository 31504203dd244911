#pragma once

#include <algorithm>
#include <map>
#include <string>

namespace dvfs_plan {

// Trials behind which a night stopped by itself ("given up"): they are owed until they have been run again. Looked at in the order in
// which they were run.
class OwedTrials {
 public:
  // `key`: of the trial; those of reruns are the first attempt's with " rerun N" behind it. `attempt`: from 1.
  void look_at(const std::string& key, int attempt, bool given_up) {
    if (given_up || attempt > 1) owed_[key.substr(0, key.find(" rerun "))] = given_up;
  }
  [[nodiscard]] int count() const {
    return static_cast<int>(
        std::count_if(owed_.begin(), owed_.end(), [](const auto& one) { return one.second; }));
  }

 private:
  std::map<std::string, bool> owed_;  // by the first attempt's key
};

}  // namespace dvfs_plan
