// Settings of NVIDIA's boards: locks of a clock, application clocks ("MEMORY,CORE" in MHz), the power limit
// (W). Set by nvidia-smi; read by it too, or by NVML where that is loaded, which takes microseconds instead
// of a second.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/sysfs.hpp"
#include "orchestrator/settings/nvidia_setter.hpp"
#include "orchestrator/settings/setting.hpp"
#include "probes/gpu/nvml_library.hpp"

namespace dvfs_plan {

inline constexpr std::string_view nvidia_prefix = "nvidia:";

// What all boards' settings are reached by; looked for when first needed.
class NvidiaAccess {
 public:
  // `by_nvml`: readings are asked of NVML first. The guardian does without: it loads no library of a driver.
  NvidiaAccess(const Sysfs& sysfs, bool by_nvml) : sysfs_(sysfs), by_nvml_(by_nvml) {}

  const Sysfs& sysfs() const { return sysfs_; }
  // nullptr: there is no nvidia-smi.
  const NvidiaSetter* setter();
  // nvidia-smi hung when it was asked about this board: it is not asked again.
  bool is_silent(const std::string& uuid) const { return silent_.contains(uuid); }
  // One question to nvidia-smi about a board.
  template <class Ask>
  auto ask(const std::string& uuid, Ask question) {
    auto answer = question(*setter());
    if (setter()->smi().take_hung()) silent_.insert(uuid);
    return answer;
  }
  NvmlLibrary* nvml();  // nullptr: none, or not wanted
  // nullptr: NVML does not know the board.
  nvml::Device device(const std::string& uuid);

 private:
  const Sysfs& sysfs_;
  const bool by_nvml_;
  bool looked_for_setter_ = false, looked_for_nvml_ = false;
  std::optional<NvidiaSetter> setter_;
  std::set<std::string> silent_;  // by UUID
  std::shared_ptr<NvmlLibrary> nvml_;
  std::map<std::string, nvml::Device> devices_;  // by UUID
};

// nullptr: the path is none of these.
std::unique_ptr<Setting> nvidia_setting_at(const std::string& path,
                                           const std::shared_ptr<NvidiaAccess>& access);

}  // namespace dvfs_plan
