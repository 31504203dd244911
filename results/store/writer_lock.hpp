// One writer of a result at a time. SQLite keeps two writers from mixing their pages, not two nights from running the same
// trials into one file: of two machines that share a folder, or of two users of one machine. While it lives, NAME.sqlite.lock
// is locked (flock(2), which NFS carries to other machines since Linux 2.6.12) and says who holds it.
#pragma once

#include <optional>
#include <string>

#include "base/acting_as.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

class WriterLock {
 public:
  // Throws Error where somebody else has it; what a run that was killed a moment ago has left is waited for, 5 s at most. Where no
  // such file can be made there is no lock: whether the result itself can be, its own errors say.
  // `owner`: whose files results are, where we are root.
  WriterLock(const std::string& result, const std::optional<FileOwner>& owner);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;

 private:
  std::string file_;
  std::optional<FileOwner> owner_;
  UniqueFd lock_;
};

}  // namespace dvfs_plan
