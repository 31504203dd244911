// One attribute file and what it said before the sweep.
#pragma once

#include <string>

namespace dvfs_plan {

struct SavedSetting {
  std::string knob;   // for people: "cpu.frequency"
  std::string path;   // "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
  std::string value;  // its text
  bool operator==(const SavedSetting&) const = default;
};

}  // namespace dvfs_plan
