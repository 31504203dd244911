// Which sensors' sum is the energy of this experiment, decided once per result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "orchestrator/sensors/sensor_check.hpp"
#include "results/energy/energy_source.hpp"

namespace dvfs_plan {

// `stored` is the source of the finished trials ("" if there are none): it is used again or the run is
// refused. An empty source if the objective needs no energy and none can be measured. Throws Error with the
// faulty sensors named.
EnergySource choose_energy(const Experiment& experiment, const std::vector<Channel>& channels,
                           const SensorCheck& check, const std::string& stored);

// Where the energy is of one of several sensors, because nobody said which: the others, and how to ask for one of
// them or for their sum (two power supplies; the rails of a board). nullopt where nothing was left to choose.
std::optional<std::string> note_on_choice(const Experiment& experiment, const std::vector<Channel>& channels,
                                          const EnergySource& chosen);

}  // namespace dvfs_plan
