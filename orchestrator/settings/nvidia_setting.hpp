// Settings of NVIDIA's boards: locks of a clock, application clocks ("MEMORY,CORE" in MHz), the power limit
// (W), the workload power profiles that are asked for ("6", "0,6", "none"). Set by nvidia-smi; read by it too, or by a quicker reader where there is one (NVML), which takes
// microseconds instead of a second.
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
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {

inline constexpr std::string_view nvidia_prefix = "nvidia:";

// What all boards' settings are reached by; looked for when first needed.
class NvidiaAccess {
 public:
  NvidiaAccess(const Sysfs& sysfs, NvidiaDoors doors) : sysfs_(sysfs), doors_(std::move(doors)) {}

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
  BoardReader* reader();  // nullptr: none

 private:
  const Sysfs& sysfs_;
  const NvidiaDoors doors_;
  bool looked_for_setter_ = false, looked_for_reader_ = false;
  std::optional<NvidiaSetter> setter_;
  std::set<std::string> silent_;  // by UUID
  std::unique_ptr<BoardReader> reader_;
};

// nullptr: the path is none of these.
std::unique_ptr<Setting> nvidia_setting_at(const std::string& path,
                                           const std::shared_ptr<NvidiaAccess>& access);

}  // namespace dvfs_plan
