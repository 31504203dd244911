// base/run_program.hpp for the guardian: by fork(2) and execve(2) alone, so that the part with rights needs
// no library for it. The program ends with us, has root's own environment and no descriptor of ours.
#include "base/run_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/end_processes.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t most_output = 1 << 20;

// As the guardian was begun, before it took itself out of the kernel's choice and gave up cores: a daemon that a program starts keeps what it
// has for life.
struct Inherited {
  Inherited() {
    const UniqueFd file(::open(oom_score_adj, O_RDONLY | O_CLOEXEC));
    const ssize_t count = file ? ::read(file.get(), score, sizeof score) : 0;
    score_length = count > 0 ? static_cast<std::size_t>(count) : 0;
    ::getrlimit(RLIMIT_CORE, &core);
  }
  static constexpr const char* oom_score_adj = "/proc/self/oom_score_adj";
  char score[16] = {};
  std::size_t score_length = 0;
  rlimit core{};
};
const Inherited inherited;

[[noreturn]] void become_program(const std::string& program, const std::vector<std::string>& arguments,
                                 const std::string& mark, int output, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  const int score = ::open(Inherited::oom_score_adj, O_WRONLY | O_CLOEXEC);
  if (score >= 0 && ::write(score, inherited.score, inherited.score_length) < 0)
    errno = 0;  // it stays as ours
  ::setrlimit(RLIMIT_CORE, &inherited.core);
  // Where ours was deleted a shell would complain of that.
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr && ::chdir("/") != 0) ::_exit(127);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU, SIGTERM})
    ::signal(signal, SIG_DFL);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
  char* const environment[] = {path, locale, const_cast<char*>(mark.c_str()), nullptr};
  ::execve(program.c_str(), argv.data(), environment);
  ::_exit(127);
}

}  // namespace

ProgramAnswer run_program(const std::string& program, const std::vector<std::string>& arguments,
                          Seconds deadline, const std::function<bool()>&) {
  using Steady = std::chrono::steady_clock;
  ProgramAnswer answer;
  const char* const run = std::getenv(run_variable);
  const std::string mark = fmt::format("{}={}", run_variable, run == nullptr ? "" : run);
  int fds[2];
  const bool piped = ::pipe2(fds, O_CLOEXEC) == 0;
  const pid_t parent = ::getpid();
  const pid_t pid = piped ? ::fork() : -1;
  if (pid < 0) {
    answer.problem = fmt::format("{}: {}", program, std::strerror(errno));
    return answer;
  }
  if (pid == 0) become_program(program, arguments, mark, fds[1], parent);
  const UniqueFd read_end(fds[0]);
  ::close(fds[1]);
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                         std::chrono::duration<double>(deadline.value()));
  int status = 0;
  bool reading = true, reaped = false;
  char buffer[8192];
  while (!reaped && Steady::now() < until) {
    if (reading) {
      pollfd wait{read_end.get(), POLLIN, 0};
      if (::poll(&wait, 1, 100) <= 0) continue;
      const ssize_t count = ::read(read_end.get(), buffer, sizeof buffer);
      if (count > 0)
        answer.output.append(buffer, std::min(most_output - std::min(most_output, answer.output.size()),
                                              static_cast<std::size_t>(count)));
      reading = count > 0 || (count < 0 && errno == EINTR);
      continue;
    }
    reaped = ::waitpid(pid, &status, WNOHANG) == pid;
    if (!reaped) ::usleep(200);
  }
  if (!reaped) {
    ::kill(-pid, SIGKILL);
    // One that is stuck in the kernel does not end even so; whoever asked must go on.
    for (int i = 0; i < 1000 && !reaped; ++i, ::usleep(1000))
      reaped = ::waitpid(pid, &status, WNOHANG) == pid;
    answer.timed_out = true;
    answer.problem = fmt::format("{} did not answer within {:g} s{}", program, deadline.value(),
                                 reaped ? "" : ", and does not end");
  } else if (WIFEXITED(status) && WEXITSTATUS(status) != 127) {
    answer.exit_code = WEXITSTATUS(status);
  } else if (WIFEXITED(status)) {
    answer.problem = program + " cannot be run";
  } else {
    answer.problem = fmt::format("{} was ended by signal {}", program, WTERMSIG(status));
  }
  return answer;
}

}  // namespace dvfs_plan
