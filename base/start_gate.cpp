#include "base/start_gate.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace dvfs_plan {

StartGate::StartGate(StartGate&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}

StartGate& StartGate::operator=(StartGate&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

StartGate::~StartGate() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void StartGate::open() {
  if (!is_open()) fd_.reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

}  // namespace dvfs_plan
