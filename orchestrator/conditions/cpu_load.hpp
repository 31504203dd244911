// How busy each CPU was, and who else used them: /proc/stat and its neighbours. A clock measured on an idle
// CPU says nothing about a request.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

struct CpuTimes {
  double busy = 0;       // ticks
  double total = 0;      // ticks
  double processes = 0;  // ticks in processes (user, nice, system), without interrupts and stolen time
};
using CpuTimesOfAll = std::map<int, CpuTimes>;

CpuTimesOfAll read_cpu_times(const Sysfs& sysfs);
// Share of the time between the two that each CPU was not idle; CPUs for which no tick went by are left out.
std::map<int, double> busy_between(const CpuTimesOfAll& before, const CpuTimesOfAll& after);

// CPU time of all processes between the two, in seconds, over all CPUs.
Seconds process_time_between(const CpuTimesOfAll& before, const CpuTimesOfAll& after);
// CPU time of this program itself so far.
Seconds own_cpu_time();
// Runnable threads of others just now (procs_running of proc(5), without the one that asks); nullopt if not
// told.
std::optional<int> run_queue(const Sysfs& sysfs);

// Thermal throttle events of all CPUs since boot (thermal_throttle/*_count, Intel).
class ThrottleCounts {
 public:
  // Looks for the files once: a trial does not pay for a machine without them.
  explicit ThrottleCounts(const Sysfs& sysfs);
  // nullopt where there are none.
  std::optional<double> read() const;

 private:
  const Sysfs& sysfs_;
  std::vector<std::string> of_cores_;
  std::map<std::string, std::vector<std::string>>
      of_packages_;  // by package: each of its CPUs repeats its count
};

}  // namespace dvfs_plan
