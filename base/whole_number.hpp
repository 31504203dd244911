// Whole numbers as texts, of as many digits as they have: registers of 64 bits are more than a double can hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dvfs_plan {

// "0120" and "120.000" as "120"; nullopt: it is no whole number without a unit.
std::optional<std::string> whole_number(std::string_view text);

}  // namespace dvfs_plan
