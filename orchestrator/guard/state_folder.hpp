// Where the guardian keeps what must survive it: the lock, its queue and the journal of former settings.
//
// Which one it is: state_places.hpp. Ours alone (0700), never /tmp. Files
// are opened relative to the folder's descriptor and symbolic links are not followed.
//
// Somebody who tidies up may delete what lies there in the middle of a night. So what is written durably can be
// kept twice: the copy lies below /run (of users: $XDG_RUNTIME_DIR), until the next boot. Where copies were made is on record in the folder itself
// (file `copies`): a later run may have another $XDG_RUNTIME_DIR, or none (cron), and is to find them, and to leave none that is not true any more.
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
  void remove_if_it_can(const std::string& name);
  // Where copies were made by the way, but for the present place; and that becomes known to those who come.
  void find_former_copies(const std::string& present);
  std::optional<std::string> read_own(const std::string& name) const;
  void write(const std::string& name, const std::string& text, bool durably);

  std::string path_;
  UniqueFd folder_;
  std::unique_ptr<StateFolder> copies_;
  std::vector<StateFolder> former_copies_;
};

}  // namespace dvfs_plan
