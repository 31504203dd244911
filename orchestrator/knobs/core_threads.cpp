#include "orchestrator/knobs/core_threads.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace dvfs_plan {

CoreThreads::CoreThreads(const Sysfs& sysfs) {
  const std::string folder = "/sys/devices/system/cpu/";
  const auto online = parse_cpu_list(sysfs.text(folder + "online").value_or(""));
  for (const int cpu : online.value_or(std::vector<int>{})) {
    const auto siblings = parse_cpu_list(
        sysfs.text(fmt::format("{}cpu{}/topology/thread_siblings_list", folder, cpu)).value_or(""));
    if (siblings && !siblings->empty() && *std::min_element(siblings->begin(), siblings->end()) != cpu)
      further_.insert(cpu);
  }
}

bool CoreThreads::has_taken(const std::vector<int>& cpus) const {
  return off_ && !cpus.empty() &&
         std::all_of(cpus.begin(), cpus.end(), [&](int cpu) { return further_.contains(cpu); });
}

}  // namespace dvfs_plan
