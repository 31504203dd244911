// Root doing as the invoking user what is theirs: files that a result made with sudo leaves are the user's
// own.
#pragma once

#include <sys/types.h>

#include <optional>

namespace dvfs_plan {

struct FileOwner {
  unsigned user = 0;
  unsigned group = 0;
};

// Acts as the file's owner while it lives: root must not write through a link, or into a folder, that the
// owner could not. While no other thread of ours does anything: the effective user is the whole process's.
class ActingAs {
 public:
  explicit ActingAs(const std::optional<FileOwner>& owner);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  bool change_;
  gid_t group_;
};

}  // namespace dvfs_plan
