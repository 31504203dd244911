#include "base/start_gate.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace dvfs_plan {
namespace {

constexpr std::size_t at_once = 4096, most_bytes = 64 << 20;

}  // namespace

StartGate::StartGate(StartGate&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      left_(std::exchange(other.left_, 0)) {}

StartGate& StartGate::operator=(StartGate&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(left_, other.left_);
  return *this;
}

StartGate::~StartGate() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void StartGate::open() {
  if (is_open()) return;
  fd_.reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  // For those that read a line (`read go <"$DVFS_PLAN_GO"`): we stay open for who comes late, so there is no end of file.
  left_ = fd_ ? most_bytes : 0;
  add_lines();
}

void StartGate::add_lines() {
  static const std::string lines(at_once, '\n');
  while (left_ > 0) {
    const ssize_t written = ::write(fd_.get(), lines.data(), std::min(left_, lines.size()));
    if (written <= 0) return;  // full; and whoever but opens it goes on all the same
    left_ -= static_cast<std::size_t>(written);
  }
}

}  // namespace dvfs_plan
