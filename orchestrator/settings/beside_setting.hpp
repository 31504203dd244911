// Settings that are none of the sweep's, which programs of the user's may take along ('set' of an experiment: a profile that chooses the
// governor). They are read around each of those programs, and put back only where one of them changed them: what somebody else sets there
// is his.
//
// The path is that of the attribute file behind a word, so that a journal says which they are:
//
//   beside:/sys/devices/system/cpu/cpufreq/policy0/scaling_governor
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

inline constexpr std::string_view beside_prefix = "beside:";
// As what one reads that a program made go (a governor's tunables): what is there when it comes back is nobody's.
inline constexpr const char* went_by_a_program = "";

std::string beside_setting(const std::string& file);  // its path
inline bool is_beside_setting(std::string_view path) {
  return path.starts_with(beside_prefix);
}

// nullptr: the path is none of these.
std::unique_ptr<Setting> beside_setting_at(const std::string& path, const Sysfs& sysfs);

}  // namespace dvfs_plan
