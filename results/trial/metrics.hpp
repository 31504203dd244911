// A workload's output into metrics, by the rules of its experiment file.
#pragma once

#include <string_view>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// Looks through `output` line by line. Numbers that are not finite are no metrics. A name may come more
// than once; the order is kept.
std::vector<MetricRecord> find_metrics(std::string_view output, const std::vector<MetricRule>& rules);

}  // namespace dvfs_plan
