// The report as a page, beside the result file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/report/summary.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// If it cannot be written the run has succeeded all the same: `say` is told why.
void write_page_beside(Store& store, const Summary& summary, const std::vector<TrialRow>& trials,
                       const std::string& path, const std::function<void(const std::string&)>& say);

}  // namespace dvfs_plan
