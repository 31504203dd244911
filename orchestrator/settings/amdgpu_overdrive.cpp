#include "orchestrator/settings/amdgpu_overdrive.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// "500Mhz" -> 500.
std::optional<int> megahertz(std::string_view word) {
  const auto digits = word.find_first_not_of("0123456789");
  if (digits == 0) return std::nullopt;
  const auto number = parse_number(word.substr(0, digits));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

// OD_SCLK:
// 0: 500Mhz
// 1: 2581Mhz
std::optional<OverdriveLimits> overdrive_limits(std::string_view table, OverdriveClock clock) {
  const std::string_view section = clock == OverdriveClock::core ? "OD_SCLK:" : "OD_MCLK:";
  bool inside = false;
  std::optional<int> low, high;
  for (const std::string& line : split_lines(table)) {
    const auto words = split_words(line);
    if (words.size() == 1) inside = words[0] == section;
    if (!inside || words.size() < 2) continue;
    if (words[0] == "0:") low = megahertz(words[1]);
    if (words[0] == "1:") high = megahertz(words[1]);
  }
  if (!low || !high) return std::nullopt;
  return OverdriveLimits{*low, *high};
}

// OD_RANGE:
// SCLK:     500Mhz       2800Mhz
std::optional<OverdriveLimits> overdrive_range(std::string_view table, OverdriveClock clock) {
  for (const std::string& line : split_lines(table)) {
    const auto words = split_words(line);
    if (words.size() < 3 || words[0] != (clock == OverdriveClock::core ? "SCLK:" : "MCLK:")) continue;
    const auto low = megahertz(words[1]), high = megahertz(words[2]);
    if (low && high) return OverdriveLimits{*low, *high};
  }
  return std::nullopt;
}

std::vector<std::string> overdrive_edits(const OverdriveLimits& now, const OverdriveLimits& wanted,
                                         OverdriveClock clock) {
  const char letter = clock == OverdriveClock::core ? 's' : 'm';
  const std::string low = fmt::format("{} 0 {}", letter, wanted.low_mhz),
                    high = fmt::format("{} 1 {}", letter, wanted.high_mhz);
  if (wanted.high_mhz >= now.low_mhz) return {high, low, "c"};
  return {low, high, "c"};
}

int set_overdrive(const Sysfs& sysfs, const std::string& file, OverdriveClock clock, OverdriveLimits limits) {
  const auto now = overdrive_limits(sysfs.text(file).value_or(""), clock);
  if (!now) return ENOTSUP;
  for (const std::string& edit : overdrive_edits(*now, limits, clock)) {
    if (const int error = sysfs.write(file, edit)) return error;
  }
  return 0;
}

}  // namespace dvfs_plan
