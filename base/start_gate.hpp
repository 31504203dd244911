// The gate at which programs wait that are to begin at once.
//
// It is a FIFO that nobody has opened for writing: whoever opens it for reading waits (fifo(7)) until we open it too, which wakes all of
// them at the same moment; from then on nobody waits there. Whoever reads a line gets an empty one; most readers take as many as their
// buffer holds, so there are to be enough for the others.
#pragma once

#include <cstddef>
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
  // To be polled for POLLOUT once it is open: then there is room for more lines. -1: not now.
  int wants_lines() const { return left_ > 0 ? fd_.get() : -1; }
  void add_lines();

 private:
  std::string path_;
  UniqueFd fd_;
  std::size_t left_ = 0;  // bytes, at most: who reads without end is not to keep us busy
};

}  // namespace dvfs_plan
