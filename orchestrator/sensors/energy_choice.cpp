#include "orchestrator/sensors/energy_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {

namespace {

std::vector<std::string> names_of(const EnergySource& source, const std::vector<Channel>& channels) {
  std::vector<std::string> names;
  for (const std::uint32_t channel : source.channels) names.push_back(channels[channel].name);
  return names;
}

// Those that do not work, and those of the stored sensors' domains that are not these.
std::vector<std::uint32_t> all_but(const StoredEnergy& stored, const std::vector<Channel>& channels,
                                   std::vector<std::uint32_t> unusable) {
  const auto is_stored = [&](const std::string& name) {
    return std::find(stored.sensors.begin(), stored.sensors.end(), name) != stored.sensors.end();
  };
  std::set<std::string> domains;
  for (const Channel& channel : channels) {
    if (is_stored(channel.name)) domains.insert(channel.domain);
  }
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (domains.contains(channels[i].domain) && !is_stored(channels[i].name)) unusable.push_back(i);
  }
  return unusable;
}

}  // namespace

EnergySource choose_energy(const Experiment& experiment, const std::vector<Channel>& channels,
                           const SensorCheck& check, const StoredEnergy& stored) {
  const bool needed = minimises_energy(experiment);
  const auto unusable = all_but(stored, channels, check.unusable());
  std::string faults;
  for (const auto& fault : check.faults) faults += "\n  " + describe(fault, channels);
  const auto as_stored = [&](const EnergySource& source) {
    return stored.sensors.empty() || names_of(source, channels) == stored.sensors;
  };
  const auto refuse_other_sensors = [&] {
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("the finished trials measured the energy of '{}'{}, which cannot be measured now{}{}",
                    stored.source, stored.sensors.empty() ? "" : " by " + join(stored.sensors, " + "),
                    faults.empty() ? "" : ":", faults),
        "bring the sensor back and run the same command, or start anew with --fresh");
  };
  if (experiment.objective.energy_of) {
    const auto source = energy_source_of(experiment.objective.energy_of->text, channels, unusable);
    if (source) {
      for (const auto channel : source->channels) {
        if (std::find(unusable.begin(), unusable.end(), channel) == unusable.end()) continue;
        throw Error(ExitCode::machine_refuses,
                    fmt::format("'objective' asks for the energy of '{}', which cannot be measured now:{}",
                                experiment.objective.energy_of->text, faults),
                    "`dvfs-plan doctor` shows the sensors and the fix for each");
      }
      if (!stored.source.empty() && !as_stored(*source)) refuse_other_sensors();
      return *source;
    }
    std::set<std::string> domains;
    for (const Channel& channel : channels) {
      if (measures_energy(channel)) domains.insert(channel.domain);
    }
    throw Error(ExitCode::bad_experiment,
                fmt::format("{}:{}:{}: error: there is no energy domain '{}' here; there are: {}",
                            experiment.file, experiment.objective.energy_of->mark.line,
                            experiment.objective.energy_of->mark.column, experiment.objective.energy_of->text,
                            domains.empty() ? "none" : join({domains.begin(), domains.end()}, ", ")));
  }
  const auto sources = energy_sources(channels, unusable);
  if (!stored.source.empty()) {
    for (const EnergySource& source : sources) {
      if (source.name == stored.source && as_stored(source)) return source;
    }
    refuse_other_sensors();
  }
  if (!sources.empty()) return sources.front();
  if (needed) {
    throw Error(ExitCode::machine_refuses,
                fmt::format("the objective is {}, but no energy sensor works here{}{}",
                            to_string(experiment.objective.minimise), faults.empty() ? "" : ":", faults),
                "`dvfs-plan doctor` shows the sensors and the fix for each; `objective: {minimise: energy, "
                "of: DOMAIN}` names one; without energy there is `objective: time`");
  }
  return {};
}

namespace {

std::string ask(const Experiment& experiment, const std::string& domain) {
  return fmt::format("`objective: {{minimise: {}, of: {}}}`", to_string(experiment.objective.minimise),
                     domain);
}

// The user put a meter there, and what it measures is in none of the usual sums.
std::optional<std::string> note_on_meter_left_out(const Experiment& experiment,
                                                  const std::vector<Channel>& channels,
                                                  const EnergySource& chosen) {
  std::set<std::string> counted;
  for (const std::uint32_t channel : chosen.channels) counted.insert(channels[channel].domain);
  if (chosen.channels.empty() || counted.contains("system") || !experiment.probes) return std::nullopt;
  const auto is_own = [&](const Channel& channel) {
    return std::any_of(experiment.probes->begin(), experiment.probes->end(), [&](const ProbeSpec& probe) {
      return probe.name == channel.probe && (probe.meter || !probe.command.empty());
    });
  };
  std::vector<std::string> names;
  std::string domain;
  for (const Channel& channel : channels) {
    if (!measures_energy(channel) || !is_own(channel) || counted.contains(channel.domain)) continue;
    names.push_back(fmt::format("{} ({})", channel.name, channel.domain));
    if (domain.empty()) domain = channel.domain;
  }
  if (names.empty()) return std::nullopt;
  return fmt::format("'energy' is that of '{}'; what your own {} measures is not in it: {} asks for {}",
                     chosen.name, join(names, ", "), ask(experiment, domain),
                     names.size() == 1 ? "it" : "one of them");
}

}  // namespace

std::optional<std::string> note_on_choice(const Experiment& experiment, const std::vector<Channel>& channels,
                                          const EnergySource& chosen) {
  if (experiment.objective.energy_of || !minimises_energy(experiment)) return std::nullopt;
  if (!chosen.single_sensor) return note_on_meter_left_out(experiment, channels, chosen);
  const Channel& mine = channels[chosen.channels.front()];
  std::set<std::string> others;
  for (const Channel& channel : channels) {
    if (measures_energy(channel) && channel.domain != mine.domain && channel.within != mine.domain)
      others.insert(channel.domain);
  }
  if (others.empty()) return std::nullopt;
  std::string text = fmt::format(
      "'energy' is that of '{}' alone, the first that is measured; there {} {} too: {} asks for {}",
      mine.domain, others.size() == 1 ? "is" : "are", join({others.begin(), others.end()}, ", "),
      ask(experiment, *others.begin()), others.size() == 1 ? "it" : "one of them");
  const std::string family = mine.domain.substr(0, mine.domain.rfind('-'));
  const auto sum = family == mine.domain ? std::nullopt : energy_source_of(family, channels);
  if (sum && sum->channels.size() > 1)
    text += fmt::format(", {} for the sum of {}", ask(experiment, family), sum->name);
  return text;
}

}  // namespace dvfs_plan
