#include "orchestrator/guard/restore_settings.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

constexpr int rounds = 4;

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
  return fmt::format("{} was written as {} and reads {}: the firmware limits this policy now", setting.path, setting.value,
                     static_cast<long>(*now));
}

class Restorer {
 public:
  explicit Restorer(const Sysfs& sysfs) : sysfs_(sysfs) {}

  RestoreOutcome run(const std::vector<SavedSetting>& settings) {
    std::vector<const SavedSetting*> left;
    for (const SavedSetting& setting : settings) left.push_back(&setting);
    for (int round = 0; round < rounds && !left.empty(); ++round) {
      std::vector<const SavedSetting*> failed;
      outcome_.failures.clear();
      for (const SavedSetting* setting : left) {
        if (!restore(*setting)) failed.push_back(setting);
      }
      left = std::move(failed);
    }
    // Restoring one may have disturbed another (a governor resets the preference): look at all once more.
    if (outcome_.complete()) verify(settings);
    return std::move(outcome_);
  }

 private:
  bool restore(const SavedSetting& setting) {
    const Attribute before = sysfs_.read(setting.path);
    if (before.text && says(*before.text, setting.value)) {
      ++outcome_.unchanged;
      return true;
    }
    const int error = sysfs_.write(setting.path, setting.value);
    const Attribute after = sysfs_.read(setting.path);
    if (error == 0 && after.text && says(*after.text, setting.value)) {
      ++outcome_.restored;
      return true;
    }
    if (error == 0) {
      if (auto note = explained_by_firmware(setting, sysfs_)) {
        outcome_.notes.push_back(*note);
        ++outcome_.restored;
        return true;
      }
    }
    outcome_.failures.push_back({setting, after.text ? *after.text : std::strerror(after.error), error != 0 ? std::strerror(error) : ""});
    return false;
  }

  void verify(const std::vector<SavedSetting>& settings) {
    for (const SavedSetting& setting : settings) {
      const auto now = sysfs_.text(setting.path);
      if ((now && says(*now, setting.value)) || explained_by_firmware(setting, sysfs_)) continue;
      const int unchanged = outcome_.unchanged;
      restore(setting);
      outcome_.unchanged = unchanged;
    }
  }

  const Sysfs& sysfs_;
  RestoreOutcome outcome_;
};

}  // namespace

RestoreOutcome restore_settings(const std::vector<SavedSetting>& settings, const Sysfs& sysfs) { return Restorer(sysfs).run(settings); }

std::vector<std::string> restore_commands(const RestoreOutcome& outcome) {
  std::vector<std::string> commands;
  for (const auto& failure : outcome.failures) {
    commands.push_back(fmt::format("echo {} | sudo tee {}", shell_quote(failure.setting.value), shell_quote(failure.setting.path)));
  }
  return commands;
}

}  // namespace dvfs_plan
