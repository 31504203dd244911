// Which sensors are alive, found out before the night rather than after it: read everything for a moment
// while one CPU computes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/sampler.hpp"
#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {

struct SensorCheck {
  struct Fault {
    std::uint32_t channel;
    EnergyFault fault;
  };
  std::vector<Fault> faults;  // of energy-capable channels only
  std::map<std::uint32_t, double> last_values;
  std::vector<std::uint32_t> unusable() const;
};

SensorCheck check_sensors(Sampler& sampler, const Clock& clock);

// "hwmon:power_meter/power1 is dead", for events and errors.
std::string describe(const SensorCheck::Fault& fault, const std::vector<Channel>& channels);

}  // namespace dvfs_plan
