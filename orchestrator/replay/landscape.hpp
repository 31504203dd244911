// Recorded landscapes: what each setting of a workload took and cost, from somebody's full sweep, to judge
// strategies on without the hardware.
//
//   device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts
//
// One row a measured setting and repeat; an empty field is unknown. Columns may come in any order; `repeat`
// and `avg_watts` may be absent. Whatever would be misread in silence is refused: other columns (a misspelt
// axis), a row twice, rows of another length (decimal commas), watts that are not joules a second (mixed
// units).
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
  // Of what the plan's objective minimises; `constrained_best` among the points whose means hold its
  // constraints, -1: none.
  double objective(int point) const;
  bool holds_constraints(int point) const;
  int constrained_best() const;
  int best() const;  // without constraints
};

// Throws Error naming the line for what cannot be read. `notes`: what was left out and why.
std::vector<Landscape> read_landscapes(const std::string& path, std::vector<std::string>& notes);

// `objective` as in an experiment, as far as a table can tell it: "edp", "{minimise: energy, subject to:
// {slowdown: 5 %}}". Throws Error.
ObjectiveSpec objective_of_tables(const std::string& text);

}  // namespace dvfs_plan
