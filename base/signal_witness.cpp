#include "base/signal_witness.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

namespace dvfs_plan {

SignalWitness::SignalWitness() {
  begin();
}

SignalWitness::~SignalWitness() {
  end();
}

bool SignalWitness::has_got(int signal) {
  constexpr useconds_t look = 1000;
  constexpr int looks = 20;
  for (int i = 0; pid_ > 0 && i < looks; ++i, ::usleep(look)) {
    if (!is_pending(signal)) continue;
    end();  // what is pending can come no second time
    begin();
    return true;
  }
  return false;
}

void SignalWitness::begin() {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t us = ::getpid();
  // Without a signal at its end: to who waits for any child of his it is none (man clone, __WCLONE).
  pid_ = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0));
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::syscall(SYS_close_range, 0U, ~0U, 0U);
    while (::getppid() == us) ::pause();
    ::_exit(0);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SignalWitness::end() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, __WALL);
  pid_ = -1;
}

bool SignalWitness::is_pending(int signal) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");  // man proc: "ShdPnd:  0000000000004000"
  const std::string of_process = "ShdPnd:";
  constexpr int base = 16;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(of_process))
      return (std::strtoull(line.c_str() + of_process.size(), nullptr, base) >> (signal - 1) & 1) != 0;
  }
  return false;
}

}  // namespace dvfs_plan
