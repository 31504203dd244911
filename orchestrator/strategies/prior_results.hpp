// Earlier result files of the same machine, as shapes for an adaptive search (`search: {prior:
// [old.sqlite]}`).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "results/store/store.hpp"
#include "results/surface/optimum.hpp"

namespace dvfs_plan {

struct PriorResults {
  std::vector<PriorShape> shapes;  // one a workload (scenario) of the files
  std::vector<std::string> notes;  // what is not used, and why
};

// Reads the files that the plan names, relative to the experiment's folder. Throws Error for a file that
// cannot be read; another machine or other knobs are a note. `facts`: of this machine.
PriorResults read_prior_results(const Plan& plan, const std::map<std::string, std::string>& facts);

}  // namespace dvfs_plan
