#include "results/page/html_report.hpp"

#include <nlohmann/json.hpp>

#include "results/page/other_questions.hpp"
#include "results/page/page_shell.hpp"
#include "results/page/page_traces.hpp"
#include "results/report/json_report.hpp"

namespace dvfs_plan {

std::vector<std::string> write_html_report(Store& store, const Summary& summary,
                                           const std::vector<TrialRow>& trials, const std::string& path,
                                           const std::string& like) {
  std::vector<std::string> best;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (scenario.best) best.push_back(scenario.points[*scenario.best].point);
  }
  nlohmann::ordered_json report = report_json(store, summary, trials);
  add_outputs(store, report);
  report["other_questions"] = other_questions(store, summary, trials);
  std::vector<std::string> damaged;
  std::string samples;
  const nlohmann::ordered_json traces = page_traces(store, trials, best, samples, damaged);
  for (const std::string& one : damaged) report["warnings"].push_back(one);
  write_page(
      {summary.experiment.name,
       terminal_report(summary, trials, {}),
       {page_data("report", report), page_data("traces", traces), {"samples", "null", std::move(samples)}}},
      path, like);
  return damaged;
}

}  // namespace dvfs_plan
