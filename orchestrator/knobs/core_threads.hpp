// The second and further threads of cores (SMT), which cpu.smt switches off and on. While it has them off, their cpufreq policies and
// idle states are not there: the other CPU knobs set the rest.
#pragma once

#include <set>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

// Those of the core that a CPU is a thread of, itself among them, ascending; empty: it is not told.
std::vector<int> threads_of_core(int cpu, const Sysfs& sysfs);

class CoreThreads {
 public:
  // As the machine is now: of a CPU that is offline nothing tells whose thread it is, and it counts as none.
  explicit CoreThreads(const Sysfs& sysfs);

  // CPUs that are not the first thread of their core.
  const std::set<int>& further() const { return further_; }

  // By cpu.smt, once it has read back that it is so.
  void are_off(bool off) { off_ = off; }
  // Whether cpu.smt has taken all of these CPUs away.
  bool has_taken(const std::vector<int>& cpus) const;

 private:
  std::set<int> further_;
  bool off_ = false;
};

}  // namespace dvfs_plan
