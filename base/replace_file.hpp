// A file written beside its place and moved there whole: what was there stays until then, and what fails
// leaves nothing, nor does who is killed: until it is whole it has no name, where the file system has such files (O_TMPFILE of open(2)).
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "base/acting_as.hpp"
#include "base/removed_on_signal.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

class FileReplacement {
 public:
  // Makes a new file of its own beside `path`, whatever lies there; a device or pipe at `path` is written to
  // directly. It has the mode of what lies there and, where root writes it, the owner; where nothing does it is the owner's of file
  // `like`, and read by nobody who may not read that one. Throws Error if it cannot.
  explicit FileReplacement(std::string path, const std::string& like = {});
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  std::ostream& out() { return out_; }
  // Throws Error if not all of it could be written.
  void commit();

 private:
  // False: this file system has no such files.
  bool open_nameless(unsigned mode, const std::optional<FileOwner>& owner);
  void open_beside(unsigned mode, const std::optional<FileOwner>& owner);
  bool give_name();

  std::string path_;
  UniqueFd nameless_;
  std::string unfinished_;  // its name until then, where it has one
  std::optional<RemovedOnSignal> goes_with_us_;
  std::ofstream out_;
};

}  // namespace dvfs_plan
