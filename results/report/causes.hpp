// Why trials do not count, by how many.
#pragma once

#include <map>
#include <string>

namespace dvfs_plan {

// "1 throttled, 2 foreign_load", by the verdicts' names.
std::string causes_text(const std::map<std::string, int>& not_counted);

}  // namespace dvfs_plan
