#include "results/page/html_report.hpp"

#include <nlohmann/json.hpp>

#include "results/page/page_shell.hpp"
#include "results/page/page_traces.hpp"
#include "results/report/json_report.hpp"

namespace dvfs_plan {

std::vector<std::string> write_html_report(Store& store, const Summary& summary,
                                           const std::vector<TrialRow>& trials, const std::string& path) {
  std::vector<std::string> best;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (scenario.best) best.push_back(scenario.points[*scenario.best].point);
  }
  nlohmann::ordered_json report = report_json(store, summary, trials);
  add_outputs(store, report);
  std::vector<std::string> damaged;
  const nlohmann::ordered_json traces = page_traces(store, trials, best, damaged);
  for (const std::string& one : damaged) report["warnings"].push_back(one);
  write_page({summary.experiment.name,
              terminal_report(summary, trials, false),
              {{"report", &report}, {"traces", &traces}}},
             path);
  return damaged;
}

}  // namespace dvfs_plan
