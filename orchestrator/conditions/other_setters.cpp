#include "orchestrator/conditions/other_setters.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

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
};

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
                       fmt::format("sudo systemctl stop {}", setter.unit), setter.sets});
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
