// Ending what a dead run left behind: the guardian's part of a process group (process_group.hpp).
#pragma once

#include <sys/types.h>

#include <string>

namespace dvfs_plan {

// Ends all processes of a dead run, by its control group (may be empty) and by its mark, looking `rounds`
// times, 5 ms apart. False if one is left.
bool end_processes_of(const std::string& run, const std::string& control_group, int rounds);

// Sends SIGKILL to all processes whose environment holds this "NAME=value". False if there was none.
bool kill_marked(const std::string& mark);
// Whether a process is one of them, as far as this user may see.
bool is_marked(pid_t pid, const std::string& mark);

// The environment variable that is the mark.
inline constexpr const char* run_variable = "DVFS_PLAN_RUN";
// And of a service besides: RUN/NAME.
inline constexpr const char* service_variable = "DVFS_PLAN_SERVICE";

}  // namespace dvfs_plan
