// Settings by their path, as plans, journals and people know them:
//
//   /sys/...                              an attribute file (attribute_setting.hpp)
//   nvidia:UUID/lock.core, lock.memory    a clock lock: can be reset ("reset"), cannot be read
//   (nvidia_setting.hpp) nvidia:UUID/clocks.applications       "MEMORY,CORE" in MHz nvidia:UUID/power.limit W
//   nvidia:UUID/workload.profiles         numbers of those that are asked for, "none"
//   nvpmodel:mode                         number of a Jetson's power mode (nvpmodel_setting.hpp)
//   amdgpu-od:FILE#sclk, #mclk            "LOW HIGH" in MHz, of pp_od_clk_voltage (overdrive_setting.hpp)
//   command:NAME ...                      programs of the user's own (command_setting.hpp)
//   beside:/sys/...                       a file that those may take along (beside_setting.hpp)
//
// The guardian, which outlives a killed run, needs no more than this to put the machine back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"
#include "probes/gpu/nvidia_smi.hpp"

namespace dvfs_plan {

class NvidiaAccess;

// What reads settings of NVIDIA's boards in microseconds instead of a second. nullopt: it does not know.
class BoardReader {
 public:
  virtual ~BoardReader() = default;
  virtual std::optional<std::string> power_limit(const std::string& uuid) = 0;         // "700.00", W
  virtual std::optional<std::string> application_clocks(const std::string& uuid) = 0;  // "3201,1980", MHz
};

// How NVIDIA's boards are reached; looked for when first needed.
struct NvidiaDoors {
  std::function<std::optional<NvidiaSmi>(const Sysfs&)> find_smi;
  // Empty: there is none. The guardian does without: it loads no library of a driver.
  std::function<std::unique_ptr<BoardReader>(const Sysfs&)> open_reader = {};
};

std::string nvidia_setting(const std::string& uuid, const std::string& name);
std::string overdrive_setting(const std::string& file, bool core);

class SettingAccess {
 public:
  SettingAccess(const Sysfs& sysfs, NvidiaDoors doors);

  // Kept from the first time on: what a board's program did not answer is not asked again.
  Setting& at(const std::string& path);

 private:
  const Sysfs& sysfs_;
  std::shared_ptr<NvidiaAccess> nvidia_;
  std::map<std::string, std::unique_ptr<Setting>> settings_;
};

}  // namespace dvfs_plan
