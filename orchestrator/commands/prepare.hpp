// From a file's name to a plan on this machine: what `check` and a run have in common.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/child.hpp"
#include "base/error.hpp"
#include "base/sysfs.hpp"
#include "experiments/plan/plan.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/machine/used_boards.hpp"
#include "probes/probe_table.hpp"
#include "results/energy/energy_source.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

struct PreparedExperiment {
  Plan plan;
  std::vector<KnobFinding> knobs;
  UsedBoards gpus;
  std::string warnings;  // diagnostics that do not keep it from running
};

// Throws Error (exit code 2) with all faults of the file.
PreparedExperiment prepare_experiment(const std::string& file, const Sysfs& sysfs);

// The result file of a plan: `output`, else `result:`, else NAME.sqlite in the current folder.
std::string result_path(const std::string& output, const Experiment& experiment);

// What differs between the plan and machine of a stored result and those of now; empty if it may be resumed.
std::vector<std::string> resume_obstacles(Store& store, const Plan& plan,
                                          const std::map<std::string, std::string>& facts);
// Throws Error (exit code 2) with those differences.
void require_same_plan(Store& store, const Plan& plan, const std::map<std::string, std::string>& facts,
                       const std::string& path);

// Who a workload runs as: run_as, else the user behind sudo, else ourselves (nullopt).
std::map<std::string, std::optional<Credentials>> workload_users(const Plan& plan);

// The probes the experiment asks for, or all the machine has. Asking for one that is not there is an Error.
struct ChosenProbes {
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<std::string> notes;    // what is missing and what would help
  std::set<std::string> fixed_rate;  // probes read as often as the experiment says, or as they themselves do
};
// `run` marks the processes of meters as it does the workload's, so that the guardian finds them.
ChosenProbes choose_probes(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                           const std::string& run, Launcher& launcher, const Clock& clock);

// The machine's facts and those of the boards used.
std::map<std::string, std::string> facts_of(const PreparedExperiment& prepared, const Sysfs& sysfs);

// Why the boards cannot be used now: there are none, the ones named are not there, or somebody else is on
// them.
std::optional<Error> board_obstacle(const PreparedExperiment& prepared, const Sysfs& sysfs);

inline constexpr const char* board_hint =
    "wait until they are done, name other boards in 'gpus', or write  conditions: {gpu processes: flag}  to "
    "measure all the same and have each trial say so";

}  // namespace dvfs_plan
