#include "orchestrator/conditions/clock_residency.hpp"

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

ClockResidency clock_residency(const Sysfs& sysfs) {
  constexpr double hertz_per_khz = 1e3, seconds_per_tick = 0.01;
  const std::string folder = "/sys/devices/system/cpu/cpufreq/";
  ClockResidency residency;
  for (const std::string& policy : sysfs.list(folder)) {
    const auto table = sysfs.text(folder + policy + "/stats/time_in_state");
    if (!table) continue;
    for (const std::string& line : split_lines(*table)) {
      const auto words = split_words(line);
      const auto khz = words.size() == 2 ? parse_number(words[0]) : std::nullopt;
      const auto ticks = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
      if (khz && ticks) residency[policy][*khz * hertz_per_khz] = *ticks * seconds_per_tick;
    }
  }
  return residency;
}

ClockResidency residency_between(const ClockResidency& before, const ClockResidency& after) {
  ClockResidency between;
  for (const auto& [policy, clocks] : after) {
    const auto former = before.find(policy);
    if (former == before.end()) continue;
    std::map<double, double> spent;
    bool reset =
        false;  // somebody set the statistics back (stats/reset): what is left of them is of no interval
    for (const auto& [hertz, seconds] : clocks) {
      const auto then = former->second.find(hertz);
      spent[hertz] = seconds - (then == former->second.end() ? 0 : then->second);
      reset = reset || spent[hertz] < 0;
    }
    if (!reset) between[policy] = std::move(spent);
  }
  return between;
}

}  // namespace dvfs_plan
