// The report as JSON: what `--json` prints, and what the page shows.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/report/report.hpp"

namespace dvfs_plan {

nlohmann::ordered_json report_json(Store& store, const Summary& summary, const std::vector<TrialRow>& trials);

// The last output of each trial that does not count: `output_tail`, `error_tail`.
void add_outputs(Store& store, nlohmann::ordered_json& report);

// One scenario of it.
nlohmann::ordered_json scenario_json(const ScenarioSummary& scenario);

}  // namespace dvfs_plan
