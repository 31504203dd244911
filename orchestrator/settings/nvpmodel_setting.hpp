// The power mode of an NVIDIA Jetson, as the number of the mode ("2"), set and read by nvpmodel
// (https://docs.nvidia.com/jetson/archives/r36.4/DeveloperGuide/SD/PlatformPowerAndPerformance.html). A mode sets CPUs online or
// offline and limits of the CPUs', the GPU's and the memory's clocks; which files these are its configuration says.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

inline constexpr std::string_view nvpmodel_setting = "nvpmodel:mode";
// Where Jetson Linux has it: root runs no other. Below a recorded tree the tree's own.
inline constexpr const char* nvpmodel_program = "/usr/sbin/nvpmodel";
inline constexpr const char* nvpmodel_configuration = "/etc/nvpmodel.conf";

struct PowerMode {
  std::string number, name;  // "2", "MODE_30W"
};
struct NvpmodelConfiguration {
  std::vector<PowerMode> modes;    // in the order of the file
  std::vector<std::string> files;  // below /sys that modes write, in the order of the file, each once
};
// "< POWER_MODEL ID=0 NAME=MAXN >", "< PARAM TYPE=FILE NAME=CPU_ONLINE >" and "CORE_0 /sys/..." below it.
NvpmodelConfiguration parse_nvpmodel_configuration(std::string_view text);

// nullptr: the path is not it.
std::unique_ptr<Setting> nvpmodel_setting_at(const std::string& path, const Sysfs& sysfs);

}  // namespace dvfs_plan
