// Figures as the tables of the terminal show them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// "52.8 J ±0.3 %"; a dash for what is not known.
std::string cell(const std::optional<Estimate>& value, std::string_view unit);
// "33.5 % [31.7, 35.4]".
std::string cell(const std::optional<Change>& change);

}  // namespace dvfs_plan
