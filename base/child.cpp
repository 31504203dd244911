#include "base/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/process_tree.hpp"
#include "base/spawn.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

bool open_pipe(UniqueFd& read_end, UniqueFd& write_end) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return true;
}

}  // namespace

std::string_view CapturedOutput::whole_lines() const {
  const std::string_view all(tail);
  if (!cut_in_line) return all;
  const auto newline = all.find('\n');
  return newline == std::string_view::npos ? std::string_view{} : all.substr(newline + 1);
}

Launcher::Launched Launcher::launch(const LaunchSpec& spec, const Clock& clock) {
  Child child;
  UniqueFd output_end, errors_end;
  if (!open_pipe(child.output_, output_end) || !open_pipe(child.errors_, errors_end))
    return {std::nullopt, system_error_text("pipe", errno)};
  if (spec.regions) {
    child.regions_ = regions_.make(spec.run_as ? std::optional(spec.run_as->user) : std::nullopt);
    // Most workloads mark nothing: they run all the same, and whoever judges is told.
    if (!child.regions_) child.regions_problem_ = system_error_text("make the FIFO for regions", errno);
  }
  SpawnSpec start{spec.executable, spec.argv, spec.environment, spec.folder, spec.run_as, spec.cpus};
  if (child.regions_)
    start.environment->push_back(fmt::format("{}={}", region_variable, child.regions_.path()));
  if (!spec.gate.empty()) start.environment->push_back(fmt::format("{}={}", gate_variable, spec.gate));
  start.output = output_end.get();
  start.errors = spec.discard_errors ? -1 : errors_end.get();
  start.dies_with_us = true;
  start.first_out_of_memory = true;
  if (spec.grouped) group_.begins();
  start.control_group = spec.grouped ? group_.entrance() : spec.control_group;
  child.started_ = clock.now();
  const Spawned spawned = spawn(start);
  if (spawned.pid < 0) return {std::nullopt, spawned.problem};
  child.pid_ = spawned.pid;
  if (spec.grouped) {
    child.group_ = &group_;
    group_.entered(spawned.pid, spawned.outside_because);
  }
  child.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (!child.pidfd_) return {std::nullopt, system_error_text("pidfd_open", errno)};
  return {std::move(child), {}};
}

StartGate Launcher::make_gate() {
  return StartGate(regions_.make_gate());
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      started_(other.started_),
      pidfd_(std::move(other.pidfd_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      regions_(std::move(other.regions_)),
      regions_problem_(std::move(other.regions_problem_)),
      group_(other.group_) {}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  reap_killed(pid_);
  if (group_ != nullptr) group_->left(pid_, {});
}

bool reap_killed(pid_t child) {
  using Steady = std::chrono::steady_clock;
  const auto until = Steady::now() + std::chrono::duration<double>(longest_end.value());
  for (auto pause = std::chrono::microseconds(50);;
       pause = std::min(2 * pause, std::chrono::microseconds(10'000))) {
    const pid_t ended = ::waitpid(child, nullptr, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    if (Steady::now() >= until) return false;
    std::this_thread::sleep_for(pause);
  }
}

void Child::leave_behind(ChildResult& result) {
  result.stuck = std::exchange(pid_, -1);
  if (group_ == nullptr) return;
  const ProcessGroup::Left left = group_->left(result.stuck, {});
  result.leftovers = left.processes;
  result.left_user_time = left.use.user;
  result.left_system_time = left.use.system;
}

void Child::reap(ChildResult& result) {
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  // The leader is gone but its group's number stays taken while members live, so this hits only them.
  // What we ended ourselves left nothing behind: it was still about to end.
  const bool by_itself = result.end == ChildResult::End::not_launched;
  const bool any = group_ != nullptr && (::kill(-pid_, 0) == 0 || errno == EPERM);
  std::set<pid_t> background = any ? living_of_group(pid_) : std::set<pid_t>{};
  // Of another user's nothing is ended.
  std::erase_if(background, [](pid_t pid) { return ::kill(pid, 0) != 0 && errno == EPERM; });
  ::kill(-pid_, SIGKILL);
  ProcessGroup::Left left;
  const std::set<pid_t> none;
  if (group_ != nullptr)
    left =
        group_->left(pid_, cpu_use_of(usage), by_itself ? background : none, by_itself ? none : background);
  result.leftovers = left.processes;
  pid_ = -1;
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exit_code = WEXITSTATUS(status);
  if (result.end == ChildResult::End::not_launched) {
    result.end = WIFSIGNALED(status) ? ChildResult::End::signalled : ChildResult::End::exited;
  }
  result.user_time = as_seconds(usage.ru_utime);
  result.system_time = as_seconds(usage.ru_stime);
  result.left_user_time = left.use.user;
  result.left_system_time = left.use.system;
  rusage ours{};
  ::getrusage(RUSAGE_SELF, &ours);
  if (usage.ru_maxrss > ours.ru_maxrss)
    result.max_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::string find_executable(const std::string& command, const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  const auto runnable = [](const fs::path& file) {
    std::error_code error;
    return fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
  };
  if (command.empty()) return {};
  if (command.find('/') != std::string::npos) {
    const fs::path file = fs::path(command).is_absolute() ? fs::path(command) : fs::path(folder) / command;
    return runnable(file) ? file.lexically_normal().string() : std::string{};
  }
  std::string_view rest = path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const fs::path file = fs::path(rest.substr(0, colon)) / command;
    if (colon > 0 && runnable(file)) return file.string();
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", signal);
}

}  // namespace dvfs_plan
