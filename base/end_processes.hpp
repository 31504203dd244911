// Ending what a dead run left behind: the guardian's part of a process group (process_group.hpp).
#pragma once

#include <string>

namespace dvfs_plan {

// Ends all processes of a dead run, by its control group (may be empty) and by its mark, looking `rounds`
// times, 5 ms apart. False if one is left.
bool end_processes_of(const std::string& run, const std::string& control_group, int rounds);

// The environment variable that is the mark.
inline constexpr const char* run_variable = "DVFS_PLAN_RUN";

}  // namespace dvfs_plan
