#include "orchestrator/conditions/other_setters.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

struct KnownSetter {
  const char* comm;  // as /proc/PID/comm cuts it: 15 characters
  const char* unit;
  const char* why;
  bool sets = true;  // false: it disturbs, but changes no setting
};

constexpr KnownSetter known_setters[] = {
    {"tuned", "tuned", "sets governors and limits by profile"},
    {"tlp", "tlp", "sets governors and limits on power events"},
    {"power-profiles-", "power-profiles-daemon", "sets the energy-performance preference"},
    {"thermald", "thermald", "lowers limits when it is warm"},
    {"irqbalance", "irqbalance", "moves interrupts between CPUs during a trial", false},
    {"auto-cpufreq", "auto-cpufreq", "sets governors and turbo by load"},
    {"cpufreqd", "cpufreqd", "sets governors by rules"},
    {"cpupower-gui-he", "cpupower-gui-helper", "sets governors and limits by profile"},
    {"gamemoded", "gamemoded", "sets the governor while a game runs"},
    {"laptop_mode", "laptop-mode", "sets governors and limits on power events"},
    {"nvidia-powerd", "nvidia-powerd", "moves power limits between CPU and GPU"},
    // What samples sensors: it wakes CPUs, and keeps boards from their deeper idle states.
    {"dcgm-exporter", "dcgm-exporter", "samples all boards and keeps them awake", false},
    {"nv-hostengine", "nvidia-dcgm", "samples all boards and keeps them awake", false},
    {"jtop", "jtop", "samples a Jetson's sensors", false},
    {"netdata", "netdata", "samples the machine each second", false},
    {"telegraf", "telegraf", "samples the machine", false},
    {"collectd", "collectd", "samples the machine", false},
    {"prometheus-node", "prometheus-node-exporter", "samples the machine when it is scraped", false},
    {"node_exporter", "node_exporter", "samples the machine when it is scraped", false},
    {"scaphandre", "scaphandre", "samples RAPL", false},
    {"kepler", "kepler", "samples RAPL and performance counters", false},
};

// Of a CPU, since it was started: proc(5), /proc/PID/stat (14 and 15: time used, 22: started, in ticks) and /proc/uptime.
std::optional<double> cpu_share(const Sysfs& sysfs, const std::string& pid) {
  const std::string stat = sysfs.text("/proc/" + pid + "/stat").value_or("");
  const auto name_ends = stat.rfind(')');
  if (name_ends == std::string::npos) return std::nullopt;
  const auto fields = split_words(stat.substr(name_ends + 1));  // from the third on
  const auto uptime = split_words(sysfs.text("/proc/uptime").value_or(""));
  constexpr std::size_t user = 11, system = 12, started = 19;
  if (fields.size() <= started || uptime.empty()) return std::nullopt;
  const auto used_in_user = parse_number(fields[user]), used_in_system = parse_number(fields[system]),
             since = parse_number(fields[started]), now = parse_number(uptime[0]);
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (!used_in_user || !used_in_system || !since || !now || *now * ticks <= *since) return std::nullopt;
  return (*used_in_user + *used_in_system) / (*now * ticks - *since);
}

}  // namespace

std::vector<OtherSetter> find_other_setters(const Sysfs& sysfs) {
  std::vector<OtherSetter> found;
  for (const std::string& pid : sysfs.list("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto comm = sysfs.text("/proc/" + pid + "/comm");
    // tuned is a Python program: its name is in the command line.
    std::string command = sysfs.text("/proc/" + pid + "/cmdline").value_or("");
    for (char& c : command) c = c == '\0' ? ' ' : c;
    for (const KnownSetter& setter : known_setters) {
      const bool by_script = command.find(fmt::format("/{} ", setter.unit)) != std::string::npos &&
                             command.starts_with("/usr/bin/python");
      if (comm != setter.comm && !by_script) continue;
      found.push_back({setter.unit, std::stoi(pid), setter.why,
                       fmt::format("sudo systemctl stop {}", setter.unit), setter.sets,
                       cpu_share(sysfs, pid)});
    }
  }
  return found;
}

std::string likely_setters(const std::vector<OtherSetter>& setters) {
  std::vector<std::string> names;
  for (const OtherSetter& setter : setters) {
    if (setter.sets)
      names.push_back(fmt::format("{} (pid {}), which {}", setter.name, setter.pid, setter.why));
  }
  return join(names, "; ");
}

}  // namespace dvfs_plan
