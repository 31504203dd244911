// How measured amounts are written in reports: SI prefixes, as many digits as the interval knows. The page has its like in text.ts.
#pragma once

#include <string>
#include <string_view>

#include "results/statistics/estimate.hpp"

namespace dvfs_plan {

// "46.42 us", "253.0 nJ", "4749 J", "12.35 kJ": four significant digits. J, W, Hz, B and s take prefixes, so that a number from 0.1 to
// 9999 stands before them (s none above one); other units stay as they are.
std::string amount(double value, std::string_view unit);
// "21.74 ± 0.36 mJ": the 95 % half-width to two digits, the mean to the same place.
std::string amount(const Estimate& estimate, std::string_view unit);
// Both ends in one unit: "21.38 to 22.10 mJ".
std::string amounts_from_to(double low, double high, std::string_view unit);

// "sample" of "samples", "query" of "queries": what `per: samples` counts, one of it; "unit" where it has no name.
std::string one_of(std::string_view plural);

}  // namespace dvfs_plan
