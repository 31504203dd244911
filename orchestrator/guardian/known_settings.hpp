// The settings that this project's knobs write, by the form of their paths: what the guardian may be asked
// for at all. Any other attribute file only where the policy names it (policy.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dvfs_plan {

struct KnownSetting {
  std::string kind;         // as the axis is called: "cpu.frequency"; "" for what is only put back, never set
  double scale = 0;         // SI units per unit of its text; 0: its text is a word
  std::string_view unit{};  // of what a policy limits: "Hz", "W"
  std::string board{};      // whose setting it is: a UUID, or the card's folder ("card0"); empty: none's
};

// nullopt: none of ours, or a path that is none ("..", "//", a blank, a control character).
std::optional<KnownSetting> known_setting(const std::string& path);

// A path of /sys that leads nowhere else by its form.
bool is_plain_sys_path(std::string_view path);
// '*' stands for any characters but '/'.
bool matches(std::string_view pattern, std::string_view text);

// Whether a text is one that such a setting may have: a number, a word, "LOW HIGH", "MEMORY,CORE"; nullopt:
// it is none. The numbers in it, in SI units; none for words.
struct SettingNumbers {
  double lowest = 0, highest = 0;
  bool words = false;
};
std::optional<SettingNumbers> numbers_of(const KnownSetting& setting, const std::string& path,
                                         const std::string& text);

// Sensors that only root may read, which a run may be handed.
bool known_sensor(const std::string& path);

}  // namespace dvfs_plan
