#include "base/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/start_dir.hpp>
#include <boost/process/v2/stdio.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/sysfs.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

namespace process = boost::process::v2;

// Where the child holds the end of the pipe that its execve(2) closes: just behind the standard three, since
// Boost 1.81 closes only what lies behind the last descriptor it is told to keep.
constexpr int exec_pipe_place = 3;
// Marks that bring their own time need not be read at once; each reading wakes us beside the workload.
constexpr Nanoseconds between_region_looks = 5'000'000;

// Runs in the child between vfork(2) and execve(2), where memory is the parent's and only system calls
// are safe: glibc's setuid() would send signals to every thread of the parent, so it is called raw.
struct PrepareChild {
  const LaunchSpec& spec;
  const cpu_set_t* cpus;
  int* exec_error;
  int exec_pipe;

  template <class ChildLauncher>
  process::error_code on_exec_setup(ChildLauncher&, const process::filesystem::path&, const char* const*) {
    ::setsid();
    // Closed by a successful execve(2) and by nothing before: the parent waits for that.
    if (exec_pipe != exec_pipe_place && ::dup3(exec_pipe, exec_pipe_place, O_CLOEXEC) < 0) return failed();
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // What we ignore stays ignored after execve; workloads expect the defaults.
    for (const int signal : {SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU})
      ::syscall(SYS_rt_sigaction, signal, kernel_action, nullptr, 8);
    if (cpus != nullptr && ::sched_setaffinity(0, sizeof *cpus, cpus) != 0) return failed();
    if (spec.run_as) {
      const Credentials& user = *spec.run_as;
      if (::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return failed();
      if (::syscall(SYS_setresgid, user.group, user.group, user.group) != 0) return failed();
      if (::syscall(SYS_setresuid, user.user, user.user, user.user) != 0) return failed();
    }
    // Entered as the user that the workload runs as: a folder that only root may enter stays closed.
    if (!spec.folder.empty() && ::chdir(spec.folder.c_str()) != 0) {
      exec_error[1] = 1;
      return failed();
    }
    // After the change of user, which clears it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return {};
  }

  template <class ChildLauncher>
  void on_exec_error(ChildLauncher&, const process::filesystem::path&, const char* const*,
                     const process::error_code& error) {
    if (*exec_error == 0) *exec_error = error.value();
    ::_exit(127);  // exit(3) would run the parent's own atexit handlers
  }

  // Boost 1.81 looks for a handler of these five arguments and then calls the one of four: without this
  // overload it finds none, and its exit(3) would tear down the parent's memory.
  template <class ChildLauncher>
  void on_exec_error(ChildLauncher&, const process::error_code&, const process::filesystem::path&,
                     const char* const*, const process::error_code&);

  process::error_code failed() {
    *exec_error = errno;
    return {errno, boost::system::system_category()};
  }

  // The kernel's own struct sigaction for SIG_DFL: all zero.
  static constexpr std::array<unsigned long, 4> kernel_default{};
  const void* kernel_action = kernel_default.data();
};

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

// Moves a descriptor out of the places that the child's own will take.
bool move_up(UniqueFd& fd) {
  constexpr int above = 10;
  fd.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, above));
  return static_cast<bool>(fd);
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

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> children;
  const Sysfs proc;
  for (const std::string& task : proc.list("/proc/self/task")) {
    for (const std::string& word :
         split_words(proc.text("/proc/self/task/" + task + "/children").value_or(""))) {
      children.push_back(static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10)));
    }
  }
  return children;
}

Seconds as_seconds(const timeval& t) {
  return Seconds{static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6};
}

// Ends and reaps everything that was orphaned to us (we are a subreaper): daemons that a workload left.
int end_orphans(const std::set<pid_t>& own) {
  int ended = 0;
  constexpr int rounds = 200;  // each round ends a generation; a fork bomb is cut short, not chased for ever
  for (int round = 0; round < rounds; ++round) {
    int found = 0;
    for (const pid_t pid : children_of_this_process()) {
      if (own.contains(pid)) continue;
      ++found;
      // One that we may not end (the workload used sudo) must not hold the night up.
      const bool killed = ::kill(pid, SIGKILL) == 0;
      if (::waitpid(pid, nullptr, killed ? 0 : WNOHANG) == pid)
        ++ended;
      else if (!killed)
        --found;
    }
    if (found == 0) break;
  }
  return ended;
}

}  // namespace

std::string_view CapturedOutput::whole_lines() const {
  const std::string_view all(tail);
  if (!cut_in_line) return all;
  const auto newline = all.find('\n');
  return newline == std::string_view::npos ? std::string_view{} : all.substr(newline + 1);
}

std::optional<Credentials> find_user(const std::string& name_or_id) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer;
  const auto id = parse_number(name_or_id);
  if (id)
    ::getpwuid_r(static_cast<uid_t>(*id), &entry, buffer.data(), buffer.size(), &found);
  else
    ::getpwnam_r(name_or_id.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return std::nullopt;
  Credentials user{found->pw_uid, found->pw_gid, {}, found->pw_name, found->pw_dir, found->pw_shell};
  int count = 256;
  user.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(found->pw_name, found->pw_gid, user.groups.data(), &count) < 0) count = 0;
  user.groups.resize(static_cast<std::size_t>(count));
  return user;
}

struct Launcher::Implementation {
  // errno of what failed, and whether that was entering the folder.
  // Shared with the child even where vfork(2) copies memory, as it does under the thread sanitizer.
  int* exec_error = nullptr;
};

Launcher::Launcher() : implementation_(std::make_unique<Implementation>()) {
  void* page = ::mmap(nullptr, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error(ExitCode::machine_refuses, system_error_text("mmap", errno));
  implementation_->exec_error = static_cast<int*>(page);
  // Processes that a workload orphans come to us, so that they can be ended after its trial.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Launcher::~Launcher() {
  ::munmap(implementation_->exec_error, 2 * sizeof(int));
}

Launcher::Launched Launcher::launch(const LaunchSpec& spec, const Clock& clock) {
  Child child;
  child.own_children_ = &own_;
  UniqueFd output_end, errors_end;
  if (!open_pipe(child.output_, output_end) || !open_pipe(child.errors_, errors_end)) {
    return {std::nullopt, system_error_text("pipe", errno)};
  }
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd exec_happened, exec_pipe;
  if (!open_pipe(exec_happened, exec_pipe) || !move_up(exec_pipe))
    return {std::nullopt, system_error_text("pipe", errno)};
  if (spec.regions) {
    child.regions_ = regions_.make(spec.run_as ? std::optional(spec.run_as->user) : std::nullopt);
    // Most workloads mark nothing: they run all the same, and whoever judges is told.
    if (!child.regions_) child.regions_problem_ = system_error_text("make the FIFO for regions", errno);
  }
  ::fcntl(exec_happened.get(), F_SETFL, 0);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : spec.cpus) CPU_SET(static_cast<std::size_t>(cpu), &cpus);

  int* exec_error = implementation_->exec_error;
  exec_error[0] = exec_error[1] = 0;
  process::posix::vfork_launcher launcher;
  std::vector<const char*> environment;
  for (const std::string& variable : spec.environment) environment.push_back(variable.c_str());
  const std::string regions = fmt::format("{}={}", region_variable, child.regions_.path());
  if (child.regions_) environment.push_back(regions.c_str());
  environment.push_back(nullptr);
  launcher.env = environment.data();
  launcher.fd_whitelist.push_back(exec_pipe_place);
  // Boost puts the executable first itself; argv[0] as users know it is what follows the path's last slash.
  const std::vector<std::string> arguments(spec.argv.begin() + 1, spec.argv.end());
  PrepareChild prepare{spec, spec.cpus.empty() ? nullptr : &cpus, exec_error, exec_pipe.get()};
  process::process_stdio stdio{
      {null.get()}, {output_end.get()}, {spec.discard_errors ? null.get() : errors_end.get()}};

  // A context of its own for each launch: Boost tells it of the fork inside the vfork(2) child as well, which
  // would re-open the descriptors of a context in use, in the parent's memory.
  boost::asio::io_context context;
  child.started_ = clock.now();
  boost::system::error_code error;
  auto launched = launcher(context.get_executor(), error, spec.executable, arguments, stdio, prepare);
  const pid_t pid = launcher.pid;
  // vfork(2) returns after the exec, but the thread sanitizer makes a fork(2) of it: wait for the pipe's end.
  exec_pipe.reset();
  for (char ignored; pid > 0 && ::read(exec_happened.get(), &ignored, 1) < 0 && errno == EINTR;) {
  }
  if (pid > 0 && !error && *exec_error == 0) {
    launched.detach();  // reaped by us with wait4(2), which alone tells this child's own rusage
    child.pid_ = pid;
    child.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!child.pidfd_) return {std::nullopt, system_error_text("pidfd_open", errno)};
    return {std::move(child), {}};
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  const int cause = *exec_error != 0 ? *exec_error : error.value();
  return {std::nullopt,
          system_error_text(exec_error[1] != 0 ? "enter folder " + spec.folder : "exec " + spec.executable,
                            cause)};
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      started_(other.started_),
      pidfd_(std::move(other.pidfd_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      regions_(std::move(other.regions_)),
      regions_problem_(std::move(other.regions_problem_)),
      own_children_(other.own_children_) {}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  end_orphans(*own_children_);
}

void Child::reap(ChildResult& result) {
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  // The leader is gone but its group's number stays taken while members live, so this hits only them.
  ::kill(-pid_, SIGKILL);
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
  result.leftovers = end_orphans(*own_children_);
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
