// Whether what was set stays set. Governors, turbo, limits and power caps can be changed by anybody while a
// trial runs (tuned, TLP, thermald, a colleague): the trial then measured something else than it says.
//
// begin() once every knob has been applied: what each setting reads then is what is to stay. look() while the
// workload runs, for settings that cost little to read; all looks together take at most 0.05 % of one CPU.
// end() once the workload is gone, for every setting that can be read at all. NVIDIA's clock locks cannot;
// the delivered clock speaks for them (judge/delivered.cpp).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/sysfs.hpp"
#include "orchestrator/settings/saved_setting.hpp"
#include "orchestrator/settings/setting_access.hpp"
#include "probes/gpu/nvml_library.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

struct SettingChange {
  std::string knob, path;
  std::string was, now;                   // as they read; `now` says why where it cannot be read any more
  std::optional<Nanoseconds> first_seen;  // nullopt: at the end only
  // By the firmware's cap (bios_limit), or by the kernel's cooling of the CPUs: nobody set anything.
  bool by_firmware = false;
};
// "cpu.governor: /sys/... was 'powersave' and reads 'performance', first seen 0.41 s after the trial began".
std::string change_text(const SettingChange& change, Nanoseconds trial_began);

class SettingsWatch {
 public:
  // `settings`: paths of all that the knobs may change (settings_of()).
  SettingsWatch(const std::vector<SavedSetting>& settings, const Sysfs& sysfs, const Clock& clock);

  // False, and nullopt of end(): a look of the sampler's thread has not come back, and what it looks at
  // cannot be told. Called before and behind sampling.
  bool begin();
  // At most as often as its cost allows; called by the sampler's thread between begin() and end().
  void look();
  std::optional<std::vector<SettingChange>> end();
  // A look goes through a driver to a device, and may never come back.
  bool asks_devices() const;

  // What a setting read at begin().
  std::optional<std::string> stood_at(const std::string& path) const;
  // What one whole look at the cheap ones took at begin(), and at all of them.
  Seconds cost_of_a_look() const { return seconds(cheap_cost_); }
  Seconds cost_of_the_end() const { return seconds(whole_cost_); }

 private:
  struct Watched {
    SavedSetting setting;
    Setting* where = nullptr;
    std::string text;                           // what it read at begin()
    std::optional<std::string> firmware_limit;  // then
    bool known = false;
    bool cheap = false;
    bool changed = false;
  };
  void compare(Watched& one, bool at_the_end);

  const Sysfs& sysfs_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // of all below
  SettingAccess access_;
  std::vector<Watched> watched_;
  std::vector<SettingChange> changes_;
  bool cooled_ = false;  // at begin()
  Nanoseconds cheap_cost_ = 0, whole_cost_ = 0, next_look_ = 0;
};

// Lets the sampler's thread look: a probe without channels.
std::unique_ptr<Probe> watching_probe(std::shared_ptr<SettingsWatch> watch);

}  // namespace dvfs_plan
