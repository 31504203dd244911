// What came of putting saved settings back, for people and for messages between the guardian and its run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/settings/saved_setting.hpp"

namespace dvfs_plan {

struct RestoreOutcome {
  int restored = 0;   // written and read back
  int unchanged = 0;  // were as saved already
  int left = 0;       // somebody else has set them since: left as they are, which a note says
  struct Failure {
    SavedSetting setting;
    std::string found;            // what it says now, or why it says nothing
    std::string problem;          // the failed write, if it was one
    bool may_change_yet = false;  // what failed may do its work later; among ourselves, not in messages
  };
  std::vector<Failure> failures;
  std::vector<std::string> notes;  // "scaling_max_freq reads 2.2 GHz because the firmware limits it"

  bool complete() const { return failures.empty(); }
};

// "set.cap: wanted '140', found '120' (why the write failed)"
std::string failure_text(const RestoreOutcome::Failure& failure);
// Throws the Error of exit code 4, with the commands, unless all was put back.
void require_restored(const RestoreOutcome& outcome);

// "2 settings put back, 0 were as before, 1 left as somebody else has set it"
std::string counts_text(const RestoreOutcome& outcome);
// Of what a run left that died, as whoever begins next says it: a line each; none: there was nothing.
std::vector<std::string> earlier_run_lines(const std::optional<RestoreOutcome>& outcome);

// An outcome as the fields of a message, and back; nullopt: they are none.
std::vector<std::string> fields_of(const RestoreOutcome& outcome);
std::optional<RestoreOutcome> outcome_of(std::span<const std::string> fields);

// The shell commands that would put the failed ones back: for the person who reads exit code 4.
std::vector<std::string> restore_commands(const RestoreOutcome& outcome, const Sysfs& sysfs = Sysfs());

}  // namespace dvfs_plan
