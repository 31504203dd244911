#include "base/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/spawn.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// Marks that bring their own time need not be read at once; each reading wakes us beside the workload.
constexpr Nanoseconds between_region_looks = 5'000'000;

bool open_pipe(UniqueFd& read_end, UniqueFd& write_end) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return true;
}

// Takes away the front of what is kept, down to `cap` bytes.
void cut_front(CapturedOutput& captured, std::size_t cap) {
  const std::size_t excess = captured.tail.size() - cap;
  captured.cut_in_line = captured.tail[excess - 1] != '\n';
  captured.tail.erase(0, excess);
}

// The line may lie anywhere in megabytes of progress, and across two reads.
void look_for_lost_marks(CapturedOutput& captured, std::string_view bytes) {
  constexpr std::size_t longest = 200;
  if (!captured.lost_marks.empty()) return;
  captured.recent.append(bytes);
  const std::string_view text = captured.recent;
  const auto found = text.find(lost_marks_phrase);
  if (found == std::string_view::npos) {
    const std::size_t may_be_a_start = std::min(text.size(), lost_marks_phrase.size());
    captured.recent.erase(0, text.size() - may_be_a_start);
    return;
  }
  const auto line = text.substr(found + lost_marks_phrase.size(), longest);
  const auto end = line.find('\n');
  if (line.size() < longest && end == std::string_view::npos) return;  // the rest is still to come
  captured.lost_marks = printable(std::string(line.substr(0, end)));
}

// Keeps the last `cap` bytes of a stream; drops in bulk so that a flood costs little.
void keep_tail(CapturedOutput& captured, const char* bytes, std::size_t count, std::size_t cap) {
  captured.bytes += count;
  look_for_lost_marks(captured, {bytes, count});
  captured.tail.append(bytes, count);
  if (captured.tail.size() > 2 * cap + 65536) cut_front(captured, cap);
}

// False once the stream has ended.
bool drain(int fd, CapturedOutput& captured, std::size_t cap) {
  static thread_local std::array<char, 65536> buffer;
  for (int rounds = 0; rounds < 64; ++rounds) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0)
      keep_tail(captured, buffer.data(), static_cast<std::size_t>(count), cap);
    else if (count == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
  return true;  // there is more; the caller comes back after a look at its deadlines
}

// Marks without a time of their own get that of their arrival, which is no later than `latest`.
bool drain_regions(int fd, RegionMarks& regions, const Clock& clock, Nanoseconds latest = INT64_MAX) {
  static thread_local std::array<char, 65536> buffer;
  for (int rounds = 0; rounds < 64; ++rounds) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0)
      regions.feed({buffer.data(), static_cast<std::size_t>(count)}, std::min(clock.now(), latest));
    else if (count == 0 || errno != EINTR)
      return count < 0 && errno == EAGAIN;
  }
  return true;
}

Seconds as_seconds(const timeval& t) {
  return Seconds{static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6};
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
  start.output = output_end.get();
  start.errors = spec.discard_errors ? -1 : errors_end.get();
  start.dies_with_us = true;
  if (spec.grouped) start.control_group = group_.entrance();
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
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (group_ != nullptr) group_->left(pid_);
}

void Child::reap(ChildResult& result) {
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  // The leader is gone but its group's number stays taken while members live, so this hits only them.
  ::kill(-pid_, SIGKILL);
  if (group_ != nullptr) result.leftovers = group_->left(pid_);
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
  result.max_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

ChildResult Child::wait(const ChildLimits& limits, Interruption* interruption, const Clock& clock) {
  ChildResult result;
  result.started = started_;
  constexpr Nanoseconds never = INT64_MAX;
  Nanoseconds deadline = limits.timeout.value() > 0 ? started_ + nanoseconds(limits.timeout) : never;
  bool terminated = false;
  bool output_open = true, errors_open = true, regions_open = static_cast<bool>(regions_);
  result.regions = RegionMarks(started_, limits.region);
  result.regions_problem = regions_problem_;
  Nanoseconds next_region_look = 0;
  int signals_seen = interruption != nullptr ? interruption->count() : 0;
  if (interruption != nullptr) interruption->take_continued();

  const auto end_group = [&](int signal) {
    ::kill(-pid_, signal);
    ::kill(pid_, signal);  // before its setsid() it has no group of its own
  };
  for (;;) {
    const bool look_later = regions_open && result.regions.all_sent() && clock.now() < next_region_look;
    std::array<pollfd, 5> waiting{pollfd{pidfd_.get(), POLLIN, 0},
                                  pollfd{output_open ? output_.get() : -1, POLLIN, 0},
                                  pollfd{errors_open ? errors_.get() : -1, POLLIN, 0},
                                  pollfd{interruption != nullptr ? interruption->fd() : -1, POLLIN, 0},
                                  pollfd{regions_open && !look_later ? regions_.fd() : -1, POLLIN, 0}};
    timespec left{};
    // A signal that came before this wait was taken from its descriptor already: it must not be slept over.
    const bool asked = interruption != nullptr && !terminated && interruption->pending() != 0;
    Nanoseconds wake = look_later ? std::min(deadline, next_region_look) : deadline;
    if (asked) wake = 0;
    if (wake != never) {
      const Nanoseconds remaining = std::max<Nanoseconds>(0, wake - clock.now());
      left = {.tv_sec = remaining / 1'000'000'000, .tv_nsec = remaining % 1'000'000'000};
    }
    ::ppoll(waiting.data(), waiting.size(), wake == never ? nullptr : &left, nullptr);
    const Nanoseconds now = clock.now();
    if (waiting[0].revents != 0) {
      result.ended = now;
      break;
    }
    if (waiting[4].revents != 0) {
      regions_open = drain_regions(regions_.fd(), result.regions, clock);
      next_region_look = now + between_region_looks;
    }
    if (waiting[1].revents != 0) output_open = drain(output_.get(), result.output, limits.output_cap);
    if (waiting[2].revents != 0) errors_open = drain(errors_.get(), result.errors, limits.output_cap);
    if (interruption != nullptr && interruption->pending() != 0 &&
        (interruption->count() > signals_seen || !terminated)) {
      // The first signal asks the workload to end, a second one does not ask.
      end_group(terminated ? SIGKILL : SIGTERM);
      if (!terminated) deadline = now + nanoseconds(limits.grace);
      terminated = true;
      signals_seen = interruption->count();
      result.end = ChildResult::End::interrupted;
    }
    if (now >= deadline) {
      end_group(terminated ? SIGKILL : SIGTERM);
      if (result.end != ChildResult::End::interrupted) result.end = ChildResult::End::timed_out;
      deadline = terminated ? never : now + nanoseconds(limits.grace);
      terminated = true;
    }
  }
  reap(result);
  result.stopped_meanwhile = interruption != nullptr && interruption->take_continued();
  if (regions_open) drain_regions(regions_.fd(), result.regions, clock, result.ended);
  result.regions.finish(result.ended);
  if (output_open) drain(output_.get(), result.output, limits.output_cap);
  if (errors_open) drain(errors_.get(), result.errors, limits.output_cap);
  for (CapturedOutput* stream : {&result.output, &result.errors}) {
    if (stream->tail.size() > limits.output_cap) cut_front(*stream, limits.output_cap);
  }
  return result;
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
