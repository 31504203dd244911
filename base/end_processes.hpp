// Ending what a dead run left behind: the guardian's part of a process group (process_group.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dvfs_plan {

// A run's name, which its processes are known by: that of no process that is there now has the same short mark (limit_mark).
std::string new_run();

// Ends all processes of a dead run, by its control group (may be empty) and by its mark, looking `rounds`
// times, 5 ms apart. False if one is left.
bool end_processes_of(const std::string& run, const std::string& control_group, int rounds);

// Sends SIGKILL to all processes whose environment holds this "NAME=value". False if there was none.
bool kill_marked(const std::string& mark);
// The same of those whose limits hold the run's mark (limit_mark).
bool kill_limited(const std::string& run);
bool is_limited(pid_t pid, const std::string& run);
// Whether one of a process group (setpgid(2)) carries a mark of the run: its number may be another's by now.
bool group_is_of(pid_t group, const std::string& run);
// Whether a process is one of them, as far as this user may see.
bool is_marked(pid_t pid, const std::string& mark);

// The environment variable that is the mark.
inline constexpr const char* run_variable = "DVFS_PLAN_RUN";
// Of programs of the user's that set something for it, and of what they leave running, which outlives trials and meters.
inline constexpr const char* setter_variable = "DVFS_PLAN_SETTER";
// A second mark, which a process keeps that empties its environment, leaves its session and its parents and closes
// all descriptors: all programs of a run are started with RLIMIT_MSGQUEUE (getrlimit(2): the bytes that a user's
// POSIX message queues may take; inherited by fork and execve, shown to all in /proc/PID/limits) lowered by up to
// 128 KiB, to a number whose last 16 bits are this one. nullopt: the limit is too low to be lowered.
std::optional<std::uint64_t> limit_mark(const std::string& run, std::uint64_t limit);
// Where this process's limit of queues is too low (a unit's LimitMSGQUEUE=0) the limit of file locks carries it, which Linux 2.4.25 and newer
// do not enforce (getrlimit(2)). nullopt: both are.
struct MarkedLimit {
  int resource = 0;  // of setrlimit(2)
  std::uint64_t value = 0;
};
std::optional<MarkedLimit> marked_limit(const std::string& run);
bool limits_are_shown();  // not in every container (gVisor)
// And of a service besides: RUN/NAME.
inline constexpr const char* service_variable = "DVFS_PLAN_SERVICE";

}  // namespace dvfs_plan
