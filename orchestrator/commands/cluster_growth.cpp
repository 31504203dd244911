#include "orchestrator/commands/cluster_growth.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

// The plan that is in a result, as far as its blocks and their points follow from it.
Plan plan_of(Store& store, const Experiment& experiment) {
  Plan plan;
  plan.experiment = experiment;
  plan.hash = store.plan_hash();
  plan.canonical = store.canonical_plan();
  for (const WorkloadSpec& workload : experiment.workloads) plan.workloads.emplace_back().spec = workload;
  Statement axes = store.database().prepare("SELECT name, kind FROM axis ORDER BY id");
  while (axes.step()) {
    PlanAxis axis;
    axis.name = axes.text(0);
    axis.knob = axes.text(1) == "knob";
    plan.axes.push_back(std::move(axis));
  }
  std::map<std::string, std::string> operating_points;  // of the points that are planned, by key
  Statement planned = store.database().prepare("SELECT key, operating_point FROM point WHERE in_plan");
  while (planned.step()) operating_points[planned.text(0)] = planned.text(1);
  for (const PointRow& row : store.points()) {
    const auto operating_point = operating_points.find(row.key);
    if (operating_point == operating_points.end()) continue;
    PlanPoint point;
    point.key = row.key;
    point.scenario = row.scenario;
    point.operating_point = operating_point->second;
    point.reference = row.is_reference;
    while (plan.workloads.at(static_cast<std::size_t>(point.workload)).spec.name != row.workload)
      ++point.workload;
    for (const PlanAxis& axis : plan.axes) {
      const auto setting = std::find_if(row.settings.begin(), row.settings.end(),
                                        [&](const AxisSetting& one) { return one.axis == axis.name; });
      point.values.push_back(setting == row.settings.end()
                                 ? std::nullopt
                                 : std::optional(AxisValue{setting->text, setting->number, Dimension::none}));
    }
    plan.points.push_back(std::move(point));
  }
  return plan;
}

}  // namespace

PlanChange grow_by_look(Store& store, Store& look, const Experiment& experiment, const std::string& path,
                        const std::string& now) {
  Plan plan = plan_of(look, experiment);
  const PlanChange change = change_between(
      store, plan,
      differences_of_type(store.machine_facts(), look.machine_facts(), {"cpu.microcode", "bios"}), path);
  if (change.any())
    store.grow(plan, change, now);
  else
    note_experiment_text(store, experiment);
  return change;
}

std::set<int> planned_blocks(Store& store, const Experiment& experiment) {
  std::set<int> blocks;
  const Store::Stages stages = store.stages();
  if (stages.stages.empty()) {
    for (int block = 1; block <= experiment.repeat.min; ++block) blocks.insert(block);
    return blocks;
  }
  Plan plan = plan_of(store, experiment);
  schedule_stages(plan, stages.stages, stages.of_point);
  for (const PlannedTrial& trial : plan.trials) blocks.insert(trial.block);
  return blocks;
}

}  // namespace dvfs_plan
