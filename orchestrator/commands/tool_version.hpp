#pragma once

namespace dvfs_plan {
inline constexpr const char* tool_version = DVFS_PLAN_VERSION;
}  // namespace dvfs_plan
