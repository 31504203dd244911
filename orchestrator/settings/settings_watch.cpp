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

bool capped_by_firmware(const std::string& path, const std::string& was, const std::string& now,
                        const Sysfs& sysfs) {
  const auto slash = path.rfind('/');
  if (path.substr(slash + 1) != "scaling_max_freq" && path.substr(slash + 1) != "scaling_min_freq")
    return false;
  const auto limit = sysfs.number(path.substr(0, slash) + "/bios_limit");
  const auto before = parse_number(was), after = parse_number(now);
  return limit && before && after && *after <= *limit && *limit < *before;
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
    watched_.push_back({setting, {}, false, false, false});
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

bool SettingsWatch::watches(const std::string& path) const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [&](const Watched& one) { return one.setting.path == path; });
}

void SettingsWatch::begin() {
  changes_.clear();
  cheap_cost_ = whole_cost_ = 0;
  for (Watched& one : watched_) {
    const Nanoseconds before = clock_.now();
    const SettingAccess::Read now = read(one.setting.path);
    const Nanoseconds took = clock_.now() - before;
    one.known = now.text.has_value();
    one.text = now.text.value_or("");
    one.changed = false;
    one.cheap = one.known && took <= most_of_a_cheap_read;
    whole_cost_ += took;
    if (one.cheap) cheap_cost_ += took;
  }
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
  if (now.text) change.by_firmware = capped_by_firmware(change.path, change.was, *now.text, sysfs_);
  changes_.push_back(std::move(change));
}

void SettingsWatch::look() {
  const Nanoseconds began = clock_.now();
  if (began < next_look_) return;
  for (Watched& one : watched_) {
    if (one.cheap) compare(one, false);
  }
  const Nanoseconds took = clock_.now() - began;
  next_look_ = began + std::max(least_between_looks, looks_take_one_part_in * took);
}

std::vector<SettingChange> SettingsWatch::end() {
  for (Watched& one : watched_) compare(one, true);
  return changes_;
}

std::unique_ptr<Probe> watching_probe(std::shared_ptr<SettingsWatch> watch) {
  return std::make_unique<WatchingProbe>(std::move(watch));
}

}  // namespace dvfs_plan
