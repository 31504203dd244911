// A folder of our own below $TMPDIR (or /tmp) that goes when this does, or on a signal (removed_on_signal.hpp).
#pragma once

#include <filesystem>
#include <list>
#include <string>

#include "base/removed_on_signal.hpp"

namespace dvfs_plan {

class WorkFolder {
 public:
  WorkFolder();  // throws Error if none can be made
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Where a file of that name may be made in it. One made otherwise keeps the folder where a signal ends us.
  std::filesystem::path file(const std::string& name);

 private:
  std::filesystem::path path_;
  std::list<RemovedOnSignal> go_with_us_;
};

}  // namespace dvfs_plan
