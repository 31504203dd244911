// One setting of the machine and what it was before the sweep.
#pragma once

#include <string>

namespace dvfs_plan {

struct SavedSetting {
  std::string knob;  // for people: "cpu.frequency"
  // Where it lives (setting_access.hpp): "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
  // "nvidia:GPU-.../power.limit"
  std::string path;
  std::string value;  // its text
  bool operator==(const SavedSetting&) const = default;
};

}  // namespace dvfs_plan
