// Readings into joules. Pure functions: no clock, no file.
//
// A counter's energy is the sum of its steps, each corrected for one wrap by the channel's own range; a
// gauge's is the trapezoid over its readings. Both are interpolated at the edges of the window, which the
// readings just before and just after the child enclose. What is not known is nullopt with the reason.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.hpp"

namespace dvfs_plan {

enum class EnergyFault { none, absent, denied, gone, dead, frozen, gap, counter_went_back };
std::string_view to_string(EnergyFault fault);

struct ChannelEnergy {
  std::uint32_t channel = 0;
  std::optional<double> joules;
  int readings = 0;  // that had a value
  EnergyFault fault = EnergyFault::none;
};

// Whether a channel can say something about energy at all: J counters and W gauges.
bool measures_energy(const Channel& channel);

// Energy of one channel between `from` and `to`. `readings` are of this channel only, in time order.
ChannelEnergy energy_between(const Channel& channel, std::span<const Reading> readings, Nanoseconds from,
                             Nanoseconds to);

// The readings of one channel, in time order.
std::vector<Reading> of_channel(std::span<const Reading> readings, std::uint32_t channel);

// A choice of channels whose sum is the energy of a trial: disjoint domains, named for the report.
struct EnergySource {
  std::string name;                     // "system", "psys", "package-0 + dram-0"
  std::vector<std::uint32_t> channels;  // indices
};

// The sources the channels allow, the widest first: the whole machine, the platform, all packages with
// their DRAM, all packages; single sensors where there is none of these. A source with a `dead` channel is
// none. Nothing that contains another is summed with it.
std::vector<EnergySource> energy_sources(std::span<const Channel> channels,
                                         std::span<const std::uint32_t> dead);

// The source that a domain's name means: "system", "psys", "package" (all of them), "package-0".
std::optional<EnergySource> energy_source_of(std::string_view domain, std::span<const Channel> channels);

}  // namespace dvfs_plan
