#include "base/bus_errors.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace dvfs_plan {
namespace {

std::atomic<int> replaced{0};
std::uintptr_t page_size = 0;  // sysconf(3) is not for signal handlers

// Runs in a signal handler: system calls alone (signal-safety(7); mmap is one).
void replace_page(int, siginfo_t* info, void*) {
  const int error = errno;
  const auto page = reinterpret_cast<std::uintptr_t>(info->si_addr) & ~(page_size - 1);
  // BUS_ADRERR: the file behind it is shorter than the mapping.
  if (info->si_code != BUS_ADRERR ||
      ::mmap(reinterpret_cast<void*>(page), page_size, PROT_READ | PROT_WRITE,  // NOLINT
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    std::signal(SIGBUS, SIG_DFL);  // the same again, and for good
  } else {
    ++replaced;
  }
  errno = error;
}

}  // namespace

void survive_bus_errors() {
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = replace_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

int bus_errors() {
  return replaced;
}

}  // namespace dvfs_plan
