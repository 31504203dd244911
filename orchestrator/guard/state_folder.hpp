// Where the guardian keeps what must survive it: the lock, its queue and the journal of former settings.
//
// /var/lib/dvfs-plan for root, $XDG_STATE_HOME/dvfs-plan/HOST.ID for others, since the nodes of a cluster may share a home and
// each has clocks of its own (ID is made of /etc/machine-id: of machines with one name each has its own; nodes that boot one image have names
// of their own); ours alone (0700), never /tmp. Files
// are opened relative to the folder's descriptor and symbolic links are not followed.
//
// Somebody who tidies up may delete what lies there in the middle of a night. So what is written durably can be
// kept twice: the copy lies below /run (of users: $XDG_RUNTIME_DIR), until the next boot.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

class StateFolder {
 public:
  // Makes the folder if it is not there; throws Error if it is not ours alone.
  explicit StateFolder(const std::string& path);

  const std::string& path() const { return path_; }

  // One sweep a machine at a time: the lock, or nothing if another process holds it. The lock lives as long
  // as any copy of the descriptor: the guardian's keeps a new run out until the machine is put back.
  UniqueFd try_lock();
  // The lock of a file that is there, or nothing if somebody holds it or it is not there; and of a new one,
  // or nothing if the name is taken.
  UniqueFd try_lock_of(const std::string& name) const;
  UniqueFd make_lock(const std::string& name);
  std::vector<std::string> list() const;
  // What the holder wrote there.
  std::string lock_holder() const;
  void describe_holder(const UniqueFd& lock, const std::string& text);

  // From now on what is written durably is kept twice. Where there is no second place it is not.
  void keep_copies();

  // Whole or not at all: written beside, fsync, renamed, folder fsync. A copy that cannot be written is no error.
  void write_durably(const std::string& name, const std::string& text) { write(name, text, true); }
  // The same without fsync: it outlives any kill, and not each power cut.
  void write_whole(const std::string& name, const std::string& text) { write(name, text, false); }
  // The copy, where the file is not there.
  std::optional<std::string> read(const std::string& name) const;
  // nullopt: there is none, or it cannot be read.
  std::optional<std::string> read_copy(const std::string& name) const;
  void remove(const std::string& name);

 private:
  std::optional<std::string> read_own(const std::string& name) const;
  void write(const std::string& name, const std::string& text, bool durably);

  std::string path_;
  UniqueFd folder_;
  std::unique_ptr<StateFolder> copies_;
};

// The folder of the current user.
std::string default_state_folder();
// Others of his, by another host name, another $HOME or $XDG_STATE_HOME (as far as they are noted in the home that the user database names, or
// copies in $XDG_RUNTIME_DIR tell), or of a --state-folder: in each of them a run may have left something.
std::vector<std::string> former_state_folders();
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

}  // namespace dvfs_plan
