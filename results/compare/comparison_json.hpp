// The comparison as JSON and as a page for a browser.
#pragma once

#include <string>

#include "results/compare/comparison.hpp"

namespace dvfs_plan {

std::string json_comparison(const Comparison& comparison);
// Of several against one: {"before": FILE, "comparisons": [as above]}.
std::string json_comparisons(const std::vector<Comparison>& comparisons);
void write_html_comparison(const Comparison& comparison, const std::string& path);

}  // namespace dvfs_plan
