// Figures as the tables of the terminal show them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// "52.84 ± 0.16 J"; a dash for what is not known.
std::string cell(const std::optional<Estimate>& value, std::string_view unit);
// "33.5 % [31.7, 35.4]".
std::string cell(const std::optional<Change>& change);

// Units of work a second, of the mean time that one takes; nullopt: that is not known.
std::optional<Estimate> throughput(const PointSummary& point);

}  // namespace dvfs_plan
