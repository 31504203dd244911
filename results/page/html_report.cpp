#include "results/page/html_report.hpp"

#include <nlohmann/json.hpp>

#include "results/page/page_shell.hpp"
#include "results/page/page_traces.hpp"
#include "results/report/json_report.hpp"

namespace dvfs_plan {

void write_html_report(Store& store, const Summary& summary, const std::vector<TrialRow>& trials, const std::string& path) {
  std::vector<std::string> best;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (scenario.best) best.push_back(scenario.points[*scenario.best].point);
  }
  nlohmann::ordered_json report = report_json(store, summary, trials);
  add_outputs(store, report);
  const nlohmann::ordered_json traces = page_traces(store, trials, best);
  write_page({summary.experiment.name, terminal_report(summary, trials, false), {{"report", &report}, {"traces", &traces}}}, path);
}

}  // namespace dvfs_plan
