#include "orchestrator/guard/restore_settings.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

constexpr int rounds = 4;
constexpr int patience_ms = 200;  // a round; the kernel's work item takes a few at most

// Whether an attribute says `value`: as a whole, or as the choice in brackets.
bool says(const std::string& text, const std::string& value) {
  return text == value || text.find("[" + value + "]") != std::string::npos;
}

// A limit reads lower than written while the firmware caps the policy: written is then all one can do.
std::optional<std::string> explained_by_firmware(const SavedSetting& setting, const Sysfs& sysfs) {
  const auto slash = setting.path.rfind('/');
  const std::string file = setting.path.substr(slash + 1);
  if (file != "scaling_max_freq" && file != "scaling_min_freq") return std::nullopt;
  const auto limit = sysfs.number(setting.path.substr(0, slash) + "/bios_limit");
  const auto now = sysfs.number(setting.path);
  const auto wanted = parse_number(setting.value);
  if (!limit || !now || !wanted || *limit >= *wanted || *now != *limit) return std::nullopt;
  return fmt::format("{} was written as {} and reads {}: the firmware limits this policy now", setting.path,
                     setting.value, static_cast<long>(*now));
}

class Restorer {
 public:
  explicit Restorer(const Sysfs& sysfs) : sysfs_(sysfs) {}

  RestoreOutcome run(const std::vector<SavedSetting>& settings) {
    std::vector<const SavedSetting*> left;
    for (const SavedSetting& setting : settings) {
      if (is_back(setting))
        ++outcome_.unchanged;
      else
        left.push_back(&setting);
    }
    const auto changed = left.size();
    for (int round = 0; round < rounds && !left.empty(); ++round) {
      write(left);
      wait_for(left);
      // Restoring one may have disturbed another (a governor resets the preference): look at all again.
      left.clear();
      for (const SavedSetting& setting : settings) {
        if (!is_back(setting)) left.push_back(&setting);
      }
    }
    for (const SavedSetting* setting : left) {
      const Attribute now = sysfs_.read(setting->path);
      const int error = errors_[setting->path];
      outcome_.failures.push_back({*setting, now.text ? *now.text : std::strerror(now.error),
                                   error != 0 ? std::strerror(error) : ""});
    }
    outcome_.restored = static_cast<int>(changed > left.size() ? changed - left.size() : 0);
    note_firmware(settings);
    return std::move(outcome_);
  }

 private:
  bool is_back(const SavedSetting& setting) const {
    const auto now = sysfs_.text(setting.path);
    if (now && says(*now, setting.value)) return true;
    // Only once it was written: before, a capped limit is not yet the owner's.
    const auto error = errors_.find(setting.path);
    return error != errors_.end() && error->second == 0 && explained_by_firmware(setting, sysfs_);
  }

  void write(const std::vector<const SavedSetting*>& left) {
    for (const SavedSetting* setting : left)
      errors_[setting->path] = sysfs_.write(setting->path, setting->value);
  }

  // The kernel takes some settings in its own time; all of them are waited for together.
  void wait_for(const std::vector<const SavedSetting*>& left) const {
    for (int waited = 0; waited < patience_ms; ++waited) {
      const bool done = std::all_of(left.begin(), left.end(), [&](const SavedSetting* setting) {
        return errors_.at(setting->path) != 0 || is_back(*setting);
      });
      if (done) return;
      ::usleep(1000);
    }
  }

  void note_firmware(const std::vector<SavedSetting>& settings) {
    for (const SavedSetting& setting : settings) {
      const auto now = sysfs_.text(setting.path);
      if (now && says(*now, setting.value)) continue;
      if (auto note = explained_by_firmware(setting, sysfs_)) outcome_.notes.push_back(*note);
    }
  }

  const Sysfs& sysfs_;
  std::map<std::string, int> errors_;  // of the last write, by path; 0: it was taken
  RestoreOutcome outcome_;
};

}  // namespace

RestoreOutcome restore_settings(const std::vector<SavedSetting>& settings, const Sysfs& sysfs) {
  return Restorer(sysfs).run(settings);
}

std::vector<std::string> restore_commands(const RestoreOutcome& outcome) {
  std::vector<std::string> commands;
  for (const auto& failure : outcome.failures) {
    commands.push_back(fmt::format("echo {} | sudo tee {}", shell_quote(failure.setting.value),
                                   shell_quote(failure.setting.path)));
  }
  return commands;
}

}  // namespace dvfs_plan
