#include "base/interruption.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/error.hpp"

namespace dvfs_plan {
namespace {

std::atomic<int> last_asked{0};

}  // namespace

void Interruption::note_asked(int signal) {
  last_asked = signal;
}

int Interruption::asked() {
  return last_asked;
}

bool Interruption::is_asked() {
  sigset_t waiting;
  const bool known = ::sigpending(&waiting) == 0;
  return last_asked != 0 ||
         (known && (::sigismember(&waiting, SIGINT) == 1 || ::sigismember(&waiting, SIGTERM) == 1 ||
                    ::sigismember(&waiting, SIGHUP) == 1));
}

Interruption::Interruption() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCONT);
  // So that who waits for a child looks at it when it is stopped, and not only when it ends: the kernel forgets a stop at the end.
  std::signal(SIGCHLD, SIG_DFL);
  sigaddset(&signals, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // nohup(1) ignores SIGHUP for us: a blocked one would come all the same. A script's background jobs are
    // given an ignored SIGINT too, but whoever sends that one to a sweep by hand means it.
    struct sigaction inherited {};
    ::sigaction(signal, nullptr, &inherited);
    if (signal == SIGHUP && inherited.sa_handler == SIG_IGN) continue;
    std::signal(signal, SIG_DFL);
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A report piped into `head` or a guardian that is gone is an error to handle, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  // Ctrl-Z would stop the clock-watcher but not the workload, which has a session of its own.
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) std::signal(signal, SIG_IGN);
  fd_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw Error(ExitCode::machine_refuses, system_error_text("signalfd", errno));
}

int Interruption::pending() {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    if (info.ssi_signo == SIGCONT) {
      continued_ = true;
      continue;
    }
    signal_ = static_cast<int>(info.ssi_signo);
    last_asked = signal_.load();
    ++count_;
  }
  return signal_;
}

bool Interruption::take_continued() {
  pending();
  return continued_.exchange(false);
}

void Interruption::let_signals_end_us() {
  pending();
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

bool Interruption::sleep_until(Nanoseconds when, const Clock& clock) {
  for (;;) {
    if (pending() != 0) return false;
    const Nanoseconds left = when - clock.now();
    if (left <= 0) return true;
    const timespec t{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    ::ppoll(&waiting, 1, &t, nullptr);
  }
}

}  // namespace dvfs_plan
