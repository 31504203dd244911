// What the kernel's cpufreq interface (Documentation/admin-guide/pm/cpufreq.rst) offers: asked through
// libcpupower on the machine itself, through plain files for a recorded tree, because libcpupower's paths are
// fixed. A test holds the two against each other on the same trees.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

struct CpufreqPolicy {
  std::string name;       // "policy0"
  std::string path;       // "/sys/devices/system/cpu/cpufreq/policy0"
  std::vector<int> cpus;  // online CPUs it sets
  std::string driver;     // "acpi-cpufreq", "intel_pstate", "amd-pstate-epp", ...
  std::string governor;
  std::vector<std::string> governors;
  long lowest_khz = 0;  // hardware limits
  long highest_khz = 0;
  long min_khz = 0;  // limits in force
  long max_khz = 0;
  std::vector<long> available_khz;     // ascending, boost included; empty where the driver lists none
  std::optional<long> bios_limit_khz;  // what the firmware allows now
};

class CpufreqAccess {
 public:
  virtual ~CpufreqAccess() = default;
  virtual std::vector<CpufreqPolicy> policies() const = 0;
};

std::shared_ptr<CpufreqAccess> cpufreq_by_libcpupower();
std::shared_ptr<CpufreqAccess> cpufreq_by_files(const Sysfs& sysfs);
// libcpupower for the machine itself (root ""), files for a recorded tree.
std::shared_ptr<CpufreqAccess> cpufreq_access(const Sysfs& sysfs);

}  // namespace dvfs_plan
