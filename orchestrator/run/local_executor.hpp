// Runs trials on this machine, one at a time.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "orchestrator/run/executor.hpp"
#include "orchestrator/run/trial_runner.hpp"

namespace dvfs_plan {

class LocalExecutor : public Executor {
 public:
  explicit LocalExecutor(LocalMachine& machine) : machine_(machine), runner_(machine) {}

  bool has_room() const override { return !planned_; }
  void begin(const PlannedTrial& planned) override;
  std::optional<TrialRecord> wait() override;
  void finish() override { runner_.end_services(); }

 private:
  void count_resets(const TrialRecord& trial);
  void require_settings_that_stay() const;

  // How often in a row somebody set a setting to this value while a trial ran.
  struct Resets {
    std::string to;
    int times = 0;
    std::string last;  // what was said of the last one
  };
  LocalMachine& machine_;
  TrialRunner runner_;
  std::optional<PlannedTrial> planned_;
  std::map<std::string, Resets> resets_;  // by path of the setting
};

}  // namespace dvfs_plan
