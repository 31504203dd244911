#include "orchestrator/settings/settings_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/cooling.hpp"
#include "orchestrator/settings/nvidia_doors.hpp"

namespace dvfs_plan {
namespace {

// What takes longer is read at the end only: it would be noticed in the trial.
constexpr Nanoseconds most_of_a_cheap_read = 200'000;
constexpr Nanoseconds least_between_looks = 200'000'000;
constexpr std::int64_t looks_take_one_part_in = 2000;

class WatchingProbe : public Probe {
 public:
  explicit WatchingProbe(std::shared_ptr<SettingsWatch> watch) : watch_(std::move(watch)) {}
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return seconds(least_between_looks); }
  bool asks_device() const override { return watch_->asks_devices(); }
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
  return fmt::format("{}: {} was '{}' and reads '{}', {}", change.knob, shown_setting(change.path),
                     printable(change.was), printable(change.now), when);
}

SettingsWatch::SettingsWatch(const std::vector<SavedSetting>& settings, const Sysfs& sysfs,
                             const Clock& clock)
    : sysfs_(sysfs), clock_(clock), access_(sysfs, nvidia_doors(true)) {
  for (const SavedSetting& setting : settings) {
    // What says what somebody asked for, and not what is in force, tells nothing.
    Setting& where = access_.at(setting.path);
    if (where.shows_changes() || !where.can_be_read())
      watched_.push_back({setting, &where, {}, {}, false, false, false});
  }
}

bool SettingsWatch::asks_devices() const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](const Watched& one) { return !one.where->is_file(); });
}

std::optional<std::string> SettingsWatch::stood_at(const std::string& path) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  for (const Watched& one : watched_) {
    if (one.setting.path == path && one.known) return one.text;
  }
  return std::nullopt;
}

bool SettingsWatch::begin() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  changes_.clear();
  cheap_cost_ = whole_cost_ = 0;
  for (Watched& one : watched_) {
    Nanoseconds before = clock_.now();
    const Setting::Read now = one.where->read();
    Nanoseconds took = clock_.now() - before;
    // Once more: a single slow look says little of the next.
    if (took > most_of_a_cheap_read && took < 10 * most_of_a_cheap_read) {
      before = clock_.now();
      one.where->read();
      took = std::min(took, clock_.now() - before);
    }
    one.firmware_limit = one.where->firmware_limit();
    one.known = now.text.has_value();
    one.text = now.text.value_or("");
    one.changed = false;
    one.cheap = one.known && took <= most_of_a_cheap_read;
    whole_cost_ += took;
    if (one.cheap) cheap_cost_ += took;
  }
  cooled_ = cools_cpus_by_clock(sysfs_);
  next_look_ = 0;
  return true;
}

void SettingsWatch::compare(Watched& one, bool at_the_end) {
  if (!one.known || one.changed) return;
  const Setting::Read now = one.where->read();
  // A look that fails once says nothing yet; the one at the end does.
  if (now.text == one.text || (!now.text && !at_the_end)) return;
  one.changed = true;
  SettingChange change{
      one.setting.knob, one.setting.path, one.text, now.text.value_or(now.problem), {}, false};
  if (!at_the_end) change.first_seen = clock_.now();
  // A cap that came or went: the limit then is, or was, the firmware's own.
  if (now.text && one.where->is_clock_limit()) {
    const auto limit = one.where->firmware_limit();
    const bool cap_moved =
        limit != one.firmware_limit && (one.firmware_limit == change.was || limit == change.now);
    change.by_firmware = cap_moved || cooled_ || cools_cpus_by_clock(sysfs_);
  }
  changes_.push_back(std::move(change));
}

void SettingsWatch::look() {
  const std::lock_guard lock(mutex_);
  const Nanoseconds began = clock_.now();
  if (began < next_look_) return;
  for (Watched& one : watched_) {
    if (one.cheap) compare(one, false);
  }
  // The sampler's period is the clock; looks that cost more than their share of it are made more seldom.
  const Nanoseconds pause = looks_take_one_part_in * (clock_.now() - began);
  next_look_ = pause > least_between_looks ? began + pause : 0;
}

std::optional<std::vector<SettingChange>> SettingsWatch::end() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  for (Watched& one : watched_) compare(one, true);
  return changes_;
}

std::unique_ptr<Probe> watching_probe(std::shared_ptr<SettingsWatch> watch) {
  return std::make_unique<WatchingProbe>(std::move(watch));
}

}  // namespace dvfs_plan
