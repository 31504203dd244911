#include "orchestrator/run/told_before.hpp"

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

ToldInEarlierTrials told_in_earlier_trials(Store& store, const Plan& plan) {
  ToldInEarlierTrials told;
  const std::string counted =
      "t.verdict = 'ok' AND p.in_plan AND t.role NOT IN ('idle_before', 'idle_after') AND NOT EXISTS (SELECT "
      "1 FROM session s WHERE s.id = t.session_id AND s.recheck)";
  Statement marked = store.database().prepare(
      "SELECT DISTINCT p.scenario FROM trial t JOIN point p ON p.id = t.point_id WHERE t.region <> '' AND " +
      counted);
  while (marked.step()) told.marked.insert(marked.text(0));
  // Which comes first is of the trials, not of the metrics' table.
  Statement unit = store.database().prepare(
      "SELECT m.unit, t.key FROM trial t JOIN point p ON p.id = t.point_id JOIN workload w ON w.id = "
      "p.workload_id JOIN metric m ON m.trial_id = t.id WHERE w.name = ? AND m.name = ? AND m.count_of IS "
      "NULL AND " +
      counted + " ORDER BY t.id, m.ordinal LIMIT 1");
  for (std::size_t i = 0; i < plan.workloads.size(); ++i) {
    const WorkloadSpec& workload = plan.workloads[i].spec;
    for (const std::string& name : deciding_metrics(objective_of(plan.experiment, workload))) {
      unit.reset();
      unit.bind(workload.name).bind(name);
      if (unit.step())
        told.units[static_cast<int>(i)].try_emplace(name, JudgeInput::ToldBefore{unit.text(0), unit.text(1)});
    }
  }
  return told;
}

}  // namespace dvfs_plan
