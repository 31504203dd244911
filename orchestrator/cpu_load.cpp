#include "orchestrator/cpu_load.hpp"

#include <string>

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

}  // namespace dvfs_plan
