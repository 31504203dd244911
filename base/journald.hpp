// The system's journal, by its native protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/): one structured line each. Where there is
// no journald nothing is written, and nobody waits.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dvfs_plan {

enum class LogPriority { error = 3, warning = 4, notice = 5, info = 6 };  // syslog(3)

// `fields`: names are given DVFS_PLAN_ in front; a value's line ends are shown, not kept. False: there is no journald (one that is behind may lose a line).
bool send_to_journal(const std::string& identifier, LogPriority priority, const std::string& message,
                     const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace dvfs_plan
