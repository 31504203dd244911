// The report as one self-contained page: script, style and data are in it, nothing is fetched. What web/
// makes of the JSON is what `--json` says; a reader without scripts finds the terminal's report in it.
#pragma once

#include <string>

#include "results/report/summary.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// Returned is what of the file was damaged and is not in the page. To `path`, by way of a file beside it:
// what was there stays until the page is whole.
std::vector<std::string> write_html_report(Store& store, const Summary& summary,
                                           const std::vector<TrialRow>& trials, const std::string& path,
                                           const std::string& like = {});

}  // namespace dvfs_plan
