// Who a client is, of what the kernel says of the other end.
#pragma once

#include "orchestrator/guard/connection.hpp"
#include "orchestrator/guardian/policy.hpp"

namespace dvfs_plan {

// Names of the user and of all groups as the user database has them.
Client client_of(const Peer& peer);

}  // namespace dvfs_plan
