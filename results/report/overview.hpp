// All answers of a result in one table, where there are several.
#pragma once

#include <string>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// "better by": of the objective, against the reference, as the answer states it. Empty where there is one answer alone.
std::string overview_table(const Summary& summary, bool colour);

}  // namespace dvfs_plan
