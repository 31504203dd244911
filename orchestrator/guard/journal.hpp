// The journal: what every setting was before the sweep, on disk before the first is changed. It is there
// exactly while the machine may differ from what it was.
//
// Lines of "name<TAB>value", written and read by the guardian alone; bytes that would break a line stand as
// \xNN, so that the part with rights needs no parser of anything richer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/settings/saved_setting.hpp"

namespace dvfs_plan {

struct Journal {
  std::string experiment;  // the file
  std::string saved_at;    // UTC
  std::string boot_id;
  std::string sysfs_root;  // "" for the machine itself
  int pid = 0;
  unsigned user = 0;                   // whose run it is
  std::string run;                     // marks the workload's processes: base/process_group.hpp
  std::vector<SavedSetting> settings;  // in the order to put them back
};

// Of this boot of the machine (random(4)).
std::string boot_id(const Sysfs& sysfs);

void write_journal(StateFolder& folder, const Journal& journal);
// nullopt if there is none; throws Error if there is one that cannot be understood.
std::optional<Journal> read_journal(const StateFolder& folder);
void remove_journal(StateFolder& folder);
// Gives it up: it is kept under another name.
void set_journal_aside(StateFolder& folder);

}  // namespace dvfs_plan
