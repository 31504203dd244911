#include "orchestrator/cluster/cancelled_job.hpp"

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

constexpr const char* ending = ".cancelled";
// Clocks of a cluster agree better than that; a task that begins later than this behind its cancelling was submitted behind it.
constexpr std::int64_t most_behind_ns = 60'000'000'000;

}  // namespace

std::string tell_cancelled(const SharedFolder& folder, const std::string& job, std::int64_t at) {
  return folder.hand_in(job + ending, std::to_string(at) + "\n");
}

bool is_cancelled(const SharedFolder& folder, const std::string& task, std::int64_t task_began_at) {
  const auto at = parse_number(trim(folder.read(task.substr(0, task.find('_')) + ending)));
  return at && *at > static_cast<double>(task_began_at - most_behind_ns);
}

}  // namespace dvfs_plan
