// Services that somebody else runs (`attach`): whether they are there, and which processes they are.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

inline constexpr Seconds answer_limit{2};  // of one that is looked for by its address

// What is wrong, behind "service 'NAME' ".
std::string no_process(const std::string& pid);
std::string no_answer(const std::string& address);

// These processes with all that they started. One that we descend from (attached to, or whoever listens for it) is alone.
std::set<pid_t> with_what_it_started(const std::set<pid_t>& roots);

// Why one cannot be used, before the first trial: it is not there; nullopt: all that workloads use are, as far as
// `attach` is one for all points, and nothing that we start may bring it up.
std::optional<Error> attached_obstacle(const Plan& plan);

// The processes of those whose `attach` is one for all points, with what they started.
std::set<pid_t> attached_processes(const Plan& plan);

}  // namespace dvfs_plan
