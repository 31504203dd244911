// A job that was cancelled from here says so in the folder that all share: Slurm may begin a task in the moment in which it is told to cancel
// it, and then know nothing of what runs there.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/cluster/shared_folder.hpp"

namespace dvfs_plan {

// Both times: the clock of who says it, ns since 1970. Returned: why it could not be handed in; empty: it was.
std::string tell_cancelled(const SharedFolder& folder, const std::string& job, std::int64_t at);

// Whether the job of this task ("1234_3 start 1") was cancelled. A job that was so long before the task began is another one: numbers begin
// anew where a controller loses its state.
bool is_cancelled(const SharedFolder& folder, const std::string& task, std::int64_t task_began_at);

}  // namespace dvfs_plan
