// What root's guardian does, in the system's journal: who had a session, what was set, what was put back.
// Where there is no journald nothing is written (base/journald.hpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dvfs_plan {

// `fields`: names are given DVFS_PLAN_ in front. Does nothing unless we are root.
void log_event(const std::string& message, const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace dvfs_plan
