#include "base/foreground_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/signal_witness.hpp"

namespace dvfs_plan {
namespace {

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

bool asks_to_end(int signal) {
  return signal != SIGUSR1 && signal != SIGUSR2;
}

}  // namespace

ForegroundChild::ForegroundChild() {
  for (const int fd : open_descriptors()) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (fd > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0) inherited_.push_back(fd);
  }
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : passed_on) {
    // Ignored ones stay ignored, by us and by the child: nohup(1).
    struct sigaction inherited {};
    ::sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a guardian that is gone is an error to handle
  signals_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw Error(ExitCode::machine_refuses, system_error_text("signalfd", errno));
}

int ForegroundChild::pending() {
  if (child_ > 0) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child_)
      return SIGCHLD;
    sigset_t waiting;
    if (::sigpending(&waiting) != 0) return 0;
    const auto* const found = std::find_if(std::begin(passed_on), std::end(passed_on), [&](int signal) {
      return asks_to_end(signal) && ::sigismember(&waiting, signal) == 1;
    });
    return found == std::end(passed_on) ? 0 : *found;
  }
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (!asks_to_end(static_cast<int>(info.ssi_signo))) continue;
    pending_ = static_cast<int>(info.ssi_signo);
    Interruption::note_asked(pending_);  // who waits for the machine ends by it
  }
  return pending_;
}

void ForegroundChild::pass_on(pid_t child, SignalWitness& witness) {
  std::set<int> came_to_all = witness.got(), signals;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    signals.insert(static_cast<int>(info.ssi_signo));
    if (is_of_terminal(static_cast<int>(info.ssi_signo), info.ssi_code))
      came_to_all.insert(static_cast<int>(info.ssi_signo));
  }
  // One that has left our group (timeout(1), setsid(1)) got none of what came to all of it.
  const bool of_our_group = ::getpgid(child) == ::getpgrp();
  for (const int signal : signals) {
    const bool has_it = of_our_group && came_to_all.contains(signal);
    if (!has_it) ::kill(child, signal);
    // What Ctrl-Z has stopped takes it once it goes on: with it all of the terminal's group, of which we are.
    if (asks_to_end(signal)) ::kill(has_it ? 0 : child, SIGCONT);
  }
}

ForegroundChild::Ended ForegroundChild::run(SpawnSpec spec, const std::function<void(pid_t)>& ran,
                                            const std::function<void()>& tick) {
  spec.input = STDIN_FILENO;
  spec.output = STDOUT_FILENO;
  spec.errors = STDERR_FILENO;
  spec.own_session = false;
  spec.inherited = inherited_;
  SignalWitness witness;
  const Spawned child = spawn(spec);
  if (child.pid < 0) return {-1, child.problem};
  child_ = child.pid;
  ran(child.pid);
  const UniqueFd gone(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  int status = 0;
  for (;;) {
    pollfd waiting[] = {{gone.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    const int ready = ::poll(waiting, 2, 1000);
    if (ready > 0 && (waiting[1].revents & POLLIN) != 0) pass_on(child.pid, witness);
    const pid_t ended = ::waitpid(child.pid, &status, WNOHANG);
    if (ended == child.pid || (ended < 0 && errno != EINTR)) break;
    if (ready == 0) {
      witness.forget();
      tick();
    }
  }
  child_ = -1;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), {}};
  return {WEXITSTATUS(status), {}};
}

}  // namespace dvfs_plan
