#include "base/removed_on_signal.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <utility>

namespace dvfs_plan {
namespace {

std::array<std::atomic<const char*>, RemovedOnSignal::most_paths> to_remove;  // null: free

// Only what may be called in a handler: signal-safety(7).
void remove_and_end(int signal) {
  // Folders after what is in them.
  for (const auto& one : to_remove)
    if (const char* const path = one.load(); path != nullptr) ::unlink(path);
  for (const auto& one : to_remove)
    if (const char* const path = one.load(); path != nullptr) ::rmdir(path);
  // The caller's shell sees the signal; the kernel ignores it for process 1 of a container.
  ::signal(signal, SIG_DFL);
  sigset_t this_one;
  ::sigemptyset(&this_one);
  ::sigaddset(&this_one, signal);
  ::sigprocmask(SIG_UNBLOCK, &this_one, nullptr);
  ::raise(signal);
  constexpr int of_a_signal = 128;
  ::_exit(of_a_signal + signal);
}

void take_default_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = remove_and_end;
    ::sigfillset(&ours.sa_mask);
    ::sigaction(signal, &ours, nullptr);
  }
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (const std::string& path : paths_) {
    for (std::size_t i = 0; i < to_remove.size(); ++i) {
      const char* free = nullptr;
      if (!to_remove[i].compare_exchange_strong(free, path.c_str())) continue;
      slots_.push_back(i);
      break;
    }
  }
  take_default_signals();
}

RemovedOnSignal::~RemovedOnSignal() {
  for (const std::size_t slot : slots_) to_remove[slot] = nullptr;
}

}  // namespace dvfs_plan
