#include "orchestrator/knobs/core_threads.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace dvfs_plan {

std::vector<int> threads_of_core(int cpu, const Sysfs& sysfs) {
  auto threads = parse_cpu_list(
      sysfs.text(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu))
          .value_or(""));
  if (threads) std::sort(threads->begin(), threads->end());
  return std::move(threads).value_or(std::vector<int>{});
}

CoreThreads::CoreThreads(const Sysfs& sysfs) {
  const auto online = parse_cpu_list(sysfs.text("/sys/devices/system/cpu/online").value_or(""));
  for (const int cpu : online.value_or(std::vector<int>{})) {
    const auto threads = threads_of_core(cpu, sysfs);
    if (!threads.empty() && threads.front() != cpu) further_.insert(cpu);
  }
}

bool CoreThreads::has_taken(const std::vector<int>& cpus) const {
  return off_ && !cpus.empty() &&
         std::all_of(cpus.begin(), cpus.end(), [&](int cpu) { return further_.contains(cpu); });
}

}  // namespace dvfs_plan
