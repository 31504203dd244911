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

// Neither end where there could be none; errno says why.
struct Pipe {
  explicit Pipe(int flags) {
    int fds[2];
    if (::pipe2(fds, flags) != 0) return;
    reading = UniqueFd(fds[0]);
    writing = UniqueFd(fds[1]);
  }
  UniqueFd reading, writing;
};

[[noreturn]] void become_program(const std::string& program, const std::vector<std::string>& arguments,
                                 const std::string& mark, int output, int not_begun, pid_t parent) {
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
  ::dup3(not_begun, STDERR_FILENO + 1, O_CLOEXEC);
  ::close_range(STDERR_FILENO + 2, ~0U, 0);
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
  // That it ended with 127 does not tell this: shells say so of what they could not run.
  const int why = errno;
  ::_exit(::write(STDERR_FILENO + 1, &why, sizeof why) < 0 ? 126 : 127);
}

}  // namespace

ProgramAnswer run_program(const std::string& program, const std::vector<std::string>& arguments,
                          Seconds deadline, const std::function<bool()>&) {
  using Steady = std::chrono::steady_clock;
  ProgramAnswer answer;
  const char* const run = std::getenv(run_variable);
  const std::string mark = fmt::format("{}={}", run_variable, run == nullptr ? "" : run);
  Pipe said(O_CLOEXEC), not_begun(O_CLOEXEC | O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t pid = said.writing && not_begun.writing ? ::fork() : -1;
  if (pid < 0) {
    answer.problem = fmt::format("{}: {}", program, std::strerror(errno));
    return answer;
  }
  if (pid == 0) become_program(program, arguments, mark, said.writing.get(), not_begun.writing.get(), parent);
  said.writing.reset();
  not_begun.writing.reset();
  auto until = Steady::now() +
               std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(deadline.value()));
  int status = 0;
  bool reading = true, reaped = false;
  char buffer[8192];
  // What it left running may hold its output for ever, and a `tee` beside it say its last after it.
  constexpr std::chrono::seconds waits_for_output{1};
  while ((!reaped || reading) && Steady::now() < until) {
    if (!reaped && (reaped = ::waitpid(pid, &status, WNOHANG) == pid))
      until = std::min(until, Steady::now() + waits_for_output);
    if (reading) {
      pollfd wait{said.reading.get(), POLLIN, 0};
      if (::poll(&wait, 1, 100) <= 0) continue;
      const ssize_t count = ::read(said.reading.get(), buffer, sizeof buffer);
      if (count > 0)
        answer.output.append(buffer, std::min(most_output - std::min(most_output, answer.output.size()),
                                              static_cast<std::size_t>(count)));
      reading = count > 0 || (count < 0 && errno == EINTR);
      continue;
    }
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
  } else if (int why = 0; ::read(not_begun.reading.get(), &why, sizeof why) == sizeof why) {
    answer.problem = fmt::format("exec {}: {}", program, std::strerror(why));
  } else if (WIFEXITED(status)) {
    answer.exit_code = WEXITSTATUS(status);
  } else {
    answer.problem = fmt::format("{} was ended by signal {}", program, WTERMSIG(status));
  }
  return answer;
}

}  // namespace dvfs_plan
