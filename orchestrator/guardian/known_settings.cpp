#include "orchestrator/guardian/known_settings.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/settings/attribute_setting.hpp"

namespace dvfs_plan {
namespace {

struct Form {
  std::string_view pattern, kind;
  double scale;
  std::string_view unit;
};

// Documentation/admin-guide/pm/{cpufreq,intel_pstate,intel_uncore_frequency_scaling,cpuidle}.rst,
// Documentation/power/powercap/powercap.rst,
// Documentation/ABI/testing/sysfs-class-devfreq, Documentation/gpu/amdgpu/thermal.rst,
// Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon; NVIDIA's: settings/setting_access.hpp.
constexpr Form forms[] = {
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq", "cpu.frequency", 1e3, "Hz"},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq", "cpu.frequency", 1e3, "Hz"},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_setspeed", "cpu.frequency", 1e3, "Hz"},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "cpu.governor", 0, ""},
    {"/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference", "cpu.epp", 0, ""},
    {"/sys/devices/system/cpu/cpufreq/policy*/boost", "cpu.turbo", 1, ""},
    {"/sys/devices/system/cpu/cpufreq/boost", "cpu.turbo", 1, ""},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "cpu.turbo", 1, ""},
    {"/sys/devices/system/cpu/intel_uncore_frequency/package_*/max_freq_khz", "cpu.uncore", 1e3, "Hz"},
    {"/sys/devices/system/cpu/intel_uncore_frequency/package_*/min_freq_khz", "cpu.uncore", 1e3, "Hz"},
    {"/sys/devices/system/cpu/intel_uncore_frequency/uncore*/max_freq_khz", "cpu.uncore", 1e3, "Hz"},
    {"/sys/devices/system/cpu/intel_uncore_frequency/uncore*/min_freq_khz", "cpu.uncore", 1e3, "Hz"},
    {"/sys/devices/system/cpu/cpu*/cpuidle/state*/disable", "cpu.cstates", 1, ""},
    // The long and the short term, of packages alone: see is_part_of_package().
    {"/sys/class/powercap/intel-rapl*/constraint_0_power_limit_uw", "cpu.power_limit", 1e-6, "W"},
    {"/sys/class/powercap/intel-rapl*/constraint_1_power_limit_uw", "cpu.power_limit", 1e-6, "W"},
    {"/sys/class/devfreq/*/max_freq", "devfreq", 1, "Hz"},
    {"/sys/class/devfreq/*/min_freq", "devfreq", 1, "Hz"},
    {"/sys/class/drm/card*/device/power_dpm_force_performance_level", "gpu.core", 0, ""},
    {"/sys/class/drm/card*/device/pp_dpm_sclk", "gpu.core", 1, ""},
    {"/sys/class/drm/card*/device/pp_dpm_mclk", "gpu.memory", 1, ""},
    {"/sys/class/drm/card*/device/hwmon/hwmon*/power*_cap", "gpu.power_limit", 1e-6, "W"},
    {"/sys/class/drm/card*/device/hwmon/hwmon*/power*_max", "gpu.power_limit", 1e-6, "W"},
    {"/sys/class/drm/card*/device/tile*/gt*/freq0/max_freq", "gpu.core", 1e6, "Hz"},
    {"/sys/class/drm/card*/device/tile*/gt*/freq0/min_freq", "gpu.core", 1e6, "Hz"},
    {"/sys/class/drm/card*/gt/gt*/rps_*_freq_mhz", "gpu.core", 1e6, "Hz"},
    {"/sys/class/drm/card*/gt_*_freq_mhz", "gpu.core", 1e6, "Hz"},
    {"amdgpu-od:/sys/class/drm/card*/device/pp_od_clk_voltage#sclk", "gpu.core", 1e6, "Hz"},
    {"amdgpu-od:/sys/class/drm/card*/device/pp_od_clk_voltage#mclk", "gpu.memory", 1e6, "Hz"},
    {"nvidia:GPU-*/lock.core", "gpu.core", 1e6, "Hz"},
    {"nvidia:GPU-*/lock.memory", "gpu.memory", 1e6, "Hz"},
    {"nvidia:GPU-*/clocks.applications", "gpu.core", 1e6, "Hz"},
    {"nvidia:GPU-*/power.limit", "gpu.power_limit", 1, "W"},
    {"nvidia:GPU-*/workload.profiles", "gpu.profile", 0, ""},
};

constexpr std::string_view sensors[] = {
    "/sys/class/powercap/intel-rapl*/energy_uj", "/sys/class/hwmon/hwmon*/energy*_input",
    "/sys/class/hwmon/hwmon*/power*_input", "/sys/class/hwmon/hwmon*/power*_average",
    "/sys/class/hwmon/hwmon*/device/power*_average"};

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._:-#").find(c) != std::string_view::npos;
}

// "card0" of ".../drm/card0/...", "GPU-..." of "nvidia:GPU-.../...".
std::string board_of(const std::string& path) {
  for (const std::string_view before : {"nvidia:", "/sys/class/drm/"}) {
    const auto at = path.find(before);
    if (at == std::string::npos) continue;
    const auto from = at + before.size();
    return path.substr(from, path.find('/', from) - from);
  }
  return {};
}

// intel-rapl:0 and intel-rapl-mmio:0 are packages, intel-rapl:0:1 is a part of one.
bool is_part_of_package(const std::string& path) {
  return path.starts_with("/sys/class/powercap/") && std::count(path.begin(), path.end(), ':') != 1;
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// "6", "0,6".
bool is_list_of_numbers(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.front() != ',' && text.back() != ',' &&
         text.find(",,") == std::string_view::npos &&
         text.find_first_not_of("0123456789,") == std::string_view::npos;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*')
    return !text.empty() && text.front() == pattern.front() && matches(pattern.substr(1), text.substr(1));
  for (std::size_t taken = 0;; ++taken) {
    if (matches(pattern.substr(1), text.substr(taken))) return true;
    if (taken == text.size() || text[taken] == '/') return false;
  }
}

bool is_plain_sys_path(std::string_view path) {
  return path.starts_with("/sys/") && path.size() < 512 &&
         std::all_of(path.begin(), path.end(), is_path_character) &&
         path.find("//") == std::string_view::npos && path.find("/../") == std::string_view::npos &&
         path.find("/./") == std::string_view::npos && !path.ends_with("/..") && !path.ends_with('/');
}

std::optional<KnownSetting> known_setting(const std::string& path) {
  const bool plain = path.size() < 512 && std::all_of(path.begin(), path.end(), is_path_character) &&
                     path.find("..") == std::string::npos && path.find("//") == std::string::npos;
  if (!plain || is_part_of_package(path)) return std::nullopt;
  if (is_governor_tunable(path)) return KnownSetting{"", 1, "", ""};
  for (const Form& form : forms) {
    if (matches(form.pattern, path))
      return KnownSetting{std::string(form.kind), form.scale, form.unit, board_of(path)};
  }
  return std::nullopt;
}

std::optional<SettingNumbers> numbers_of(const KnownSetting& setting, const std::string& path,
                                         const std::string& text) {
  if (path.ends_with("/workload.profiles"))
    return text == "none" || is_list_of_numbers(text) ? std::optional(SettingNumbers{0, 0, true})
                                                      : std::nullopt;
  if (setting.scale == 0) return is_word(text) ? std::optional(SettingNumbers{0, 0, true}) : std::nullopt;
  if (path.starts_with("nvidia:") && path.find("/lock.") != std::string::npos && text == "reset")
    return SettingNumbers{0, 0, true};
  std::vector<std::string> parts;
  if (path.starts_with("amdgpu-od:")) {
    parts = split_words(text);
    if (parts.size() != 2 || text != parts[0] + " " + parts[1]) return std::nullopt;
  } else if (path.ends_with("/clocks.applications")) {
    const auto comma = text.find(',');
    if (comma == std::string::npos) return std::nullopt;
    // The memory clock, which goes with it, is asked for by itself (policy.cpp).
    if (!parse_number(text.substr(0, comma)) || text[0] == '0') return std::nullopt;
    parts = {text.substr(comma + 1)};
  } else {
    parts = {text};
  }
  SettingNumbers numbers{1e300, -1e300, false};
  for (const std::string& part : parts) {
    // The kernel takes a leading 0 for octal.
    const bool octal = part.size() > 1 && part[0] == '0' && part[1] != '.';
    const bool digits = !part.empty() && part.size() <= 20 && !octal &&
                        part.find_first_not_of("0123456789.") == std::string::npos;
    const auto number = digits ? parse_number(part) : std::nullopt;
    if (!number) return std::nullopt;
    numbers.lowest = std::min(numbers.lowest, *number * setting.scale);
    numbers.highest = std::max(numbers.highest, *number * setting.scale);
  }
  return numbers;
}

bool known_sensor(const std::string& path) {
  return is_plain_sys_path(path) && std::any_of(std::begin(sensors), std::end(sensors),
                                                [&](std::string_view form) { return matches(form, path); });
}

}  // namespace dvfs_plan
