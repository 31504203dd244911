// Sensors that only root may read: who has rights opens them and hands over the descriptor.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

struct OpenedFile {
  UniqueFd fd;
  std::string problem = {};  // why there is none
};

class ProtectedSensors {
 public:
  virtual ~ProtectedSensors() = default;
  virtual OpenedFile open_file(const std::string& path) = 0;
  // perf_event_open(2) of a counter of the kernel's power PMU.
  virtual OpenedFile open_event(unsigned type, unsigned long config, int cpu) = 0;
};

}  // namespace dvfs_plan
