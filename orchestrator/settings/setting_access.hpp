// Where a saved setting lives, and how it is read and written there. By its path:
//
//   /sys/...                              an attribute file
//   nvidia:UUID/lock.core, lock.memory    a clock lock: can be reset ("reset"), cannot be read
//   nvidia:UUID/clocks.applications       "MEMORY,CORE" in MHz
//   nvidia:UUID/power.limit               W
//   amdgpu-od:FILE#sclk, #mclk            "LOW HIGH" in MHz, of pp_od_clk_voltage
//
// The guardian, which outlives a killed run, needs no more than this to put the machine back.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/sysfs.hpp"
#include "orchestrator/settings/nvidia_setter.hpp"

namespace dvfs_plan {

std::string nvidia_setting(const std::string& uuid, const std::string& name);
std::string overdrive_setting(const std::string& file, bool core);

class SettingAccess {
 public:
  explicit SettingAccess(const Sysfs& sysfs) : sysfs_(sysfs) {}

  struct Read {
    std::optional<std::string> text;
    std::string problem;      // why there is none
    bool unreadable = false;  // nothing can ever tell: what was written has to be believed
  };
  Read read(const std::string& path);
  // Why it was not taken; empty if it was.
  std::string write(const std::string& path, const std::string& value);
  bool exists(const std::string& path);
  // Whether this user may write it, as far as that can be told without trying.
  bool writable(const std::string& path) const;
  // What the driver sets by itself; nullopt for settings that have no such thing.
  std::optional<std::string> driver_default(const std::string& path);
  // Whether somebody else may change it in the middle of a night, and such a change can be told from ours.
  bool may_be_contested(const std::string& path) const;
  // The shell command that would write it.
  std::string command(const std::string& path, const std::string& value) const;

 private:
  const NvidiaSetter* setter();
  template <class Ask>
  auto ask(const std::string& uuid, Ask question) -> decltype(question(*setter()));

  const Sysfs& sysfs_;
  std::optional<NvidiaSetter> setter_;
  bool looked_for_setter_ = false;
  std::set<std::string> silent_;  // boards (UUID) for which nvidia-smi hung: they are not asked again
};

}  // namespace dvfs_plan
