// The FIFO on which a workload marks regions (region_marks.hpp), and the folder that holds it.
//
// A path survives what a descriptor does not: launchers that close descriptors (torchrun, every
// subprocess.Popen), daemons, containers that mount the folder. Whoever opens it can see that it is a FIFO
// before writing; a descriptor's number may by then be somebody's file.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

// The environment variable that names the FIFO.
inline constexpr const char* region_variable = "DVFS_PLAN_REGIONS";
// How a line of a workload's output begins by which our modules say that they cannot write marks.
inline constexpr std::string_view lost_marks_phrase = "dvfs-plan: region marks are lost: ";

// One FIFO, ours to read; its name goes when it does.
class RegionFifo {
 public:
  RegionFifo() = default;
  RegionFifo(RegionFifo&& other) noexcept;
  RegionFifo& operator=(RegionFifo&& other) noexcept;
  ~RegionFifo();

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  friend class RegionFolder;
  std::string path_;
  UniqueFd fd_;
};

// A folder of its own for each run: below /run, else /tmp, else $XDG_RUNTIME_DIR (which goes when its user
// logs out). Made at the first FIFO, and anew if somebody removed it; removed at the end. Of a run that was
// killed its guardian removes it (remove_region_folder).
class RegionFolder {
 public:
  RegionFolder() = default;
  ~RegionFolder();
  RegionFolder(const RegionFolder&) = delete;

  // For a workload that runs as this user (nullopt: as we do): nobody else may write to it. Empty with errno
  // set if it cannot be made.
  RegionFifo make(const std::optional<uid_t>& writer);
  // The path of one that several users' workloads may open for reading, for a gate (start_gate.hpp); empty with errno set.
  std::string make_gate();
  const std::string& path() const { return path_; }  // empty before the first

 private:
  std::string make_fifo();

  std::string path_;
  unsigned made_ = 0;
};

// Takes away such a folder and the FIFOs in it, and nothing else.
void remove_region_folder(const std::string& path);

}  // namespace dvfs_plan
