// What a run has set, beside its journal of former values: where the run and its guardian are killed together, whoever puts back
// what they left tells by it the run's settings from those that somebody else made since, which are not overwritten.
//
// It is there before a value is set for the first time, and outlives any kill; after a reboot it says nothing, since that sets
// what it likes. What a setting reads as, once it was set, is known only then (a limit that is
// rounded, a program's own words), and a program that is killed half way leaves anything: until it was looked at the setting is
// unsettled, and whatever it reads may be the run's.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/settings/setting_writer.hpp"

namespace dvfs_plan {

struct AppliedRecord {
  std::string run;                  // whose; of another run's journal it says nothing
  AppliedByUs applied;              // by path, what was set there and what it was read as
  std::set<std::string> unsettled;  // paths
  AppliedByUs
      overwritten;  // what was read where a putting back was begun of what is not known to be the run's: to be told, though it was killed
  std::set<std::string> unshown = {};  // paths whose 'read' has not shown what was set there last
  bool tried =
      false;  // a putting back was: what is on record is what it could not put back, with what that read then
  bool operator==(const AppliedRecord&) const = default;
};

// Throws Error.
void write_applied_record(StateFolder& folder, const AppliedRecord& record);
// nullopt: there is none of this run, or it cannot be understood; then nothing is known of what was set.
std::optional<AppliedRecord> read_applied_record(const StateFolder& folder, const std::string& run);
void remove_applied_record(StateFolder& folder);

}  // namespace dvfs_plan
