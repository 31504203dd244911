#include "orchestrator/guardian/stand_by.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/signal_witness.hpp"
#include "base/sysfs.hpp"
#include "orchestrator/guardian/clients.hpp"

namespace dvfs_plan {
namespace {

constexpr std::chrono::milliseconds request_patience{1000};

class StandsByRun {
 public:
  StandsByRun(pid_t run, uid_t user, const GuardianOptions& options)
      : run_(run), options_(options), requests_(UniqueFd(::fcntl(3, F_DUPFD_CLOEXEC, 4))) {
    ::close(3);
    client_ = client_of({run, user, 0});
    client_.by_sudo = true;
    client_.unbound = false;
  }

  int stand_by() {
    Sysfs().write("/proc/self/oom_score_adj", "-1000");  // as a session's: it starts those that put back
    sigset_t all;
    sigemptyset(&all);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
      sigaddset(&all, signal);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    const UniqueFd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
    SignalWitness witness;
    reap();
    while (!status_ || !sessions_.empty()) {
      pollfd wait[2] = {{signals.get(), POLLIN, 0}, {listens_ ? requests_.fd() : -1, POLLIN, 0}};
      if (::poll(wait, 2, 1000) == 0) witness.forget();
      std::set<int> came;
      std::set<int> came_to_all = take_signals(signals, came);
      if (!came.empty()) {
        came_to_all.merge(witness.got());
        came_to_all.merge(take_signals(signals, came));
      }
      // From the terminal or by kill(2): it is meant for the run, which has it already where it came to all of our group.
      const bool of_our_group = ::getpgid(run_) == ::getpgrp();
      for (const int signal : came) {
        if (!status_ && !(of_our_group && came_to_all.contains(signal))) ::kill(run_, signal);
      }
      reap();
      if (wait[1].revents != 0) take_request();
    }
    return end_like_the_run();
  }

 private:
  // Adds what came but for ends of children; which of them the terminal sent.
  static std::set<int> take_signals(const UniqueFd& signals, std::set<int>& came) {
    std::set<int> of_terminal;
    signalfd_siginfo signal{};
    while (::read(signals.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      if (signal.ssi_signo == SIGCHLD) continue;
      came.insert(static_cast<int>(signal.ssi_signo));
      if (is_of_terminal(static_cast<int>(signal.ssi_signo), signal.ssi_code))
        of_terminal.insert(static_cast<int>(signal.ssi_signo));
    }
    return of_terminal;
  }

  void reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
      if (continued_if_stopped(pid, status, sessions_.contains(pid))) continue;
      if (pid == run_) status_ = status;
      if (sessions_.erase(pid) > 0) after_session(status, options_);
    }
  }

  void take_request() {
    if (requests_.hear(false) == Connection::Heard::end) listens_ = false;
    for (auto message = requests_.next(); message; message = requests_.next()) {
      if (message->kind != "session") continue;
      ConnectedPair pair = connected_pair();
      if (!pair.ours) continue;
      const pid_t pid = start_session(Connection(std::move(pair.ours)), client_, options_);
      if (pid > 0) sessions_.insert(pid);
      requests_.send({"session", {}}, request_patience, pair.theirs.get());
    }
  }

  int end_like_the_run() const {
    if (WIFEXITED(*status_)) return WEXITSTATUS(*status_);
    const int signal = WTERMSIG(*status_);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    ::signal(signal, SIG_DFL);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    ::kill(::getpid(), signal);
    return 128 + signal;
  }

  const pid_t run_;
  const GuardianOptions& options_;
  Connection requests_;
  Client client_;
  std::set<pid_t> sessions_;
  std::optional<int> status_;
  bool listens_ = true;
};

}  // namespace

pid_t start_session(Connection connection, const Client& client, const GuardianOptions& options) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  // Nothing of who stands by, above all not the client's end of the connection, which would never end.
  const auto ours = static_cast<unsigned>(connection.fd());
  if (ours > 3) ::close_range(3, ours - 1, 0);
  ::close_range(ours + 1, ~0U, 0);
  ::setsid();  // Ctrl-C at the terminal is the run's
  ::prctl(PR_SET_NAME, "dvfs-guardian");
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int code = static_cast<int>(ExitCode::not_restored);
  try {
    code = serve(std::move(connection), client, options);
  } catch (const std::exception&) {
    // Whoever stands by puts back.
  }
  ::_exit(code);
}

bool continued_if_stopped(pid_t pid, int status, bool is_session) {
  if (!WIFSTOPPED(status)) return false;
  if (is_session) ::kill(pid, SIGCONT);
  return true;
}

void after_session(int status, const GuardianOptions& options) {
  // One that ended by itself has put back what it could, and said what it could not.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  // In a process of its own: a board in trouble, or who does not read what we say, must not keep us from
  // standing by.
  if (::fork() != 0) return;
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  ::_exit(restore_now(options));
}

int stand_by_run(pid_t run, uid_t user, const GuardianOptions& options) {
  // It stands for the run: `pkill dvfs-guardian` means the sessions, whose end it must see.
  ::prctl(PR_SET_NAME, "dvfs-plan");
  return StandsByRun(run, user, options).stand_by();
}

}  // namespace dvfs_plan
