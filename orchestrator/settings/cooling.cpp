#include "orchestrator/settings/cooling.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace dvfs_plan {
namespace {

// Whether one whose type begins so is at work (Documentation/driver-api/thermal/sysfs-api.rst).
bool is_at_work(const Sysfs& sysfs, std::initializer_list<std::string_view> types) {
  const std::string folder = "/sys/class/thermal/";
  for (const std::string& device : sysfs.list(folder)) {
    if (!device.starts_with("cooling_device")) continue;
    const std::string type = sysfs.text(folder + device + "/type").value_or("");
    const bool asked = std::any_of(types.begin(), types.end(),
                                   [&](std::string_view begin) { return type.starts_with(begin); });
    if (asked && sysfs.number(folder + device + "/cur_state").value_or(0) > 0) return true;
  }
  return false;
}

}  // namespace

bool cools_cpus_by_clock(const Sysfs& sysfs) {
  return is_at_work(sysfs, {"cpufreq", "thermal-cpufreq", "Processor"});
}

bool cools_devices_by_clock(const Sysfs& sysfs) {
  return is_at_work(sysfs, {"devfreq", "thermal-devfreq"});
}

}  // namespace dvfs_plan
