// Putting saved settings back. Used by the run at its end, by the guardian after a kill, and by
// `dvfs-plan restore` after a power cut.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/settings/saved_setting.hpp"

namespace dvfs_plan {

struct RestoreOutcome {
  int restored = 0;   // written and read back
  int unchanged = 0;  // were as saved already
  struct Failure {
    SavedSetting setting;
    std::string found;    // what it says now, or why it says nothing
    std::string problem;  // the failed write, if it was one
  };
  std::vector<Failure> failures;
  std::vector<std::string> notes;  // "scaling_max_freq reads 2.2 GHz because the firmware limits it"

  bool complete() const { return failures.empty(); }
};

// All that this run was about to write or read back, by path: tells our settings from those that others made
// meanwhile, and locks that were set from those that were not. nullptr where nobody remembers (a journal
// after a power cut): then everything is put back.
using AppliedByUs = std::map<std::string, std::set<std::string>>;

// Each setting by itself: one that fails keeps no other from being put back. What fails is tried again
// after the rest, since an attribute may depend on another (a limit on its pair, a preference on the
// governor). Attribute files come first: a board that does not answer must not keep the CPUs waiting.
RestoreOutcome restore_settings(const std::vector<SavedSetting>& settings, const Sysfs& sysfs,
                                const AppliedByUs* applied = nullptr);

// The shell commands that would put the failed ones back: for the person who reads exit code 4.
std::vector<std::string> restore_commands(const RestoreOutcome& outcome);

}  // namespace dvfs_plan
