#include "orchestrator/sensor_check.hpp"

#include <fmt/format.h>

namespace dvfs_plan {

std::vector<std::uint32_t> SensorCheck::unusable() const {
  std::vector<std::uint32_t> channels;
  for (const Fault& fault : faults) channels.push_back(fault.channel);
  return channels;
}

SensorCheck check_sensors(Sampler& sampler, const Clock& clock) {
  SensorCheck check;
  // Long enough for a RAPL counter (1 ms) and for sensors that renew every 100 ms.
  constexpr Nanoseconds duration = 600'000'000;
  sampler.start();
  const Nanoseconds from = clock.now();
  volatile double work = 1;
  while (clock.now() < from + duration) {
    for (int i = 0; i < 10000; ++i) work = work * 1.0000001 + 1e-9;
  }
  const Nanoseconds to = clock.now();
  const auto readings = sampler.stop();
  const auto& channels = sampler.channels();
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (!measures_energy(channels[i])) continue;
    const EnergyFault fault = energy_between(channels[i], of_channel(readings, i), from, to).fault;
    for (const Reading& reading : readings) {
      if (reading.channel == i && reading.value) check.last_values[i] = *reading.value;
    }
    // No fault yet: constant power (an idle machine may well draw the same all the time), and a meter that
    // speaks less often than this look is long. Each trial judges those.
    if (fault == EnergyFault::dead || fault == EnergyFault::denied || fault == EnergyFault::gone)
      check.faults.push_back({i, fault});
  }
  return check;
}

std::string describe(const SensorCheck::Fault& fault, const std::vector<Channel>& channels) {
  const Channel& channel = channels[fault.channel];
  switch (fault.fault) {
    case EnergyFault::dead:
      return fmt::format("sensor {} is dead: {}", channel.name,
                         channel.kind == ChannelKind::counter ? "its counter does not move under load"
                                                              : "it reads 0 W under load");
    case EnergyFault::denied:
      return fmt::format("sensor {} may not be read by this user ({})", channel.name, channel.source);
    case EnergyFault::gone:
      return fmt::format("sensor {} went away", channel.name);
    case EnergyFault::absent:
      return fmt::format("sensor {} gives no reading", channel.name);
    default:
      return fmt::format("sensor {} cannot be used ({})", channel.name, to_string(fault.fault));
  }
}

}  // namespace dvfs_plan
