// Which sensors are alive and what they are worth, found out before the night rather than after it: read
// everything as fast as it answers while the machine rests, then while one CPU computes. Gauges that are all
// their domain has, and boards, are then looked at under a load that comes and goes at random times.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/interruption.hpp"
#include "orchestrator/sensors/test_load.hpp"
#include "probes/sampler.hpp"
#include "results/energy/sensor_audit.hpp"

namespace dvfs_plan {

struct SensorCheck {
  struct Fault {
    std::uint32_t channel;
    EnergyFault fault;
  };
  std::vector<Fault> faults;  // of energy-capable channels only
  std::map<std::uint32_t, double> last_values;
  SensorAudit audit;
  std::vector<std::string> notes;  // a load that could not be run where it is needed
  std::vector<std::uint32_t> unusable() const;
  // What each energy channel was found to be, for the trials.
  std::map<std::uint32_t, SensorModel> models() const;
};

// `fixed`: probes whose rate in the trials the experiment sets, or that keep their own. The others' rate is
// chosen from what was found: just after each renewal of a slow counter, else no faster than twice an update,
// never faster than the probe asks for. Ends early when `interruption` is pending: then it says little.
// `loads`: empty where nothing is to be loaded beyond a moment of one CPU: no window is then measured.
SensorCheck check_sensors(Sampler& sampler, const Clock& clock, const std::set<std::string>& fixed = {},
                          Interruption* interruption = nullptr, const TestLoads& loads = {});

// How long an idle window is, so that the sensors of the energy source say something in it.
Seconds idle_window(const std::optional<Seconds>& asked, const std::vector<std::uint32_t>& channels,
                    const SensorCheck& check, const Sampler& sampler);

// "hwmon:power_meter/power1 is dead", for events and errors.
std::string describe(const SensorCheck::Fault& fault, const std::vector<Channel>& channels);

}  // namespace dvfs_plan
