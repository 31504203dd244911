// Settings by their path, as plans, journals and people know them:
//
//   /sys/...                              an attribute file (attribute_setting.hpp)
//   nvidia:UUID/lock.core, lock.memory    a clock lock: can be reset ("reset"), cannot be read
//   (nvidia_setting.hpp) nvidia:UUID/clocks.applications       "MEMORY,CORE" in MHz nvidia:UUID/power.limit W
//   amdgpu-od:FILE#sclk, #mclk            "LOW HIGH" in MHz, of pp_od_clk_voltage (overdrive_setting.hpp)
//
// The guardian, which outlives a killed run, needs no more than this to put the machine back.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

class NvidiaAccess;

std::string nvidia_setting(const std::string& uuid, const std::string& name);
std::string overdrive_setting(const std::string& file, bool core);

class SettingAccess {
 public:
  // `by_nvml`: boards are read by NVML where it can be loaded.
  explicit SettingAccess(const Sysfs& sysfs, bool by_nvml = false);

  // Kept from the first time on: what a board's program did not answer is not asked again.
  Setting& at(const std::string& path);

 private:
  const Sysfs& sysfs_;
  std::shared_ptr<NvidiaAccess> nvidia_;
  std::map<std::string, std::unique_ptr<Setting>> settings_;
};

}  // namespace dvfs_plan
