#include "orchestrator/settings/settings_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// What takes longer is read at the end only: it would be noticed in the trial.
constexpr Nanoseconds most_of_a_cheap_read = 200'000;
constexpr Nanoseconds least_between_looks = 200'000'000;
constexpr std::int64_t looks_take_one_part_in = 2000;

// Files that any CPU knob saves and that say what somebody asked for, not what is in force.
bool tells_nothing(const std::string& path) {
  return path.ends_with("/scaling_setspeed");
}

bool is_limit(const std::string& path) {
  return path.ends_with("/scaling_max_freq") || path.ends_with("/scaling_min_freq");
}

std::optional<std::string> bios_limit(const std::string& path, const Sysfs& sysfs) {
  return sysfs.text(path.substr(0, path.rfind('/')) + "/bios_limit");
}

// Whether the kernel cools CPUs by their clocks just now (drivers/thermal/cpufreq_cooling.c, ACPI passive
// cooling).
bool cools_by_clock(const Sysfs& sysfs) {
  const std::string folder = "/sys/class/thermal/";
  for (const std::string& device : sysfs.list(folder)) {
    if (!device.starts_with("cooling_device")) continue;
    const std::string type = sysfs.text(folder + device + "/type").value_or("");
    const bool of_cpus =
        type.starts_with("cpufreq") || type.starts_with("thermal-cpufreq") || type == "Processor";
    if (of_cpus && sysfs.number(folder + device + "/cur_state").value_or(0) > 0) return true;
  }
  return false;
}

class WatchingProbe : public Probe {
 public:
  explicit WatchingProbe(std::shared_ptr<SettingsWatch> watch) : watch_(std::move(watch)) {}
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return seconds(least_between_looks); }
  void read(std::span<Sample>) override { watch_->look(); }

 private:
  const std::string name_ = "settings";
  std::vector<Channel> channels_;
  std::shared_ptr<SettingsWatch> watch_;
};

}  // namespace

std::string change_text(const SettingChange& change, Nanoseconds trial_began) {
  std::string when = "seen at the trial's end";
  if (change.first_seen)
    when = *change.first_seen <= trial_began ? "before the trial began"
                                             : fmt::format("first seen {:.2f} s after the trial began",
                                                           seconds(*change.first_seen - trial_began).value());
  return fmt::format("{}: {} was '{}' and reads '{}', {}", change.knob, change.path, printable(change.was),
                     printable(change.now), when);
}

SettingsWatch::SettingsWatch(const std::vector<SavedSetting>& settings, const Sysfs& sysfs,
                             const Clock& clock)
    : sysfs_(sysfs), clock_(clock), access_(sysfs) {
  bool boards = false;
  for (const SavedSetting& setting : settings) {
    if (tells_nothing(setting.path)) continue;
    boards = boards || setting.path.starts_with("nvidia:");
    watched_.push_back({setting, {}, {}, false, false, false});
  }
  if (boards) nvml_ = NvmlLibrary::open(sysfs).library;
}

std::optional<std::string> SettingsWatch::from_nvml(const std::string& path) {
  constexpr std::string_view prefix = "nvidia:";
  const auto slash = path.find('/');
  if (!nvml_ || !path.starts_with(prefix) || slash == std::string::npos) return std::nullopt;
  const std::string uuid = path.substr(prefix.size(), slash - prefix.size());
  const auto [known, is_new] = devices_.try_emplace(uuid, nullptr);
  if (is_new) known->second = nvml_->device_of(uuid);
  const nvml::Device device = known->second;
  if (device == nullptr) return std::nullopt;
  const std::string name = path.substr(slash + 1);
  unsigned milliwatts = 0, memory = 0, core = 0;
  if (name == "power.limit" && nvml_->power_limit(device, milliwatts) == nvml::success)
    return fmt::format("{:.2f}", milliwatts * 1e-3);
  if (name == "clocks.applications" &&
      nvml_->application_clock(device, nvml::clock_memory, memory) == nvml::success &&
      nvml_->application_clock(device, nvml::clock_graphics, core) == nvml::success)
    return fmt::format("{},{}", memory, core);
  return std::nullopt;
}

SettingAccess::Read SettingsWatch::read(const std::string& path) {
  if (auto text = from_nvml(path)) return {std::move(text), "", false};
  return access_.read(path);
}

std::optional<std::string> SettingsWatch::stood_at(const std::string& path) const {
  for (const Watched& one : watched_) {
    if (one.setting.path == path && one.known) return one.text;
  }
  return std::nullopt;
}

void SettingsWatch::begin() {
  changes_.clear();
  cheap_cost_ = whole_cost_ = 0;
  for (Watched& one : watched_) {
    Nanoseconds before = clock_.now();
    const SettingAccess::Read now = read(one.setting.path);
    Nanoseconds took = clock_.now() - before;
    // Once more: a single slow look says little of the next.
    if (took > most_of_a_cheap_read && took < 10 * most_of_a_cheap_read) {
      before = clock_.now();
      read(one.setting.path);
      took = std::min(took, clock_.now() - before);
    }
    one.firmware_limit = is_limit(one.setting.path) ? bios_limit(one.setting.path, sysfs_) : std::nullopt;
    one.known = now.text.has_value();
    one.text = now.text.value_or("");
    one.changed = false;
    one.cheap = one.known && took <= most_of_a_cheap_read;
    whole_cost_ += took;
    if (one.cheap) cheap_cost_ += took;
  }
  cooled_ = cools_by_clock(sysfs_);
  next_look_ = 0;
}

void SettingsWatch::compare(Watched& one, bool at_the_end) {
  if (!one.known || one.changed) return;
  const SettingAccess::Read now = read(one.setting.path);
  // A look that fails once says nothing yet; the one at the end does.
  if (now.text == one.text || (!now.text && !at_the_end)) return;
  one.changed = true;
  SettingChange change{
      one.setting.knob, one.setting.path, one.text, now.text.value_or(now.problem), {}, false};
  if (!at_the_end) change.first_seen = clock_.now();
  // A cap that came or went: the limit then is, or was, the firmware's own.
  if (now.text && is_limit(change.path)) {
    const auto limit = bios_limit(change.path, sysfs_);
    const bool cap_moved =
        limit != one.firmware_limit && (one.firmware_limit == change.was || limit == change.now);
    change.by_firmware = cap_moved || cooled_ || cools_by_clock(sysfs_);
  }
  changes_.push_back(std::move(change));
}

void SettingsWatch::look() {
  const Nanoseconds began = clock_.now();
  if (began < next_look_) return;
  for (Watched& one : watched_) {
    if (one.cheap) compare(one, false);
  }
  // The sampler's period is the clock; looks that cost more than their share of it are made more seldom.
  const Nanoseconds pause = looks_take_one_part_in * (clock_.now() - began);
  next_look_ = pause > least_between_looks ? began + pause : 0;
}

std::vector<SettingChange> SettingsWatch::end() {
  for (Watched& one : watched_) compare(one, true);
  return changes_;
}

std::unique_ptr<Probe> watching_probe(std::shared_ptr<SettingsWatch> watch) {
  return std::make_unique<WatchingProbe>(std::move(watch));
}

}  // namespace dvfs_plan
