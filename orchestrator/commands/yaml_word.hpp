// What a user wrote, as it stands in a YAML file that is written for him.
#pragma once

#include <string>

#include "experiments/plan/yaml_tree.hpp"

namespace dvfs_plan {

// As it is where YAML takes it so, else in quotes (https://yaml.org/spec/1.2.2/, 7.3).
std::string yaml_word(const std::string& text);

// A part of his file in one line, in flow style (7.4): what was in quotes stays so. Its comments are not in the tree.
std::string yaml_flow(const YamlNode& node);

}  // namespace dvfs_plan
