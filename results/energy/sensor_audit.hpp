// What the sensors are worth, found from a short look at all of them: how often each renews its value, in
// which steps, how fast it follows a load, whether it is alive, and whether sources that should agree do.
// Pure.
//
// The look is at rest first, then under load; see orchestrator/sensors/sensor_check.hpp for who takes it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {

enum class SensorState {
  alive,   // its value changed
  steady,  // one plausible value all the time: a machine at rest may do that, and so may a frozen sensor
  dead,    // a counter that did not move under load, or 0 W
  denied,
  gone,
  absent,  // no reading at all
};
std::string_view to_string(SensorState state);

struct ChannelAudit {
  std::uint32_t channel = 0;
  SensorState state = SensorState::absent;
  int readings = 0;
  std::optional<Seconds> update;  // between fresh values; nullopt where the look does not tell
  bool at_least = false;          // every look found a fresh value: it may well be faster than `update`
  std::optional<double> fresh_per_second;  // values that were no repeats; nullopt where all were alike
  std::optional<double> resolution;        // smallest step seen, in the channel's unit
  std::optional<Seconds> rise;             // from the load's start to 90 % of the way up, where it is seen
  // How it answers a load on its own domain, where one was run and shows. Of a counter without `window`.
  std::optional<Seconds> window, latency;
  std::optional<double> joules, half_width_j;  // of the look
  std::optional<Seconds> told_every;           // of a source that speaks by itself: between its values
};

// Two sources for the same energy, or a part and the whole that holds it.
struct Agreement {
  std::uint32_t channel = 0, other = 0;
  bool part_of_other = false;
  double joules = 0, other_joules = 0;
  double half_width = 0;  // of the difference, a share: what the two sensors may be off by themselves
  double difference() const { return joules / other_joules - 1; }
  // Beyond what can be: a part larger than its whole, or one energy told 15 % apart.
  bool impossible() const;
};

struct SensorAudit {
  Seconds looked{0};
  std::vector<ChannelAudit> channels;
  std::vector<Agreement> agreements;
  const ChannelAudit* of(std::uint32_t channel) const;
};

// `readings` in time order a channel; the look is [from, to], the load began at `load_from`.
SensorAudit audit_sensors(std::span<const Channel> channels, std::span<const Reading> readings,
                          Nanoseconds from, Nanoseconds to, std::optional<Nanoseconds> load_from);

// Takes out what a look cannot state: the ± of a gauge of which it is not known over how long each value is a mean.
void leave_what_is_known(SensorAudit& audit, std::span<const Channel> channels);

// What a load that was on at known times showed of this channel: adds window, latency and rise where they can
// be told apart. `readings` are of all channels.
void audit_response(ChannelAudit& audit, const Channel& channel, std::span<const Reading> readings,
                    std::span<const Window> on);

// "meter and counter differ by +0.34 %", "package-0 is 74.0 % of psys".
std::string agreement_text(const Agreement& agreement, std::span<const Channel> channels);
// One line a channel, for people.
std::vector<std::string> audit_lines(const SensorAudit& audit, std::span<const Channel> channels);

}  // namespace dvfs_plan
