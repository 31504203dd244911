// Where commands write what they make.
#pragma once

#include <string>

namespace dvfs_plan {

// Throws Error if `output`, the value of `option`, is the result file.
void refuse_the_result_itself(const std::string& output, const char* option, const std::string& result);

}  // namespace dvfs_plan
