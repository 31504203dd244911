// The plan of a result in a file of its own, without what was run by it: what the nodes of a cluster go by, and begin their own files with.
#pragma once

#include <map>
#include <string>

#include "results/store/store.hpp"

namespace dvfs_plan {

// A new result file at `path` with the experiment, points and growths of `from`, as they are, and no trial. Throws Error.
void copy_plan(Store& from, const std::string& path);

// The machine that a result without trials is to be of.
void set_machine_facts(Store& store, const std::map<std::string, std::string>& facts);

}  // namespace dvfs_plan
