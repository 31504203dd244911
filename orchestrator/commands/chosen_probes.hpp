// Which probes an experiment is measured with.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/child.hpp"
#include "base/sysfs.hpp"
#include "experiments/plan/experiment.hpp"
#include "orchestrator/machine/used_boards.hpp"
#include "probes/probe_table.hpp"

namespace dvfs_plan {

// The probes the experiment asks for, or all the machine has. Asking for one that is not there is an Error.
struct ChosenProbes {
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<std::string> notes;    // what is missing and what would help
  std::set<std::string> fixed_rate;  // probes read as often as the experiment says, or as they themselves do
};
// `run` marks the processes of meters as it does the workload's, so that the guardian finds them.
ChosenProbes choose_probes(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                           const std::string& run, Launcher& launcher, const Clock& clock);

// What the probes that the experiment names will measure; programs of the user's are not started. Throws Error where one of the others is
// not there.
std::vector<Channel> channels_to_be(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                                    Launcher& launcher, const Clock& clock);

// The programs of the user's own among them.
std::vector<std::unique_ptr<Probe>> start_own_meters(const Experiment& experiment, Launcher& launcher,
                                                     const Clock& clock);

}  // namespace dvfs_plan
