// Who the programs that an experiment names run as.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/child.hpp"
#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

// `run_as`, else the user behind sudo, else ourselves (nullopt). `what` is it for, in errors. Whoever comes
// through sudo may have himself: the file is his, and naming another user in it must not make him that user.
std::optional<Credentials> user_of(const std::string& what, const std::optional<std::string>& run_as);

// Of each workload, and of each service, by name.
std::map<std::string, std::optional<Credentials>> workload_users(const Plan& plan);
std::map<std::string, std::optional<Credentials>> service_users(const Plan& plan);

}  // namespace dvfs_plan
