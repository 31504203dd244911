#include "orchestrator/conditions/temperature_gate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dvfs_plan {

std::map<std::uint32_t, double> TemperatureGate::read() {
  // A meter that speaks when it likes may have nothing new to say just now: its last word stands. Of others what is not there is not known.
  std::map<std::uint32_t, double> temperatures = last_;
  for (const Reading& reading : sampler_.look("C")) {
    const Channel& channel = sampler_.channels()[reading.channel];
    if (channel.unit != "C") continue;
    if (reading.value)
      temperatures[reading.channel] = *reading.value;
    else if (!channel.told_when_new)
      temperatures.erase(reading.channel);
  }
  last_ = temperatures;
  return temperatures;
}

TemperatureGate::Outcome TemperatureGate::wait(Interruption& interruption, const Clock& clock) {
  constexpr Seconds between_looks{0.1};
  Outcome outcome;
  const Nanoseconds began = clock.now();
  for (;;) {
    const auto now = read();
    for (const auto& [channel, celsius] : now)
      outcome.temperature_c = std::max(outcome.temperature_c.value_or(celsius), celsius);
    if (now.empty() || !band_) return outcome;
    if (start_.empty()) start_ = now;
    const auto off_by = [&](const auto& one) {
      const auto at_start = start_.find(one.first);
      return at_start == start_.end() ? 0.0 : one.second - at_start->second;
    };
    const auto too_warm =
        std::find_if(now.begin(), now.end(), [&](const auto& one) { return off_by(one) > *band_; });
    const auto too_cold =
        std::find_if(now.begin(), now.end(), [&](const auto& one) { return off_by(one) < -*band_; });
    outcome.waited = seconds(clock.now() - began);
    if (too_warm == now.end() && too_cold != now.end()) {
      // Waiting does not warm it. What it is now is the machine's state from now on.
      outcome.word = "timed_out";
      outcome.message =
          fmt::format("{} is at {:.1f} C, {:.1f} C below the block's start: waiting does not warm it",
                      sampler_.channels()[too_cold->first].name, too_cold->second, -off_by(*too_cold));
      start_ = now;
      return outcome;
    }
    if (too_warm == now.end()) {
      outcome.word = outcome.waited > between_looks ? "waited" : "in_band";
      return outcome;
    }
    if (outcome.waited >= limit_) {
      outcome.word = "timed_out";
      outcome.message =
          fmt::format("{} is at {:.1f} C, {:.1f} C above the block's start, and did not come back within {}",
                      sampler_.channels()[too_warm->first].name, too_warm->second, off_by(*too_warm),
                      format_duration(limit_));
      // What does not come back within the limit is the machine's state from now on: waiting so long before
      // each trial would eat the night.
      start_ = now;
      return outcome;
    }
    outcome.temperature_c.reset();
    if (!interruption.sleep_until(clock.now() + nanoseconds(between_looks), clock)) {
      outcome.interrupted = true;
      return outcome;
    }
  }
}

}  // namespace dvfs_plan
