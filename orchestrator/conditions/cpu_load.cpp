#include "orchestrator/conditions/cpu_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

CpuTimesOfAll read_cpu_times(const Sysfs& sysfs) {
  CpuTimesOfAll times;
  for (const std::string& line : split_lines(sysfs.text("/proc/stat").value_or(""))) {
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    const auto words = split_words(line);
    CpuTimes& cpu = times[static_cast<int>(parse_number(words[0].substr(3)).value_or(-1))];
    // user nice system idle iowait irq softirq steal; guest time is in user already (proc(5)).
    for (std::size_t i = 1; i < words.size() && i <= 8; ++i) {
      const double ticks = parse_number(words[i]).value_or(0);
      cpu.total += ticks;
      if (i != 4 && i != 5) cpu.busy += ticks;
      if (i <= 3) cpu.processes += ticks;
    }
  }
  return times;
}

std::map<int, double> busy_between(const CpuTimesOfAll& before, const CpuTimesOfAll& after) {
  std::map<int, double> busy;
  for (const auto& [cpu, now] : after) {
    const auto then = before.find(cpu);
    if (then == before.end() || now.total <= then->second.total) continue;
    busy[cpu] = (now.busy - then->second.busy) / (now.total - then->second.total);
  }
  return busy;
}

Seconds process_time_between(const CpuTimesOfAll& before, const CpuTimesOfAll& after) {
  double ticks = 0;
  for (const auto& [cpu, now] : after) {
    const auto then = before.find(cpu);
    if (then != before.end()) ticks += std::max(0.0, now.processes - then->second.processes);
  }
  return Seconds{ticks / static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

Seconds own_cpu_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return as_seconds(usage.ru_utime) + as_seconds(usage.ru_stime);
}

std::optional<int> run_queue(const Sysfs& sysfs) {
  for (const std::string& line : split_lines(sysfs.text("/proc/stat").value_or(""))) {
    if (!line.starts_with("procs_running ")) continue;
    if (const auto running = parse_number(line.substr(14)))
      return std::max(0, static_cast<int>(*running) - 1);
  }
  return std::nullopt;
}

ThrottleCounts::ThrottleCounts(const Sysfs& sysfs) : sysfs_(sysfs) {
  const std::string folder = "/sys/devices/system/cpu/";
  for (const std::string& cpu : sysfs.list(folder)) {
    if (!cpu.starts_with("cpu") || cpu.find_first_not_of("0123456789", 3) != std::string::npos) continue;
    const std::string counts = folder + cpu + "/thermal_throttle/";
    if (sysfs.exists(counts + "core_throttle_count")) of_cores_.push_back(counts + "core_throttle_count");
    if (sysfs.exists(counts + "package_throttle_count"))
      of_packages_[sysfs.text(folder + cpu + "/topology/physical_package_id").value_or("")].push_back(
          counts + "package_throttle_count");
  }
}

std::optional<double> ThrottleCounts::read() const {
  std::optional<double> events;
  for (const std::string& path : of_cores_) {
    if (const auto count = sysfs_.number(path)) events = events.value_or(0) + *count;
  }
  if (!events) return std::nullopt;
  // The package's own count is repeated by each of its CPUs.
  for (const auto& [package, paths] : of_packages_) {
    double most = 0;
    for (const std::string& path : paths) most = std::max(most, sysfs_.number(path).value_or(0));
    *events += most;
  }
  return events;
}

}  // namespace dvfs_plan
