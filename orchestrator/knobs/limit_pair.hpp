// Knobs that pin a frequency with a min/max pair of attribute files: cpu.uncore, devfreq, Intel's boards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orchestrator/knobs/knob.hpp"

namespace dvfs_plan {

struct LimitPair {
  std::string target;
  std::string min_file, max_file;
  std::string boost_file;  // set with them where there is one: i915 raises a clock above its maximum to it
};

// `unit`: hertz per unit of the files. `clock_quantity`: see Knob.
std::unique_ptr<Knob> make_limit_knob(std::string axis, AxisOffer offer, std::vector<LimitPair> pairs,
                                      double unit, const Sysfs& sysfs, std::string clock_quantity = {});

}  // namespace dvfs_plan
