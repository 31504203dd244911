// A workload's output into metrics, by the rules of its experiment file.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// Looks through `output` line by line and calls `take` with each. Numbers that are not finite are no metrics. A name may
// come more than once; the order is kept. There may be as many as there are lines: BoundedMetrics keeps them. `unreadable` is
// called with each name whose number cannot be read ("work 1,234", "work nan"), and its line.
void find_metrics(
    std::string_view output, const std::vector<MetricRule>& rules,
    const std::function<void(MetricRecord)>& take,
    const std::function<void(const std::string& name, const std::string& line)>& unreadable = {});

// The number that a rule of kind `pointer` names in a JSON document; nullopt: it is not there, or is none. A number written as text
// counts ("12.5").
std::optional<MetricRecord> find_in_document(std::string_view document, const MetricRule& rule);

}  // namespace dvfs_plan
