// The parts of an experiment file that say which programs are started: what workloads and services have in common, and services.
#pragma once

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_reader.hpp"

namespace dvfs_plan {

// A list of words, one an argument. `for_a_shell`: what to write where a shell is wanted.
std::optional<std::vector<RawValue>> parse_argv(const YamlNode& node, std::string_view key,
                                                std::string_view for_a_shell, YamlReader& read);

// Name, command or shell, environment, folder, grace, run_as. False, with an error, if it has no name. `kind`: "workload".
bool parse_program(const YamlNode& node, std::string_view kind, YamlReader& read, ProgramSpec& program);
// Exactly one of 'command' and 'shell'.
void require_one_command(const YamlNode& node, std::string_view kind, YamlReader& read,
                         std::string_view name);

void parse_services(const YamlNode& node, YamlReader& read, std::vector<ServiceSpec>& services);
// A workload's 'services': names, or an empty list for none.
std::optional<std::vector<RawValue>> parse_service_names(const YamlNode& node, YamlReader& read);

}  // namespace dvfs_plan
