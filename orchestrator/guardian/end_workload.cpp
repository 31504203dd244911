#include "orchestrator/guardian/end_workload.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "base/control_group.hpp"
#include "base/end_processes.hpp"
#include "base/process_tree.hpp"
#include "base/region_fifo.hpp"
#include "base/sysfs.hpp"

namespace dvfs_plan {
namespace {

bool become(uid_t user) {
  if (user == ::geteuid()) return true;
  const passwd* const entry = ::getpwuid(user);
  const gid_t group = entry == nullptr ? static_cast<gid_t>(65534) : entry->pw_gid;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(group, group, group) == 0 &&
         ::setresuid(user, user, user) == 0;
}

// Settings are put back first, which may take a minute: by now the group may have ended, and its number be another's.
bool is_there(const Workload& workload) {
  if (workload.child <= 1 || workload.child_started == 0) return false;
  return started_at_tick(workload.child) == workload.child_started ||
         (!workload.run.empty() && group_is_of(workload.child, workload.run));
}

bool end_all(const Workload& workload, int rounds) {
  if (is_there(workload)) ::kill(-workload.child, SIGKILL);
  if (workload.run_is_alive) return true;
  if (!workload.region_folder.empty()) remove_region_folder(workload.region_folder);
  const bool alone = end_processes_of(workload.run, workload.control_group, rounds);
  if (alone && !workload.control_group.empty()) {
    if (kill_control_group(workload.control_group)) ::usleep(1000);
    remove_control_group(workload.control_group);
  }
  return alone;
}

}  // namespace

bool is_alive(pid_t run, std::int64_t started) {
  if (started != 0 && started_at_tick(run) != started) return false;
  constexpr int looks =
      50;  // 10 ms apart: a process that was killed closes its connections before it is gone
  for (int i = 0; i < looks; ++i) {
    const std::string stat = Sysfs().text("/proc/" + std::to_string(run) + "/stat").value_or("");
    const auto name_end = stat.rfind(')');
    const char state = name_end != std::string::npos && name_end + 2 < stat.size() ? stat[name_end + 2] : 'X';
    if (state == 'Z' || state == 'X') return false;
    ::usleep(10'000);
  }
  return true;
}

namespace {

// A child of ours that has become the user, who may stop it: it is killed then. nullopt: it does not even end by that.
std::optional<int> ended_in_time(pid_t child, std::chrono::milliseconds at_most) {
  using Steady = std::chrono::steady_clock;
  const auto until = Steady::now() + at_most;
  int status = 1;
  bool killed = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (Steady::now() >= until + std::chrono::seconds(1)) return std::nullopt;
    if (Steady::now() >= until && !std::exchange(killed, true)) ::kill(child, SIGKILL);
    ::usleep(500);
  }
  return status;
}

}  // namespace

bool end_workload(const Workload& workload, uid_t user, int rounds) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);  // locks and connections are not the user's
    ::_exit(::getppid() == parent && become(user) && end_all(workload, rounds) ? 0 : 1);
  }
  const auto status = ended_in_time(child, std::chrono::milliseconds(5 * rounds + 2000));
  return status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

bool end_own_guardian(pid_t guardian, std::int64_t started, uid_t user, std::chrono::milliseconds at_most) {
  using Steady = std::chrono::steady_clock;
  if (guardian <= 1 || started == 0) return true;
  const auto until = Steady::now() + at_most;
  // As the user: the kernel refuses what is not his.
  if (started_at_tick(guardian) != started) return true;
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    const bool told = become(user) && started_at_tick(guardian) == started &&
                      ::kill(guardian, SIGTERM) == 0 && ::kill(guardian, SIGCONT) == 0;
    ::_exit(told ? 0 : 1);
  }
  const auto status = ended_in_time(child, std::chrono::seconds(2));
  if (!status) return false;
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return true;  // gone by now, or not the user's
  while (is_alive(guardian, started)) {
    if (Steady::now() >= until) return false;
  }
  return true;
}

}  // namespace dvfs_plan
