// What runs of this user's left on this machine in other state folders than his present one: under another host name, another $HOME or
// $XDG_STATE_HOME. Each run signs its folder, so that later ones find it and know of which machine it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/guard/message.hpp"

namespace dvfs_plan {

// Before anything is set, for users' own state folders: by what this machine is known whatever it is called (file `machine`: hashes of the
// addresses that its network cards were made with), and in the home that the user database names, where the folder lies elsewhere (file
// `elsewhere`). What cannot be written is not.
void sign_state_folder();
// The same of one that was named (--state-folder): in the home alone.
void note_state_folder(const std::string& path);

// A line each, of what below /sys/class/net is a device with an address of its own.
std::string machine_marks(const Sysfs& machine);
// Whether one of them is in both; nullopt: one of both has none.
std::optional<bool> share_a_mark(const std::string& signature, const std::string& own);

// Journals that nobody holds, in those folders.
struct LeftElsewhere {
  // Folders of those that a run on this machine left: of this boot; or of its host name and id; or, where it had another name, with a network
  // card of this one. Those of other nodes that share the home are of their own boots, names and cards, and are not here.
  std::vector<std::string> ours;
  // Of runs that a restart of a machine of this id cut off, which had another name then and no network card that could be told again. Nodes that
  // boot one image may share an id: whether it was this one its owner must say.
  std::vector<GuardNote> unknown;
};
LeftElsewhere left_elsewhere(const std::string& named);  // by --state-folder; empty: none is

}  // namespace dvfs_plan
