// Root doing as the invoking user what is theirs: files that a result made with sudo leaves are the user's
// own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace dvfs_plan {

struct FileOwner {
  unsigned user = 0;
  unsigned group = 0;
  std::vector<gid_t> groups = {};  // the supplementary ones; none: `group` alone
};

// Acts as the file's owner while it lives, with the owner's groups and none of root's: root must not write
// through a link, or into a folder, that the owner could not. While no other thread of ours does anything:
// the effective user is the whole process's.
class ActingAs {
 public:
  explicit ActingAs(const std::optional<FileOwner>& owner);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  bool become_root_again() const;

  bool change_;
  gid_t group_;
  std::vector<gid_t> groups_;
};

}  // namespace dvfs_plan
