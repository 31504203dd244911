// Ending what a dead run left running: as the run's user, so that nothing of anybody else's can be meant.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace dvfs_plan {

// Whether the run still is, after it was given a moment to end: then what carries its mark is its own business, meters
// above all, which it would not start again. `started`: the tick at which it was started, not another of its number; 0:
// not known.
bool is_alive(pid_t run, std::int64_t started);

struct Workload {
  std::string run;                 // whose marks all that it started carries
  bool run_is_alive = false;       // only the child's group is ended then
  pid_t child = 0;                 // the group of the one that was started last; 0: none
  std::int64_t child_started = 0;  // tick: another process may have its number by now
  std::string region_folder, control_group;
};

// False if one is left after `rounds` looks, 5 ms apart; what is looked at is the user's, and may hold a look
// up for ever: it is given 2 s more.
bool end_workload(const Workload& workload, uid_t user, int rounds);

// A user's own guardian, which has set what his programs set while he had the machine: it is told to end (SIGTERM), and so puts back. False:
// it has not within `at_most`. `started`: as for is_alive(); one that is not the user's is left alone.
bool end_own_guardian(pid_t guardian, std::int64_t started, uid_t user, std::chrono::milliseconds at_most);

}  // namespace dvfs_plan
