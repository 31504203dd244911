// Which sensors' sum is the energy of a trial. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.hpp"

namespace dvfs_plan {

// A choice of channels whose sum is the energy of a trial: disjoint domains, named for the report.
struct EnergySource {
  std::string name;                     // "system", "psys", "package-0 + dram-0"
  std::vector<std::uint32_t> channels;  // indices
  bool single_sensor = false;           // one of several, of which none is known to hold the others
};

// The sources the channels allow, the widest first: the whole machine, the platform, all packages with
// their DRAM, all packages, each of them with all GPU boards that are measured; the boards alone; single
// sensors where there is none of these. A source with a `dead` channel is
// none. Nothing that contains another is summed with it.
std::vector<EnergySource> energy_sources(std::span<const Channel> channels,
                                         std::span<const std::uint32_t> dead);

// The source that a domain's name means: "system", "psys", "package" (all of them),
// "package-0", "gpu" (all boards that are measured), "gpu-1".
std::optional<EnergySource> energy_source_of(std::string_view domain, std::span<const Channel> channels,
                                             std::span<const std::uint32_t> dead = {});

// The channels of a source by its name, or by that of a domain which the objective named; empty: there is none.
std::vector<std::uint32_t> channels_of_source(const std::string& name, std::span<const Channel> channels,
                                              std::span<const std::uint32_t> dead);

}  // namespace dvfs_plan
