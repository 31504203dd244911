// `machines:` of an experiment file: where its blocks are run, if not here.
#pragma once

#include <optional>

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_reader.hpp"

namespace dvfs_plan {

std::optional<SlurmSpec> parse_machines(const YamlNode& node, YamlReader& read);

}  // namespace dvfs_plan
