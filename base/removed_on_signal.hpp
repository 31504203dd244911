// Files and empty folders that a command makes on its way, and that go with it where Ctrl-C, SIGTERM or a
// hang-up ends it: its destructors do not run then.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dvfs_plan {

class RemovedOnSignal {
 public:
  static constexpr std::size_t most_paths = 256;  // at once, in the process; any beyond are not removed

  // Removes nothing itself, but in the handler of a signal whose handling is still the default: a night's own
  // (base/interruption.hpp) stays.
  explicit RemovedOnSignal(std::vector<std::string> paths);
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  std::vector<std::string> paths_;  // its texts are what the handler reads: never moved
  std::vector<std::size_t> slots_;
};

}  // namespace dvfs_plan
