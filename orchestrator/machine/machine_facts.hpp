// What machine this is, as the result file keeps it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

std::map<std::string, std::string> machine_facts(const Sysfs& sysfs);

// A fact's name begins so that tells the SHA-256 of a file which a workload's command names.
inline constexpr const char* work_file_fact = "work file ";

// Facts whose change makes another machine of it: trials before and after must not be mixed.
// `also`: further facts that must be the same.
std::vector<std::string> decisive_differences(const std::map<std::string, std::string>& before,
                                              const std::map<std::string, std::string>& now,
                                              const std::vector<std::string>& also = {});

}  // namespace dvfs_plan
