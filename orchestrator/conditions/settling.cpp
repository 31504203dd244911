#include "orchestrator/conditions/settling.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace dvfs_plan {
namespace {

constexpr int looks_that_hold = 3;
constexpr Seconds between_looks_at_clocks{0.01};
constexpr double same = 0.01;  // clocks within 1 % hold

bool hold(const std::map<std::uint32_t, double>& before, const std::map<std::uint32_t, double>& now) {
  return before.size() == now.size() && std::all_of(now.begin(), now.end(), [&](const auto& clock) {
           const auto then = before.find(clock.first);
           return then != before.end() && std::abs(clock.second - then->second) <= same * then->second;
         });
}

}  // namespace

Settled settle(Sampler& sampler, Seconds least, Seconds limit, Interruption& interruption,
               const Clock& clock) {
  Settled settled;
  const Nanoseconds began = clock.now();
  const auto wait_until = [&](Nanoseconds when) {
    settled.interrupted = !interruption.sleep_until(when, clock);
    settled.waited = seconds(clock.now() - began);
    return !settled.interrupted;
  };
  if (!wait_until(began + nanoseconds(least))) return settled;
  const auto& channels = sampler.channels();
  const auto is_clock_at_rest = [](const Channel& c) { return c.unit == "Hz" && !c.under_load_only; };
  if (std::none_of(channels.begin(), channels.end(), is_clock_at_rest)) return settled;
  std::map<std::uint32_t, double> before;
  const Nanoseconds deadline = std::max(clock.now(), began + nanoseconds(limit));
  for (int held = 0;;) {
    std::map<std::uint32_t, double> now;
    for (const Reading& reading : sampler.look("Hz")) {
      if (reading.value && is_clock_at_rest(channels[reading.channel])) now[reading.channel] = *reading.value;
    }
    if (now.empty()) return settled;
    held = hold(before, now) ? held + 1 : 1;
    before = now;
    settled.waited = seconds(clock.now() - began);
    if (held >= looks_that_hold) {
      settled.outcome = "held";
      return settled;
    }
    if (clock.now() >= deadline) {
      settled.outcome = "timed_out";
      return settled;
    }
    if (!wait_until(clock.now() + nanoseconds(between_looks_at_clocks))) return settled;
  }
}

}  // namespace dvfs_plan
