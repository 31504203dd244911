// Who is on a board, and how much of its memory is taken: asked between trials, not while they run.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "probes/gpu/gpu_boards.hpp"

namespace dvfs_plan {

struct BoardProcess {
  std::string board;  // its domain: "gpu-0"
  pid_t pid = 0;
  std::string name;  // of /proc/PID/comm; empty where it is not in this namespace
};

class BoardWatch {
 public:
  virtual ~BoardWatch() = default;
  // What this user and namespace may see; nullopt if the boards do not tell.
  virtual std::optional<std::vector<BoardProcess>> processes() = 0;
  // Bytes in use by board (domain), the driver's own among them; boards that do not tell are not in it.
  virtual std::map<std::string, double> memory_used() = 0;
};

// nullptr if no board of these tells anything.
std::unique_ptr<BoardWatch> watch_boards(const std::vector<GpuBoard>& boards, const Sysfs& sysfs);

}  // namespace dvfs_plan
