#include "orchestrator/guard/guardian.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/process_group.hpp"
#include "base/region_fifo.hpp"
#include "base/spawn.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/restore_settings.hpp"

namespace dvfs_plan {
namespace {

// Where the guardian finds the locks that it shares with the run.
constexpr int lock_place = 3, machine_place = 4;

void end_control_group(const std::string& path) {
  if (path.empty()) return;
  if (kill_control_group(path)) ::usleep(1000);
  remove_control_group(path);
}

}  // namespace

Guardian::Guardian(const std::string& state_folder, const std::string& sysfs_root, const UniqueFd& lock,
                   const UniqueFd& machine) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw Error(ExitCode::machine_refuses, system_error_text("pipe", errno));
  UniqueFd read_end(fds[0]);
  pipe_.reset(fds[1]);
  SpawnSpec start{"/proc/self/exe", {guardian_name, state_folder, sysfs_root}};
  start.input = read_end.get();
  start.errors = STDERR_FILENO;
  start.keeps_signals = true;  // until it says itself which it ignores
  static_assert(lock_place == 3 && machine_place == 4);
  start.more = {lock.get(), machine.get()};
  const Spawned spawned = spawn(start);
  pid_ = spawned.pid;
  if (pid_ < 0)
    throw Error(ExitCode::machine_refuses, "start the guardian: " + spawned.problem, "nothing was set");
}

Guardian::~Guardian() {
  // Closing the pipe without "done" is the signal: it restores what the run could not.
  pipe_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

bool Guardian::alive() {
  if (pid_ <= 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

void Guardian::say(const std::string& line) {
  const ssize_t written = ::write(pipe_.get(), line.data(), line.size());
  static_cast<void>(written);  // EPIPE: it is gone; alive() tells before the next trial
}

void Guardian::note_child(pid_t child) {
  say(fmt::format("child {}\n", child));
}

void Guardian::note_traces(const WorkloadTraces& traces) {
  say(fmt::format("regions {}\ngroup {}\n", traces.region_folder, traces.control_group));
}

void Guardian::intend(const std::string& path, const std::string& text) {
  say(fmt::format("intends {}\t{}\n", path, text));
}

void Guardian::withdraw(const std::string& path) {
  say(fmt::format("withdraws {}\n", path));
}

void Guardian::dismiss() {
  say("done\n");
  pipe_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int guardian_main(const std::string& state_folder, const std::string& sysfs_root) {
  ::prctl(PR_SET_NAME, guardian_name);
  // The locks are ours, not those of programs we run.
  for (const int place : {lock_place, machine_place}) ::fcntl(place, F_SETFD, FD_CLOEXEC);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU})
    std::signal(signal, SIG_IGN);
  // The kernel must not choose the one process that can put the machine back. Root only; else it stays as it
  // is.
  Sysfs().write("/proc/self/oom_score_adj", "-1000");

  std::string heard;
  WorkloadTraces traces;
  pid_t child = 0;
  bool done = false;
  AppliedByUs applied;
  char buffer[512];
  for (ssize_t count; !done && ((count = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0 ||
                                (count < 0 && errno == EINTR));) {
    if (count > 0) heard.append(buffer, static_cast<std::size_t>(count));
    for (auto end = heard.find('\n'); end != std::string::npos; end = heard.find('\n')) {
      const std::string line = heard.substr(0, end);
      heard.erase(0, end + 1);
      if (line == "done")
        done = true;
      else if (line.starts_with("child "))
        child = static_cast<pid_t>(std::strtol(line.c_str() + 6, nullptr, 10));
      else if (line.starts_with("regions "))
        traces.region_folder = line.substr(8);
      else if (line.starts_with("group "))
        traces.control_group = line.substr(6);
      else if (const auto tab = line.find('\t'); line.starts_with("intends ") && tab != std::string::npos)
        applied[line.substr(8, tab - 8)].insert(line.substr(tab + 1));
      else if (line.starts_with("withdraws "))
        applied.erase(line.substr(10));
    }
  }
  if (done) return 0;

  // The run is dead. Its direct child got SIGKILL with it; its group and its daemons did not.
  if (child > 0) ::kill(-child, SIGKILL);
  if (!traces.region_folder.empty()) remove_region_folder(traces.region_folder);
  try {
    StateFolder folder(state_folder);
    const auto journal = read_journal(folder);
    if (!journal) {
      end_control_group(traces.control_group);
      return 0;
    }
    constexpr int at_once = 20, as_long_as_a_setter_may_take = 6000;  // rounds of 5 ms
    bool alone = end_processes_of(journal->run, traces.control_group, at_once);
    const Sysfs sysfs(sysfs_root);
    RestoreOutcome outcome = restore_settings(journal->settings, sysfs, &applied);
    if (!alone) {
      // One that sits in the driver may still set something: what it does is undone when it has gone.
      alone = end_processes_of(journal->run, traces.control_group, as_long_as_a_setter_may_take);
      outcome = restore_settings(journal->settings, sysfs, &applied);
    }
    end_control_group(traces.control_group);
    for (const std::string& note : outcome.notes)
      write_stderr(fmt::format("\n{}: {}\n", guardian_name, note));
    if (outcome.complete() && !alone) {
      write_stderr(fmt::format(
          "\n{}: the run was killed and its settings were put back, but a process of it does not end and may "
          "yet change them; the journal is kept. When it is gone:\n  dvfs-plan restore\n",
          guardian_name));
      return static_cast<int>(ExitCode::not_restored);
    }
    if (outcome.complete()) {
      remove_journal(folder);
      write_stderr(fmt::format("\n{}: the run was killed; {} settings put back, {} were as before\n",
                               guardian_name, outcome.restored, outcome.unchanged));
      return 0;
    }
    write_stderr(fmt::format("\n{}: the run was killed and {} settings could not be put back:\n",
                             guardian_name, outcome.failures.size()));
    for (const std::string& command : restore_commands(outcome)) write_stderr("  " + command + "\n");
  } catch (const std::exception& fault) {
    write_stderr(fmt::format("\n{}: {}\n", guardian_name, fault.what()));
  }
  return static_cast<int>(ExitCode::not_restored);
}

}  // namespace dvfs_plan
