// dvfs-plan doctor --self: what this program's own sampling draws on this machine.
#pragma once

#include <string>

#include "base/sysfs.hpp"
#include "base/units.hpp"
#include "orchestrator/sensors/own_draw.hpp"

namespace dvfs_plan {

struct OwnDrawReport {
  OwnDraw draw;
  std::string source;  // "package-0 + dram-0"
  Seconds window{0};
  double others = 0;  // CPUs that other processes kept busy meanwhile
};

// With all probes that the machine has. `lasts`: about so long. Throws Error where nothing counts energy, or somebody sweeps.
OwnDrawReport find_own_draw(const Sysfs& sysfs, Seconds lasts);

std::string own_draw_text(const OwnDrawReport& report);
std::string own_draw_json(const OwnDrawReport& report);

}  // namespace dvfs_plan
