// The guardian for machines without systemd: listens, starts a process for each session and stands by it.
#pragma once

#include <string>

#include "orchestrator/guardian/session.hpp"

namespace dvfs_plan {

// `path`: of the socket, made for the group dvfs-plan where there is one (0660). Puts back first what an
// earlier run left.
int listen_at(const std::string& path, const GuardianOptions& options);

}  // namespace dvfs_plan
