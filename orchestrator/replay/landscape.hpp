// Recorded landscapes: what each setting of a workload took and cost, from somebody's full sweep, to judge
// strategies on without the hardware.
//
//   device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts
//
// One row a measured setting and repeat; an empty field is unknown. Columns may come in any order; `repeat`
// and `avg_watts` may be absent.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

struct Landscape {
  std::string device, workload;
  Plan plan;  // its settings as points of one scenario; the reference is the highest of every axis
  struct Record {
    double seconds = 0, joules = 0;
  };
  std::vector<std::vector<Record>> records;  // of each point, its repeats

  double seconds(int point) const;  // means over the repeats
  double joules(int point) const;
  int best() const;  // the point of least joules
};

// Throws Error naming the line for what cannot be read. `notes`: what was left out and why.
std::vector<Landscape> read_landscapes(const std::string& path, std::vector<std::string>& notes);

}  // namespace dvfs_plan
