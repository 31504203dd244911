#include "orchestrator/guardian/log.hpp"

#include <unistd.h>

#include "base/journald.hpp"

namespace dvfs_plan {

void log_event(const std::string& message, const std::vector<std::pair<std::string, std::string>>& fields) {
  // Whether it could be written is no reason to do anything else.
  if (::geteuid() == 0) send_to_journal("dvfs-guardian", LogPriority::notice, message, fields);
}

}  // namespace dvfs_plan
