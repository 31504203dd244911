// The journal: what every setting was before the sweep, on disk before the first is changed. It is there
// exactly while the machine may differ from what it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/settings/saved_setting.hpp"

namespace dvfs_plan {

struct Journal {
  std::string experiment;  // the file
  std::string saved_at;    // UTC
  std::string boot_id;
  std::string sysfs_root;  // "" for the machine itself
  int pid = 0;
  std::string run;                     // marks the workload's processes: base/process_group.hpp
  std::vector<SavedSetting> settings;  // in the order to put them back
};

void write_journal(StateFolder& folder, const Journal& journal);
// nullopt if there is none; throws Error if there is one that cannot be understood.
std::optional<Journal> read_journal(const StateFolder& folder);
void remove_journal(StateFolder& folder);

}  // namespace dvfs_plan
