// The journal: what every setting was before the sweep, on disk before the first is changed. It is there
// exactly while the machine may differ from what it was.
//
// Lines of state_lines.hpp. What was set since is beside it (applied_record.hpp), and goes with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/settings/saved_setting.hpp"

namespace dvfs_plan {

// What is said first to who only looks where a sweep has the machine, or left a journal.
inline constexpr const char* sweep_runs = "a sweep has this machine now";
inline constexpr const char* sweep_was_cut_off = "an earlier sweep was cut off";

struct Journal {
  std::string experiment;  // the file
  std::string saved_at;    // UTC
  std::string boot_id;
  std::string sysfs_root;  // "" for the machine itself
  int pid = 0;
  unsigned user = 0;                   // whose run it is
  std::string run;                     // marks the workload's processes: base/process_group.hpp
  std::vector<SavedSetting> settings;  // in the order to put them back
  std::int64_t started = 0;            // of process `pid`: see SessionRecord
};

// What is known of a session while it lasts, beside former values: what its workload is known by, and how many
// settings it may have changed. Where it is found without a journal, somebody has deleted that.
struct SessionRecord {
  std::string experiment, since, boot_id;
  int pid = 0;
  unsigned user = 0;
  std::string run, region_folder, control_group;  // of the workload
  std::size_t settings = 0;
  // The tick at which process `pid` was started (proc_pid_stat(5)): another may have its number since, or have it here
  // where that was of a container's own numbers. 0: not known.
  std::int64_t started = 0;
};

void write_session_record(StateFolder& folder, const SessionRecord& record);
// nullopt if there is none, or it cannot be understood.
std::optional<SessionRecord> read_session_record(const StateFolder& folder);
// There is one, and it cannot be understood, nor its copy: what its run had set is not known.
bool session_record_is_damaged(const StateFolder& folder);
void remove_session_record(StateFolder& folder);

// Of this boot of the machine (random(4)).
std::string boot_id(const Sysfs& sysfs);

void write_journal(StateFolder& folder, const Journal& journal);
// The copy, where the journal is gone or cannot be understood. nullopt if there is none; throws Error if there is one
// that cannot be understood, and no better copy.
std::optional<Journal> read_journal(const StateFolder& folder);
void remove_journal(StateFolder& folder);
// Gives it up: it is kept under another name, which is none that was given up before. Returns that.
std::string set_journal_aside(StateFolder& folder);

}  // namespace dvfs_plan
