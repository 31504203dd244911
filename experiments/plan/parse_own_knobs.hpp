// The parts of an experiment file that say what can be set beyond the knobs that dvfs-plan has: files below /sys ('sysfs'), and
// settings that programs of the user's set and read ('set').
#pragma once

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_reader.hpp"

namespace dvfs_plan {

void parse_sysfs_knobs(const YamlNode& node, YamlReader& read, std::vector<SysfsKnobSpec>& knobs);
void parse_command_knobs(const YamlNode& node, YamlReader& read, std::vector<CommandKnobSpec>& knobs);

}  // namespace dvfs_plan
