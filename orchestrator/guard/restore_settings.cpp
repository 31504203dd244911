#include "orchestrator/guard/restore_settings.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {
bool same_setting(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto one = parse_number(a), other = parse_number(b);
  constexpr double rounding = 0.002;  // boards take whole watts, or eighths
  return one && other && std::abs(*one - *other) <= rounding * std::abs(*other);
}

namespace {

constexpr int rounds = 4;
constexpr std::chrono::milliseconds patience{200};  // a round; the kernel's work item takes a few at most

// Whether an attribute says `value`: as a whole, or as the choice in brackets.
bool reads_as(const std::string& text, const std::string& value) {
  return text == value || text.find("[" + value + "]") != std::string::npos;
}

// Whether setting `one` may change `file` by the way: the kernel changes the files of a policy, a device or a zone by each other; a program of the
// user's, or a profile of the firmware (Documentation/ABI/testing/sysfs-platform_profile), those of clocks and power.
bool may_take_along(std::string_view one, bool is_mode, std::string_view file) {
  constexpr std::string_view of_cpus = "/sys/devices/system/cpu/", of_firmware = "/sys/firmware/acpi/";
  constexpr std::array of_clocks_and_power{of_cpus, of_firmware, std::string_view("/sys/class/powercap/"),
                                           std::string_view("/sys/class/devfreq/"),
                                           std::string_view("/sys/class/drm/")};
  if (is_beside_setting(one)) one.remove_prefix(beside_prefix.size());
  const auto is_of_both = [&](std::string_view folder) {
    return one.starts_with(folder) && file.starts_with(folder);
  };
  const bool takes = is_mode || one.starts_with(of_firmware);
  return is_of_both(of_cpus) || is_of_both(file.substr(0, file.rfind('/') + 1)) ||
         (takes && std::any_of(of_clocks_and_power.begin(), of_clocks_and_power.end(),
                               [&](std::string_view folder) { return file.starts_with(folder); }));
}

class Restorer {
 public:
  Restorer(SettingAccess& access, const KnownApplied& known) : access_(access), known_(known) {}

  RestoreOutcome run(const std::vector<SavedSetting>& all) {
    std::vector<SavedSetting> files, others, modes;
    for (const SavedSetting& setting : all) {
      const Setting& where = access_.at(setting.path);
      (where.is_file() ? files : where.changes_others() ? modes : others).push_back(setting);
    }
    put_back(files);
    leave_again(files);
    put_back(others);
    put_back(modes);
    // They may have taken limits along.
    if (!modes.empty()) {
      leave_again(files);
      put_back_again(files);
      put_back_again(others);
    }
    note_caps(files);
    note_overwritten();
    note_changed_beside();
    note_gone();
    return std::move(outcome_);
  }

 private:
  void put_back(const std::vector<SavedSetting>& all) {
    std::vector<SavedSetting> settings;
    for (const SavedSetting& setting : all) {
      if (!left_to_others(setting)) settings.push_back(setting);
    }
    std::vector<const SavedSetting*> left;
    for (const SavedSetting& setting : settings) {
      if (!is_back(setting))
        left.push_back(&setting);
      else if (!access_.at(setting.path).only_where_taken_along())
        ++outcome_.unchanged;
    }
    const auto changed = left.size();
    try_to_put_back(settings, left);
    outcome_.restored += static_cast<int>(changed > left.size() ? changed - left.size() : 0);
  }

  // Of what was told already: only what is not as it should be is written, and what failed before may have gone well now.
  void put_back_again(const std::vector<SavedSetting>& settings) {
    std::vector<SavedSetting> ours;
    for (const SavedSetting& setting : settings) {
      if (!left_alone_.contains(setting.path)) ours.push_back(setting);
    }
    const auto had_failed = std::erase_if(outcome_.failures, [&](const RestoreOutcome::Failure& failure) {
      return std::any_of(ours.begin(), ours.end(),
                         [&](const SavedSetting& setting) { return setting.path == failure.setting.path; });
    });
    std::vector<const SavedSetting*> left;
    for (const SavedSetting& setting : ours) {
      if (!is_back(setting)) left.push_back(&setting);
    }
    try_to_put_back(ours, left);
    outcome_.restored += static_cast<int>(had_failed > left.size() ? had_failed - left.size() : 0);
  }

  // What the programs that put back have taken along of what is somebody else's.
  void leave_again(const std::vector<SavedSetting>& files) {
    for (const SavedSetting& setting : files) {
      const auto left = left_alone_.find(setting.path);
      if (left == left_alone_.end() || !left->second) continue;
      const auto now = read(setting.path).text;
      if (!now || *now == *left->second) continue;
      if (const std::string problem = access_.at(setting.path).put_back(*left->second).problem;
          !problem.empty())
        outcome_.notes.push_back(
            fmt::format("{} was '{}' until others were put back, and reads '{}' now "
                        "({}); to set it "
                        "again: {}",
                        shown_setting(setting.path), printable(*left->second), printable(*now), problem,
                        access_.at(setting.path).put_back_command(*left->second)));
    }
  }

  // `left`: those of them that are not as they should be, before and after.
  void try_to_put_back(const std::vector<SavedSetting>& settings, std::vector<const SavedSetting*>& left) {
    const auto is_silent = [&](const SavedSetting* setting) { return silent_.contains(setting->path); };
    for (int round = 0; round < rounds && !left.empty(); ++round) {
      if (round > 0 && std::all_of(left.begin(), left.end(), is_silent)) break;  // nothing would tell
      write(left);
      wait_for(left);
      // Restoring one may have disturbed another (a governor resets the preference): look at all again.
      left.clear();
      for (const SavedSetting& setting : settings) {
        if (!is_back(setting)) left.push_back(&setting);
      }
    }
    for (const SavedSetting* setting : left) {
      Setting& where = access_.at(setting->path);
      if (where.only_where_taken_along() && !where.exists()) {
        gone_.emplace(setting->path, *setting);
        continue;
      }
      const auto now = read(setting->path);
      // A program of the machine's (a board's) may have done half of it, but where it says that it did nothing.
      const bool is_done = where.is_file() || where.is_command() || untouched_.contains(setting->path);
      outcome_.failures.push_back({*setting, now.text ? *now.text : now.problem, problems_[setting->path],
                                   !is_done || late_.contains(setting->path)});
    }
  }

  // A reader that hangs would keep the others waiting for a minute at each look; the next who puts back asks it again.
  Setting::Read read(const std::string& path) {
    const auto silent = silent_.find(path);
    if (silent != silent_.end()) return silent->second;
    Setting::Read now = access_.at(path).read();
    if (now.timed_out) silent_.emplace(path, now);
    return now;
  }

  // Of a file that is not on record though files are: what it reads otherwise is somebody else's, unless what the run set took it along. Then it is
  // put back: in silence where that is how each night ends, and told where its owner may have set it since: all that is still to be put back failed
  // before, or a program was killed half way.
  bool may_be_of_another(const std::string& path, Setting& where) {
    if (!known_.files_too || !where.shows_changes() || where.is_cooled()) return false;
    return known_.tried || !known_.knows(path) || !came_along(path) ||
           std::none_of(known_.applied->begin(), known_.applied->end(),
                        [&](const auto& one) { return known_.knows(one.first); });
  }
  bool came_along(const std::string& path) {
    return std::any_of(known_.applied->begin(), known_.applied->end(), [&](const auto& one) {
      return one.first != path && may_take_along(one.first, access_.at(one.first).changes_others(), path);
    });
  }

  // What the driver or the firmware sets by itself.
  static bool is_of_machine(Setting& where, const std::string& text) {
    const auto by_driver = where.driver_default(), by_firmware = where.firmware_limit();
    return (by_driver && same_setting(text, *by_driver)) || (by_firmware && same_setting(text, *by_firmware));
  }

  // What somebody else set after we did is theirs: told, not overwritten. It is ours, or nobody's, if it is
  // what was there before, what we wrote last, or what the driver sets by itself. Files that the kernel changes by each other (a
  // governor and its limits) are put back whatever they say.
  bool left_to_others(const SavedSetting& setting) {
    Setting& where = access_.at(setting.path);
    static const std::set<std::string> nothing;
    const bool on_record = known_.applied != nullptr && known_.applied->contains(setting.path);
    if (where.only_where_taken_along() && !on_record && known_.knows(setting.path)) {
      look_beside(setting, where);
      left_alone_[setting.path] = read(setting.path).text;
      return true;
    }
    const bool off_record = !where.may_be_contested() && !on_record;
    if (off_record && !may_be_of_another(setting.path, where)) return false;
    const auto& ours = on_record ? known_.applied->at(setting.path) : nothing;
    const auto now = read(setting.path).text;
    if (!now || reads_as(*now, setting.value) || same_setting(*now, setting.value)) return false;
    if (where.only_where_taken_along() && ours.contains(went_by_a_program)) return false;
    const bool is_ours = std::any_of(ours.begin(), ours.end(), [&](const std::string& text) {
      return reads_as(*now, text) || same_setting(*now, text);
    });
    if (is_ours || is_of_machine(where, *now)) return false;
    const bool is_his =
        known_.knows(setting.path) &&
        (where.may_be_contested() || ((off_record || known_.tried) && !came_along(setting.path)));
    if (!is_his) {
      overwritten_.push_back(fmt::format("{} read '{}'", shown_setting(setting.path), printable(*now)));
      return false;
    }
    std::vector<std::string> texts;  // as it was asked for, and once each
    for (const std::string& text : ours) {
      const auto is_it = [&](const std::string& other) { return same_setting(text, other); };
      if (!is_it(setting.value) && std::none_of(texts.begin(), texts.end(), is_it)) texts.push_back(text);
    }
    outcome_.notes.push_back(
        fmt::format("{} is '{}', which is neither what the run set ({}) nor what was there before ('{}'): "
                    "somebody else changed it meanwhile, and it was left so; to put it back: {}",
                    shown_setting(setting.path), *now, texts.empty() ? "nothing" : join(texts, ", "),
                    setting.value, access_.at(setting.path).put_back_command(setting.value)));
    ++outcome_.left;
    left_alone_[setting.path] = now;
    return true;
  }

  // Where it is not known what the run had set there somebody's own value may be gone by it.
  void note_overwritten() {
    if (overwritten_.empty()) return;
    const bool one = overwritten_.size() == 1;
    outcome_.notes.push_back(fmt::format(
        "{} before {} put back: that the run had set {} is not on record; if somebody else did, {} "
        "to be set again",
        join(overwritten_, ", "), one ? "it was" : "they were", one ? "this" : "these",
        one ? "it is" : "they are"));
  }

  // None of the sweep's, and no program of the user's was seen to take it along: what began it may have gone on behind its end.
  void note_changed_beside() {
    if (changed_beside_.empty()) return;
    constexpr std::size_t most = 3;
    const std::size_t more = changed_beside_.size() - std::min(most, changed_beside_.size());
    changed_beside_.resize(std::min(most, changed_beside_.size()));
    outcome_.notes.push_back(
        fmt::format("while the programs of `set` were in use this changed, by somebody else or by what one "
                    "of them began and that went on "
                    "behind its end, and was left so: {}{}",
                    join(changed_beside_, "; "), more > 0 ? fmt::format("; and {} more", more) : ""));
  }
  // A governor's tunables, where somebody else has chosen another meanwhile.
  void note_gone() {
    for (const auto& [path, setting] : gone_) {
      Setting& where = access_.at(path);
      if (!where.exists())
        outcome_.notes.push_back(fmt::format(
            "{} was '{}' and is not there any more: when it comes back it is to be set again: {}",
            shown_setting(setting.path), printable(setting.value), where.put_back_command(setting.value)));
    }
  }
  void look_beside(const SavedSetting& setting, Setting& where) {
    const auto now = read(setting.path).text;
    if (!now || reads_as(*now, setting.value) || same_setting(*now, setting.value) || where.is_cooled())
      return;
    if (is_of_machine(where, *now)) return;
    changed_beside_.push_back(fmt::format("{} was '{}' and is '{}' (to put it back: {})",
                                          shown_setting(setting.path), printable(setting.value),
                                          printable(*now), where.put_back_command(setting.value)));
  }

  bool is_back(const SavedSetting& setting) {
    const auto written = problems_.find(setting.path);
    const bool taken = written != problems_.end() && written->second.empty();
    const auto now = read(setting.path);
    // A lock that this run never set need not be reset, and an owner's own would be lost by it.
    if (!access_.at(setting.path).can_be_read())
      return taken || (known_.knows(setting.path) && !known_.applied->contains(setting.path));
    const bool same = now.text && reads_as(*now.text, setting.value);
    // The same number in other digits need not be the same setting ("1e0" and "1" are two masks): only once it was put back.
    const bool same_number = now.text && access_.at(setting.path).is_command() && taken &&
                             reads_as_asked(setting.value, *now.text);
    // One that has not shown what was set there is believed once it was put back.
    const bool doubted =
        (known_.unshown != nullptr && known_.unshown->contains(setting.path)) ||
        // Killed while the setter was at work: whether its reader would have shown it is not known.
        (known_.unsettled != nullptr && known_.unsettled->contains(setting.path) &&
         access_.at(setting.path).is_command());
    if (same) return taken || !doubted;
    if (same_number) return true;
    // Only once it was written: before, a capped limit is not yet the owner's.
    return taken && explained_by_cap(setting);
  }

  void write(const std::vector<const SavedSetting*>& left) {
    for (const SavedSetting* setting : left) {
      const Setting::Written written = access_.at(setting->path).put_back(setting->value);
      problems_[setting->path] = written.problem;
      if (written.may_go_on) late_.insert(setting->path);
      written.untouched ? void(untouched_.insert(setting->path)) : void(untouched_.erase(setting->path));
      if (known_.is_back && !access_.at(setting->path).is_file() && is_back(*setting))
        known_.is_back(setting->path);
    }
  }

  // The kernel takes some settings in its own time; all of them are waited for together.
  void wait_for(const std::vector<const SavedSetting*>& left) {
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
      const bool done = std::all_of(left.begin(), left.end(), [&](const SavedSetting* setting) {
        return !problems_.at(setting->path).empty() || is_back(*setting);
      });
      if (done) return;
      ::usleep(1000);
    } while (std::chrono::steady_clock::now() < until);
  }

  // A limit reads lower than written while the firmware or turbo that is off caps the policy, or the kernel cools by it: written is then all
  // one can do.
  std::optional<std::string> explained_by_cap(const SavedSetting& setting) {
    Setting& where = access_.at(setting.path);
    const auto number = [](const std::optional<std::string>& text) {
      return parse_number(text.value_or(""));
    };
    const auto limit = number(where.firmware_limit()), now = number(read(setting.path).text);
    const auto wanted = parse_number(setting.value);
    if (!now || !wanted || *now >= *wanted) return std::nullopt;
    const bool capped = limit && *now == *limit;
    if (!capped && !where.is_cooled()) return std::nullopt;
    return fmt::format("{} was written as {} and reads {}: {} limits it now", setting.path, setting.value,
                       static_cast<long>(*now), capped ? where.limited_by() : "the kernel's cooling");
  }

  void note_caps(const std::vector<SavedSetting>& settings) {
    for (const SavedSetting& setting : settings) {
      const auto now = read(setting.path).text;
      if (now && reads_as(*now, setting.value)) continue;
      const Setting& where = access_.at(setting.path);
      if (where.limited_by().empty() && !where.is_cooled()) continue;
      if (auto note = explained_by_cap(setting)) outcome_.notes.push_back(*note);
    }
  }

  SettingAccess& access_;
  const KnownApplied known_;
  std::map<std::string, Setting::Read> silent_;  // by path: readers that hung, and what is said of them
  std::map<std::string, std::string> problems_;  // of the last write, by path; empty: it was taken
  std::set<std::string> late_, untouched_;       // of those, as Setting::Written says, by path
  std::map<std::string, std::optional<std::string>> left_alone_;  // what somebody else set meanwhile, by path
  std::vector<std::string> changed_beside_;   // of what programs of the user's may take along
  std::map<std::string, SavedSetting> gone_;  // with what somebody else changed
  std::vector<std::string> overwritten_;      // what read something that is not known to be ours
  RestoreOutcome outcome_;
};

}  // namespace

std::set<std::string> may_be_held_by_daemons(const std::vector<SavedSetting>& settings, SettingAccess& access,
                                             const AppliedByUs* applied) {
  std::set<std::string> held;
  for (const SavedSetting& setting : settings) {
    if ((applied == nullptr || applied->contains(setting.path)) && access.at(setting.path).is_command())
      held.insert(setting.path);
  }
  return held;
}

RestoreOutcome restore_settings(const std::vector<SavedSetting>& settings, SettingAccess& access,
                                const KnownApplied& known) {
  return Restorer(access, known).run(settings);
}

}  // namespace dvfs_plan
