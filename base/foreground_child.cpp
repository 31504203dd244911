#include "base/foreground_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"

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
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (!asks_to_end(static_cast<int>(info.ssi_signo))) continue;
    pending_ = static_cast<int>(info.ssi_signo);
    Interruption::note_asked(pending_);  // who waits for the machine ends by it
  }
  return pending_;
}

void ForegroundChild::pass_on(pid_t child) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    // What the terminal sends (SI_KERNEL) the child, which is of the same foreground group, has got itself.
    if (info.ssi_code != SI_KERNEL) ::kill(child, static_cast<int>(info.ssi_signo));
  }
}

ForegroundChild::Ended ForegroundChild::run(SpawnSpec spec, const std::function<void(pid_t)>& ran,
                                            const std::function<void()>& tick) {
  spec.input = STDIN_FILENO;
  spec.output = STDOUT_FILENO;
  spec.errors = STDERR_FILENO;
  spec.own_session = false;
  spec.inherited = inherited_;
  const Spawned child = spawn(spec);
  if (child.pid < 0) return {-1, child.problem};
  ran(child.pid);
  const UniqueFd gone(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  int status = 0;
  for (;;) {
    pollfd waiting[] = {{gone.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    const int ready = ::poll(waiting, 2, 1000);
    if (ready > 0 && (waiting[1].revents & POLLIN) != 0) pass_on(child.pid);
    const pid_t ended = ::waitpid(child.pid, &status, WNOHANG);
    if (ended == child.pid || (ended < 0 && errno != EINTR)) break;
    if (ready == 0) tick();
  }
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), {}};
  return {WEXITSTATUS(status), {}};
}

}  // namespace dvfs_plan
