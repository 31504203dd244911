// Words of a user's as scalars of a YAML file that is written for him.
#pragma once

#include <string>

namespace dvfs_plan {

// As it is where YAML takes it so, else in quotes (https://yaml.org/spec/1.2.2/, 7.3).
std::string yaml_word(const std::string& text);

}  // namespace dvfs_plan
