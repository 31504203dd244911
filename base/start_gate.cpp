#include "base/start_gate.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace dvfs_plan {
namespace {

constexpr std::size_t most_readers = 4096;  // of a pipe's 64 KiB

}  // namespace

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
  if (is_open()) return;
  fd_.reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  // For those that read a line (`read go <"$DVFS_PLAN_GO"`): we stay open for who comes late, so there is no end of file.
  const std::string lines(most_readers, '\n');
  if (fd_ && ::write(fd_.get(), lines.data(), lines.size()) < 0)
    return;  // whoever opens it goes on all the same
}

}  // namespace dvfs_plan
