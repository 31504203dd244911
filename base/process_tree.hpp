// Processes and their descendants, as /proc shows them (proc(5)): who they are, what they used.
#pragma once

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/units.hpp"

namespace dvfs_plan {

// Children of a process; of one that others may not look into, none.
std::vector<pid_t> children_of(pid_t pid);
// These and all that descend from them.
std::set<pid_t> with_descendants(const std::set<pid_t>& roots);

// Those of a process group (setpgid(2)) that live and descend from us; what has ended and was not waited for is none.
std::set<pid_t> living_of_group(pid_t group);

// It is not there, or a zombie. One whose first thread has ended (pthread_exit(3) in main) is told as a zombie too, and goes on while it has others.
bool has_ended(pid_t pid);
// nullopt: it is not there.
std::optional<pid_t> parent_of(pid_t pid);
// When it was started, in the kernel's ticks since the machine's start (10 ms); nullopt: it is not there.
std::optional<std::int64_t> started_at_tick(pid_t pid);
// The tick that it is.
std::int64_t current_tick();

// As wait4(2) and getrusage(2) tell CPU time.
inline Seconds as_seconds(const timeval& t) {
  return Seconds{static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec)};
}

struct CpuUse {
  Seconds user{0}, system{0};
  void add(const CpuUse& more) {
    user = user + more.user;
    system = system + more.system;
  }
};
inline CpuUse cpu_use_of(const rusage& usage) {
  return {as_seconds(usage.ru_utime), as_seconds(usage.ru_stime)};
}

struct ProcessUse {
  Seconds cpu{0};  // of threads that live, and of children that were waited for
  std::int64_t rss_bytes = 0;
};
// Of each that is still there, added up.
ProcessUse use_of(const std::set<pid_t>& processes);

}  // namespace dvfs_plan
