#include "base/spawn.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

namespace process = boost::process::v2;

constexpr int first_place = 3;  // behind the standard three

// What the child says before it is another program. Shared with it even where vfork(2) copies memory, as it
// does under the thread sanitizer.
struct FromChild {
  int exec_error;  // errno of what failed
  bool in_folder;  // that was entering the folder
  int outside_because;
};

// One a thread: whoever starts a program waits for its exec.
class SharedPage {
 public:
  SharedPage()
      : page_(::mmap(nullptr, sizeof(FromChild), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) throw Error(ExitCode::machine_refuses, system_error_text("mmap", errno));
  }
  ~SharedPage() { ::munmap(page_, sizeof(FromChild)); }
  SharedPage(const SharedPage&) = delete;
  FromChild& cleared() { return *static_cast<FromChild*>(page_) = {}; }

 private:
  void* page_;
};

// Runs in the child between vfork(2) and execve(2), where memory is the parent's and only system calls
// are safe: glibc's setuid() would send signals to every thread of the parent, so it is called raw.
struct PrepareChild {
  const SpawnSpec& spec;
  const cpu_set_t* cpus;
  FromChild& said;
  const std::vector<int>& places;  // descriptors that become 3, 4, ...
  const std::optional<MarkedLimit>& limit;
  const pid_t parent;

  template <class ChildLauncher>
  process::error_code on_exec_setup(ChildLauncher&, const process::filesystem::path&,
                                    const char* const* argv) {
    if (spec.own_session) ::setsid();
    // Before the change of user, who may not write there.
    if (spec.control_group >= 0 && ::write(spec.control_group, "0", 1) != 1) said.outside_because = errno;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const int place = first_place + static_cast<int>(i);
      // The last one is closed by a successful execve(2), and by nothing before: the parent waits for that.
      const bool last = i + 1 == places.size();
      if (places[i] >= 0 && ::dup3(places[i], place, last ? O_CLOEXEC : 0) < 0) return failed();
    }
    // Boost puts the executable there.
    const_cast<const char**>(argv)[0] = spec.argv[0].c_str();
    if (!spec.keeps_signals) {
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      // What we ignore stays ignored after execve; programs expect the defaults.
      for (const int signal : {SIGPIPE, SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU}) default_action(signal);
    }
    if (spec.can_be_ended) {
      for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) default_action(signal);
    }
    if (cpus != nullptr && ::sched_setaffinity(0, sizeof *cpus, cpus) != 0) return failed();
    if (spec.run_as) {
      const Credentials& user = *spec.run_as;
      if (::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return failed();
      if (::syscall(SYS_setresgid, user.group, user.group, user.group) != 0) return failed();
      if (::syscall(SYS_setresuid, user.user, user.user, user.user) != 0) return failed();
    }
    // Entered as the user that the program runs as: a folder that only root may enter stays closed.
    if (!spec.folder.empty() && ::chdir(spec.folder.c_str()) != 0) {
      said.in_folder = true;
      return failed();
    }
    // Raising it needs no rights. proc_pid_oom_score_adj(5)
    if (spec.first_out_of_memory) {
      const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
      if (fd >= 0) {
        if (::write(fd, "500", 3) < 0) errno = 0;  // without /proc it is like any other
        ::close(fd);
      }
    }
    if (limit) {
      const rlimit both{limit->value, limit->value};
      ::syscall(SYS_prlimit64, 0, limit->resource, &both, nullptr);
    }
    // After the change of user, which clears it.
    if (spec.dies_with_us) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      // A parent that was killed before that is not told of; whoever ends what it started has looked already, and saw
      // no mark yet.
      if (::getppid() != parent) ::_exit(127);
    }
    return {};
  }

  template <class ChildLauncher>
  void on_exec_error(ChildLauncher&, const process::filesystem::path&, const char* const*,
                     const process::error_code& error) {
    if (said.exec_error == 0) said.exec_error = error.value();
    ::_exit(127);  // exit(3) would run the parent's own atexit handlers
  }

  // Boost 1.81 looks for a handler of these five arguments and then calls the one of four: without this
  // overload it finds none, and its exit(3) would tear down the parent's memory.
  template <class ChildLauncher>
  void on_exec_error(ChildLauncher&, const process::error_code&, const process::filesystem::path&,
                     const char* const*, const process::error_code&);

  void default_action(int signal) { ::syscall(SYS_rt_sigaction, signal, kernel_action, nullptr, 8); }

  process::error_code failed() {
    said.exec_error = errno;
    return {errno, boost::system::system_category()};
  }

  // The kernel's own struct sigaction for SIG_DFL: all zero.
  static constexpr std::array<unsigned long, 4> kernel_default{};
  const void* kernel_action = kernel_default.data();
};

// Of what is started with the run's mark in its environment: the second mark, in its limits.
std::optional<MarkedLimit> marked_limit_of(const SpawnSpec& spec) {
  const std::string mark = std::string(run_variable) + "=";
  if (!spec.environment) return std::nullopt;
  for (const std::string& variable : *spec.environment) {
    if (!variable.starts_with(mark)) continue;
    if (const auto marked = marked_limit(variable.substr(mark.size()))) return marked;
  }
  return std::nullopt;
}

// A copy out of the way of the places that the child's own will take.
UniqueFd moved_up(int fd) {
  constexpr int above_all_places = 16;
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, above_all_places));
}

// Of all that is open here, also by libraries that know no O_CLOEXEC.
void close_on_exec_but(const std::vector<int>& kept) {
  for (const int fd : open_descriptors()) {
    if (fd > STDERR_FILENO && std::find(kept.begin(), kept.end(), fd) == kept.end())
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace

std::vector<int> open_descriptors() {
  std::vector<int> open;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder.get())) open.push_back(fd);
  }
  return open;
}

Spawned spawn(const SpawnSpec& spec) {
  static thread_local SharedPage page;
  FromChild& said = page.cleared();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int exec_pipe[2];
  if (::pipe2(exec_pipe, O_CLOEXEC) != 0) return {-1, system_error_text("pipe", errno), 0};
  const UniqueFd exec_happened(exec_pipe[0]);
  UniqueFd closed_by_exec = moved_up(UniqueFd(exec_pipe[1]).get());
  std::vector<UniqueFd> copies;
  bool copied = true;
  // Also of those that are in their place already: dup2(2) leaves them closed by execve(2) then.
  const auto copy_of = [&](int fd) {
    copies.push_back(moved_up(fd));
    copied = copied && copies.back();
    return copies.back().get();
  };
  const auto or_null = [&](int fd) { return copy_of(fd >= 0 ? fd : null.get()); };
  std::vector<int> places;
  for (const int fd : spec.more) places.push_back(fd >= 0 ? copy_of(fd) : -1);
  places.push_back(closed_by_exec.get());
  process::process_stdio stdio{{or_null(spec.input)}, {or_null(spec.output)}, {or_null(spec.errors)}};
  if (!copied || !closed_by_exec)
    return {-1,
            errno == EINVAL || errno == EMFILE
                ? std::string("too few files may be open at once here (ulimit -n); 1024 are enough")
                : system_error_text("copy a descriptor", errno),
            0};
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : spec.cpus) CPU_SET(static_cast<std::size_t>(cpu), &cpus);

  process::posix::vfork_launcher launcher;
  std::vector<const char*> environment;
  if (spec.environment) {
    for (const std::string& variable : *spec.environment) environment.push_back(variable.c_str());
    environment.push_back(nullptr);
    launcher.env = environment.data();
  }
  // Boost 1.81 closes only what lies behind the last descriptor it is told to keep.
  launcher.fd_whitelist.push_back(first_place + static_cast<int>(places.size()) - 1);
  if (!spec.inherited.empty()) {
    close_on_exec_but(spec.inherited);
    // The pipe stays where it is, out of the way of theirs: execve(2) closes it there too.
    places.clear();
    launcher.fd_whitelist.push_back(closed_by_exec.get());
    launcher.fd_whitelist.insert(launcher.fd_whitelist.end(), spec.inherited.begin(), spec.inherited.end());
  }
  const std::vector<std::string> arguments(spec.argv.begin() + 1, spec.argv.end());
  const auto limit = marked_limit_of(spec);
  PrepareChild prepare{spec, spec.cpus.empty() ? nullptr : &cpus, said, places, limit, ::getpid()};

  // A context of its own for each launch: Boost tells it of the fork inside the vfork(2) child as well, which
  // would re-open the descriptors of a context in use, in the parent's memory.
  boost::asio::io_context context;
  boost::system::error_code error;
  launcher.pid = -1;
  std::optional<process::basic_process<boost::asio::io_context::executor_type>> launched;
  try {
    launched.emplace(launcher(context.get_executor(), error, spec.executable, arguments, stdio, prepare));
  } catch (const std::exception&) {
    // Boost could not have what it waits with, which we do not use: the program runs all the same.
  }
  const pid_t pid = launcher.pid;
  // vfork(2) returns after the exec, but the thread sanitizer makes a fork(2) of it: wait for the pipe's end.
  closed_by_exec.reset();
  for (char ignored; pid > 0 && ::read(exec_happened.get(), &ignored, 1) < 0 && errno == EINTR;) {
  }
  if (pid > 0 && !error && said.exec_error == 0) {
    if (launched)
      launched
          ->detach();  // reaped by whoever asked, with wait4(2), which alone tells this child's own rusage
    return {pid, {}, said.outside_because};
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  const int cause = said.exec_error != 0 ? said.exec_error : error.value();
  return {
      -1,
      system_error_text(said.in_folder ? "enter folder " + spec.folder : "exec " + spec.executable, cause),
      0};
}

}  // namespace dvfs_plan
