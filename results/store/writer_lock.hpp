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

// Whether the process that was `pid` as it began writes it now, wherever one looks from: from another container the number says
// nothing, and behind its end it may be somebody else's. nullopt: not known (there is no such file, as beside a copy, or no locks here).
std::optional<bool> is_being_written(const std::string& result, int pid);

}  // namespace dvfs_plan
