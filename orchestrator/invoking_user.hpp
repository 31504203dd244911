// Who asked: under sudo or pkexec the user behind root. Results belong to them and workloads run as them.
#pragma once

#include <optional>

#include "base/child.hpp"

namespace dvfs_plan {

// nullopt if nobody stands behind the current user.
std::optional<Credentials> invoking_user();

}  // namespace dvfs_plan
