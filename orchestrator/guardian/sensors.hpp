// Sensors that only root may read, opened here and handed to the run, which samples them at full speed.
// RAPL's counters tell others' secrets to who reads them fast enough (PLATYPUS, CVE-2020-8694): the policy
// says who may.
#pragma once

#include <string>

#include "base/protected_sensors.hpp"
#include "base/sysfs.hpp"

namespace dvfs_plan {

OpenedFile open_sensor(const Sysfs& sysfs, const std::string& path);
// A RAPL event of the kernel's power PMU on one of the CPUs that it names; numbers in decimal.
OpenedFile open_power_event(const std::string& type, const std::string& config, const std::string& cpu);

}  // namespace dvfs_plan
