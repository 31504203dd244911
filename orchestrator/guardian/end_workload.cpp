#include "orchestrator/guardian/end_workload.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/control_group.hpp"
#include "base/end_processes.hpp"
#include "base/region_fifo.hpp"

namespace dvfs_plan {
namespace {

bool become(uid_t user) {
  if (user == ::geteuid()) return true;
  const passwd* const entry = ::getpwuid(user);
  const gid_t group = entry == nullptr ? static_cast<gid_t>(65534) : entry->pw_gid;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(group, group, group) == 0 &&
         ::setresuid(user, user, user) == 0;
}

bool end_all(const Workload& workload, int rounds) {
  if (workload.child > 1) ::kill(-workload.child, SIGKILL);
  if (!workload.region_folder.empty()) remove_region_folder(workload.region_folder);
  const bool alone = end_processes_of(workload.run, workload.control_group, rounds);
  if (alone && !workload.control_group.empty()) {
    if (kill_control_group(workload.control_group)) ::usleep(1000);
    remove_control_group(workload.control_group);
  }
  return alone;
}

}  // namespace

bool end_workload(const Workload& workload, uid_t user, int rounds) {
  if (user == ::geteuid()) return end_all(workload, rounds);
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) ::_exit(become(user) && end_all(workload, rounds) ? 0 : 1);
  int status = 1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace dvfs_plan
