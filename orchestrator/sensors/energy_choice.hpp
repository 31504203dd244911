// Which sensors' sum is the energy of this experiment, decided once per result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "orchestrator/sensors/sensor_check.hpp"
#include "results/energy/energy_source.hpp"

namespace dvfs_plan {

// By which the finished trials of a result measured their energy.
struct StoredEnergy {
  std::string source;                // "" if there are none
  std::vector<std::string> sensors;  // names of its channels; empty: not known
};

// `stored` is used again, sensor by sensor (two meters of one thing differ), or the run is refused. An empty source if the objective needs
// no energy and none can be measured. Throws Error with the faulty sensors named.
EnergySource choose_energy(const Experiment& experiment, const std::vector<Channel>& channels,
                           const SensorCheck& check, const StoredEnergy& stored);

// Where the energy is of one of several sensors, because nobody said which: the others, and how to ask for one of
// them or for their sum (two power supplies; the rails of a board). Where it is one of the usual sums: the user's own meters that are
// in none. nullopt where nothing was left to choose.
std::optional<std::string> note_on_choice(const Experiment& experiment, const std::vector<Channel>& channels,
                                          const EnergySource& chosen);

}  // namespace dvfs_plan
