#include "base/run_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/child.hpp"
#include "base/spawn.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t most_output = 4 << 20;
// What it left running may hold its output for ever, and a `tee` beside it say its last after it.
constexpr std::chrono::seconds waits_for_output{1};

ProgramAnswer run_to_its_end(SpawnSpec start, Seconds deadline, const std::function<bool()>& stop) {
  const std::string& program = start.executable;
  using Steady = std::chrono::steady_clock;
  ProgramAnswer answer;
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    answer.problem = fmt::format("{}: {}", program, std::strerror(errno));
    return answer;
  }
  UniqueFd read_end(fds[0]), write_end(fds[1]);
  start.output = start.errors = write_end.get();
  start.can_be_ended = true;
  // Where ours was deleted a shell would complain of that.
  std::error_code gone;
  if (std::filesystem::current_path(gone).empty()) start.folder = "/";
  // In a session of its own, as all: Ctrl-C at the terminal must not end a setter half way.
  const auto [pid, problem, ignored] = spawn(start);
  if (pid < 0) {
    answer.problem = problem;
    return answer;
  }
  write_end.reset();

  auto until = Steady::now() +
               std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(deadline.value()));
  bool late = false;
  int status = 0;
  pid_t reaped = 0;
  char buffer[8192];
  for (;;) {
    if (reaped == 0 && (reaped = ::waitpid(pid, &status, WNOHANG)) != 0)
      until = std::min(until, Steady::now() + waits_for_output);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now()).count();
    if (left <= 0 || (stop && stop())) {
      late = reaped == 0;
      break;
    }
    pollfd wait{read_end.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min<long>(left, 100)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t count = ::read(read_end.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const auto room = most_output - std::min(most_output, answer.output.size());
    answer.output.append(buffer, std::min(room, static_cast<std::size_t>(count)));
  }
  if (late) ::kill(-pid, SIGKILL);
  // Its output has ended; the program itself ends at once, or it is of no use.
  while (!late && reaped == 0 && (reaped = ::waitpid(pid, &status, WNOHANG)) == 0 && Steady::now() < until)
    ::usleep(200);
  if (reaped == 0) {
    late = true;
    ::kill(-pid, SIGKILL);
    // One that is stuck in the kernel does not end even so; whoever asked must go on.
    const auto at_most = Steady::now() + std::chrono::seconds(1);
    while ((reaped = ::waitpid(pid, &status, WNOHANG)) == 0 && Steady::now() < at_most) ::usleep(1000);
  }
  answer.timed_out = late;
  if (late && reaped == 0)
    answer.problem =
        fmt::format("{} did not answer within {:g} s, and does not end", program, deadline.value());
  else if (late)
    answer.problem = fmt::format("{} did not answer within {:g} s", program, deadline.value());
  else if (WIFEXITED(status))
    answer.exit_code = WEXITSTATUS(status);
  else
    answer.problem = fmt::format("{} was ended by {}", program, signal_name(WTERMSIG(status)));
  return answer;
}

SpawnSpec spec_of(const std::string& program, const std::vector<std::string>& arguments) {
  SpawnSpec start{program, {program}};
  start.argv.insert(start.argv.end(), arguments.begin(), arguments.end());
  return start;
}

}  // namespace

ProgramAnswer run_program(const std::string& program, const std::vector<std::string>& arguments,
                          Seconds deadline, const std::function<bool()>& stop) {
  return run_to_its_end(spec_of(program, arguments), deadline, stop);
}

ProgramAnswer run_program_in(const std::vector<std::string>& environment, const std::string& program,
                             const std::vector<std::string>& arguments, Seconds deadline) {
  SpawnSpec start = spec_of(program, arguments);
  start.environment = environment;
  return run_to_its_end(std::move(start), deadline, {});
}

}  // namespace dvfs_plan
