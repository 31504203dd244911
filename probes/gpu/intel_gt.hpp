// The GTs of an Intel board: the units that have a clock of their own, where xe and i915 keep their files.
// All of them count in MHz. Documentation/gpu/xe/xe_gt_freq.rst; drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c.
#pragma once

#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "probes/gpu/gpu_boards.hpp"

namespace dvfs_plan {

struct IntelGt {
  std::string name;  // "gt0", "tile1/gt1"
  std::string min_file, max_file;
  std::string boost_file;   // i915: what a waiting client raises the clock to; "" for xe
  std::string actual_file;  // what it runs at
  double lowest_mhz = 0, highest_mhz = 0;
  bool media = false;  // encodes and decodes only, in a range of its own
};

std::vector<IntelGt> find_intel_gts(const Sysfs& sysfs, const GpuBoard& board);

}  // namespace dvfs_plan
