// Rows as if their experiment had asked otherwise (experiments/plan/question.hpp). Pure: who reads them then concludes as ever.
#pragma once

#include <string>
#include <vector>

#include "experiments/plan/question.hpp"
#include "results/store/rows.hpp"

namespace dvfs_plan {

// Of workloads with an objective of their own that is replaced too. Returns what is asked otherwise, a line each: "objective: edp, not
// energy". Throws Error where the trials cannot tell it: a reference that was not run, a metric that no trial told.
std::vector<std::string> ask(const Question& question, ExperimentRow& experiment,
                             std::vector<PointRow>& points, std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
