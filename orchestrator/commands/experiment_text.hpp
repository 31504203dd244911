// The experiment file as it was named on the command line.
#pragma once

#include <string>

namespace dvfs_plan {

// Its text, read as the invoking user. Throws Error (exit code 2) that says what it is instead: nothing, a
// result, a folder, a mistyped command.
std::string read_experiment_file(const std::string& file);

}  // namespace dvfs_plan
