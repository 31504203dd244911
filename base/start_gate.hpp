// The gate at which programs wait that are to begin at once.
//
// It is a FIFO that nobody has opened for writing: whoever opens it for reading waits (fifo(7)) until we open it too, which wakes all of
// them at the same moment; from then on nobody waits there. Whoever reads a line gets an empty one.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

// The environment variable that names it.
inline constexpr const char* gate_variable = "DVFS_PLAN_GO";

class StartGate {
 public:
  StartGate() = default;
  explicit StartGate(std::string path) : path_(std::move(path)) {}
  StartGate(StartGate&& other) noexcept;
  StartGate& operator=(StartGate&& other) noexcept;
  ~StartGate();  // takes it away

  const std::string& path() const { return path_; }  // empty: it could not be made
  bool is_open() const { return static_cast<bool>(fd_); }
  void open();

 private:
  std::string path_;
  UniqueFd fd_;
};

}  // namespace dvfs_plan
