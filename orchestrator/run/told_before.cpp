#include "orchestrator/run/told_before.hpp"

#include "experiments/plan/plan.hpp"
#include "results/store/digest.hpp"

namespace dvfs_plan {
namespace {

const std::string of_what_counts =
    "t.verdict = 'ok' AND p.in_plan AND t.role NOT IN ('idle_before', 'idle_after') AND NOT EXISTS (SELECT "
    "1 FROM session s WHERE s.id = t.session_id AND s.recheck)";

}  // namespace

std::set<std::string> names_of_member(const Plan& plan, const PlanPoint& point, const std::string& member) {
  const WorkloadSpec& whole = plan.workloads[static_cast<std::size_t>(point.workload)].spec;
  const auto deciding = deciding_metrics(objective_of(plan.experiment, whole));
  std::set<std::string> names(deciding.begin(), deciding.end());
  for (const PlanWorkload& one : plan.workloads) {
    if (one.spec.name == member) names.insert(objective_of(plan.experiment, one.spec).per);
  }
  names.insert("");
  return names;
}

std::map<std::string, std::set<std::string>> told_by_members(const TrialRecord& trial) {
  std::map<std::string, std::set<std::string>> members;
  std::map<int, std::string> member_of;  // by run
  for (const InstanceRecord& one : trial.instances) {
    members[one.workload];
    member_of[one.run] = one.workload;
  }
  if (members.size() < 2) return {};
  const auto tells = [&](int run, const std::string& name) {
    const auto member = member_of.find(run);
    if (member != member_of.end()) members[member->second].insert(name);
  };
  for (const MetricRecord& metric : trial.metrics) tells(metric.run, metric.name);
  for (const RegionRecord& region : trial.regions) {
    if (region.counted && !region.name.empty()) tells(region.run, "");
  }
  return members;
}

namespace {

// As told_by_members() has it, of the trials in the file.
void read_members(Store& store, const Plan& plan, const std::set<std::int64_t>& damaged,
                  ToldInEarlierTrials& told) {
  std::map<std::string, const PlanPoint*> points;  // by scenario: what decides is of its workload
  for (const PlanPoint& point : plan.points) points.try_emplace(point.scenario, &point);
  Statement trials = store.database().prepare(
      "SELECT t.id, t.key, t.role = 'warm_up', p.scenario FROM trial t JOIN point p ON p.id = t.point_id "
      "WHERE (SELECT count(DISTINCT workload) FROM trial_instance WHERE trial_id = t.id) > 1 AND " +
      of_what_counts + " ORDER BY t.id");
  Statement members =
      store.database().prepare("SELECT DISTINCT workload FROM trial_instance WHERE trial_id = ?");
  Statement names = store.database().prepare(
      "SELECT i.workload, m.name FROM trial_instance i JOIN metric m ON m.trial_id = i.trial_id AND m.run = "
      "i.run WHERE i.trial_id = ?1 UNION SELECT i.workload, '' FROM trial_instance i JOIN region r ON "
      "r.trial_id = i.trial_id AND r.run = i.run WHERE i.trial_id = ?1 AND r.counted AND r.name <> ''");
  while (trials.step()) {
    const auto point = points.find(trials.text(3));
    if (damaged.contains(trials.integer(0)) || point == points.end()) continue;
    std::map<std::string, std::set<std::string>> said;
    members.reset();
    members.bind(trials.integer(0));
    while (members.step()) said[members.text(0)];
    names.reset();
    names.bind(trials.integer(0));
    while (names.step()) said[names.text(0)].insert(names.text(1));
    for (const auto& [member, its] : said) {
      ToldByMember& known = told.members[{trials.text(3), member}];
      for (const std::string& name : names_of_member(plan, *point->second, member)) {
        if (its.contains(name))
          known.told.try_emplace(name, trials.text(1));
        else if (trials.integer(2) == 0)
          known.silent[name].push_back(trials.text(1));
      }
    }
  }
}

}  // namespace

ToldInEarlierTrials told_in_earlier_trials(Store& store, const Plan& plan) {
  ToldInEarlierTrials told;
  const auto damaged = damaged_trials(store.database());  // not as written, so that it says nothing
  Statement marked = store.database().prepare(
      "SELECT p.scenario, t.id FROM trial t JOIN point p ON p.id = t.point_id WHERE t.region <> '' AND " +
      of_what_counts);
  while (marked.step()) {
    if (!damaged.contains(marked.integer(1))) told.marked.insert(marked.text(0));
  }
  // Which comes first is of the trials, not of the metrics' table.
  Statement unit = store.database().prepare(
      "SELECT m.unit, t.key, t.id, m.count_of IS NOT NULL AS as_count FROM trial t JOIN point p ON p.id = "
      "t.point_id JOIN workload w ON w.id = "
      "p.workload_id JOIN metric m ON m.trial_id = t.id WHERE w.name = ? AND m.name = ? AND " +
      of_what_counts + " ORDER BY t.id, as_count, m.ordinal");
  for (std::size_t i = 0; i < plan.workloads.size(); ++i) {
    const WorkloadSpec& workload = plan.workloads[i].spec;
    for (const std::string& name : deciding_metrics(objective_of(plan.experiment, workload))) {
      unit.reset();
      unit.bind(workload.name).bind(name);
      bool known = unit.step();
      while (known && damaged.contains(unit.integer(2))) known = unit.step();
      if (known)
        told.units[static_cast<int>(i)].try_emplace(
            name, JudgeInput::ToldBefore{unit.text(0), unit.text(1), unit.integer(3) != 0});
    }
  }
  read_members(store, plan, damaged, told);
  return told;
}

}  // namespace dvfs_plan
