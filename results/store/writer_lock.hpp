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
  // Not so where somebody removed it meanwhile, or moved it away.
  bool is_at_its_name() const;

  std::string file_;
  std::optional<FileOwner> owner_;
  UniqueFd lock_;
};

// Who writes it now, as its own number, wherever one looks from: from another container that says nothing of processes here, and
// behind its end it may be somebody else's. 0: nobody. nullopt: not known (there is no such file, or one that was copied with
// the result, or there are no locks here).
std::optional<int> writer_of(const std::string& result);

}  // namespace dvfs_plan
