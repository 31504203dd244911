#pragma once

namespace dvfs_plan {
// What stands for `--` between several results before and several after (compare).
inline constexpr const char* between_sides = "\n--\n";
}  // namespace dvfs_plan
