// The comparison as JSON and as a page for a browser.
#pragma once

#include <string>

#include "results/compare/comparison.hpp"

namespace dvfs_plan {

std::string json_comparison(const Comparison& comparison);
void write_html_comparison(const Comparison& comparison, const std::string& path);

}  // namespace dvfs_plan
