// From a file's name to a plan on this machine: what `check` and a run have in common.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/sysfs.hpp"
#include "experiments/plan/plan.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/machine/used_boards.hpp"

namespace dvfs_plan {

struct PreparedExperiment {
  Plan plan;
  std::vector<KnobFinding> knobs;
  UsedBoards gpus;
  std::string warnings;  // diagnostics that do not keep it from running
};

// `text`: of the file as it was submitted; nullopt: as it is now. Throws Error (exit code 2) with all faults of it.
PreparedExperiment prepare_experiment(const std::string& file, const Sysfs& sysfs,
                                      const std::optional<std::string>& text = std::nullopt);

// The machine's facts and those of the boards used.
std::map<std::string, std::string> facts_of(const PreparedExperiment& prepared, const Sysfs& sysfs);

// Why the boards cannot be used now: there are none, the ones named are not there, or somebody else is on
// them.
std::optional<Error> board_obstacle(const PreparedExperiment& prepared, const Sysfs& sysfs);

// What the guardian would refuse to set, one of each axis.
struct RefusedSetting {
  std::string axis, why, next_step;
};
std::string next_step_after(const SettingAnswer& refusal);
std::vector<RefusedSetting> refused_settings(const PreparedExperiment& prepared, GuardClient& guard);

inline constexpr const char* board_hint =
    "wait until they are done, name other boards in 'gpus', or write  conditions: {gpu processes: flag}  to "
    "measure all the same and have each trial say so";

}  // namespace dvfs_plan
