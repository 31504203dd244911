// A folder of our own below $TMPDIR (or /tmp) that goes when this does.
#pragma once

#include <filesystem>

namespace dvfs_plan {

class WorkFolder {
 public:
  WorkFolder();  // throws Error if none can be made
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace dvfs_plan
