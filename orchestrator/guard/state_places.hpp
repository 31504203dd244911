// Which state folders there are (state_folder.hpp), and of which machine each is.
//
// /var/lib/dvfs-plan for root, $XDG_STATE_HOME/dvfs-plan/HOST.ID for others, since the nodes of a cluster may share a home and
// each has clocks of its own (ID is made of /etc/machine-id: of machines with one name each has its own; nodes that boot one image have names
// of their own).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dvfs_plan {

// The folder of the current user.
std::string default_state_folder();
// Others of his, by another host name, another $HOME or $XDG_STATE_HOME (as far as they are noted in the home that the user database names, or
// copies below /run tell), or of a --state-folder: in each of them a run may have left something. `named`: by the present run's
// --state-folder; then the usual one is among them.
std::vector<std::string> former_state_folders(const std::string& named);
// Whose homes hold a journal of this machine, in words with the command that puts it back: while nobody has the machine their sweeps left
// something. Told to root about the machine itself alone. Not found is what lies
// on a network: to look there would mount each home, and wait for a server that does not answer.
bool is_on_a_network(const std::string& path,
                     const std::string& mountinfo);  // as /proc/self/mountinfo has it
std::vector<std::string> left_by_users(const std::string& state_folder, const std::string& sysfs_root);
// Of a folder of former_state_folders(): it has this machine's name and id, or its name without an id, as versions up to 1.2.16 had it.
bool has_name_of_this_machine(const std::string& path);
// Makes a state folder known that does not lie in the home which the user database names: former_state_folders() and root's left_by_users() look
// there. Nothing is done for others.
void note_elsewhere(const std::string& path);
std::string short_hash(const std::string& text);  // 8 digits; FNV-1a
// The other host name, where the folder is of a machine of this id; nullopt: it is not, or this one has no id.
std::optional<std::string> former_name_of_this_machine(const std::string& path);
// What a command that is printed needs behind it to mean this folder: nothing where that is the user's own, or where none is named.
std::string state_folder_option(const std::string& path);
// Root's, and the machine's guardian's.
inline constexpr const char* machine_state_folder = "/var/lib/dvfs-plan";
// Whether it is there and this user may not look into it: what a sweep of root's, or by the machine's guardian, left is not known to him.
bool machine_state_is_hidden();

// Where copies of all state folders of this user's are, until the next boot; empty: nowhere.
std::string folder_of_copies();

}  // namespace dvfs_plan
