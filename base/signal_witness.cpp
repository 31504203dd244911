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

std::set<int> SignalWitness::got() {
  constexpr useconds_t a_while = 20'000;
  ::usleep(a_while);
  std::set<int> signals = pending();
  if (!signals.empty()) begin_anew();  // what is pending can come no second time
  return signals;
}

void SignalWitness::forget() {
  if (!pending().empty()) begin_anew();
}

void SignalWitness::begin_anew() {
  end();
  begin();
}

void SignalWitness::begin() {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t us = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::syscall(SYS_close_range, 0U, ~0U, 0U);
    if (::getppid() != us) ::_exit(0);
    // Under another name than ours: who sends one to all of our name (pkill, killall, pidof) means us, and not the child. Blocked signals stay so.
    char name[] = "sleep", for_ever[] = "2147483647";
    char* const words[] = {name, for_ever, nullptr};
    char* const nothing[] = {nullptr};
    for (const char* const program : {"/bin/sleep", "/usr/bin/sleep"}) ::execve(program, words, nothing);
    while (::getppid() == us) ::pause();
    ::_exit(0);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // Not by its number from here on: who waits for any child of his may have had its end, and its number may be another's.
  handle_.reset(pid_ > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)) : -1);
}

void SignalWitness::end() {
  if (handle_) {
    ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    ::waitid(P_PIDFD, static_cast<id_t>(handle_.get()), &info, WEXITED);
  }
  handle_.reset();
  pid_ = -1;
}

std::set<int> SignalWitness::pending() const {
  std::set<int> signals;
  if (pid_ <= 0) return signals;
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");  // man proc: "ShdPnd:  0000000000004000"
  const std::string of_process = "ShdPnd:";
  constexpr int base = 16, last = 31;  // of the real-time ones we know nothing
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(of_process)) continue;
    const auto bits = std::strtoull(line.c_str() + of_process.size(), nullptr, base);
    for (int signal = 1; signal <= last; ++signal) {
      if ((bits >> (signal - 1) & 1) != 0) signals.insert(signal);
    }
  }
  return signals;
}

bool is_of_terminal(int signal, int code) {
  return code == SI_KERNEL && !(signal == SIGHUP && ::getsid(0) == ::getpid());
}

}  // namespace dvfs_plan
