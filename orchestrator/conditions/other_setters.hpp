// Programs that set the same knobs as a sweep does, or move work between CPUs, while it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

struct OtherSetter {
  std::string name;  // of its service: "tuned"
  int pid = 0;
  std::string why;                 // "sets governors and limits by profile"
  std::string fix;                 // the command that stops it
  bool sets = true;                // false: it disturbs, but changes no setting
  std::optional<double> cpu = {};  // a share of one CPU, since it was started; nullopt: not known
};

// Those that run now, by their names in /proc.
std::vector<OtherSetter> find_other_setters(const Sysfs& sysfs);

// "tuned (pid 812), which sets governors and limits by profile"; empty if none that we know runs.
std::string likely_setters(const std::vector<OtherSetter>& setters);

}  // namespace dvfs_plan
