// An experiment whose file changed: what it adds, and what it asks of trials that are there.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "results/store/digest.hpp"
#include "results/store/store.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::json;

std::vector<std::string> reference_keys(Database& database) {
  std::vector<std::string> keys;
  Statement s = database.prepare("SELECT key FROM point WHERE is_reference ORDER BY id");
  while (s.step()) keys.push_back(s.text(0));
  return keys;
}

// "; reference: w v=2" where a point that was compared with is still there and is no longer: it does not follow from points that came or went.
std::string other_reference(const std::vector<std::string>& before, const Plan& plan) {
  const bool other = std::any_of(plan.points.begin(), plan.points.end(), [&](const PlanPoint& point) {
    return !point.reference && std::find(before.begin(), before.end(), point.key) != before.end();
  });
  if (!other) return {};
  std::vector<std::string> keys;
  for (const PlanPoint& point : plan.points) {
    if (point.reference) keys.push_back(point.key);
  }
  return "; reference: " + join(keys, ", ");
}

// Of the first stage's points, planned until now.
int planned_blocks(const Store::Stages& stages, Database& database) {
  if (!stages.stages.empty()) {
    int blocks = stages.stages.front().new_blocks;
    for (std::size_t i = 1; i < stages.stages.size(); ++i) blocks += stages.stages[i].old_blocks;
    return blocks;
  }
  Statement s = database.prepare(
      "SELECT json_extract(CASE WHEN json_valid(plan_json) THEN plan_json ELSE '{}' END, '$.repeat.min') "
      "FROM experiment");
  return s.step() ? static_cast<int>(s.integer(0)) : 0;
}

// Points that were taken away before all their trials were run, and are in the plan again. What is left of them is not run in the blocks of
// then, whose references are of another time: they are as if they were added now.
std::vector<std::string> given_back_unfinished(const Plan& plan, const Store::Stages& stages, int blocks,
                                               Database& database) {
  std::vector<std::string> keys;
  if (plan.experiment.search.one_by_one()) return keys;
  Statement s = database.prepare(
      "SELECT p.key, coalesce(p.growth_id, 0), (SELECT count(DISTINCT t.block) FROM trial t JOIN "
      "session s ON s.id = t.session_id LEFT JOIN block_run r ON r.id = s.block_run_id WHERE t.point_id = "
      "p.id AND r.left_out IS NULL AND NOT s.recheck AND t.role IN ('point', 'reference_first')) FROM point "
      "p "
      "WHERE NOT p.in_plan");
  while (s.step()) {
    const std::string key = s.text(0);
    const bool back = std::any_of(plan.points.begin(), plan.points.end(),
                                  [&](const PlanPoint& one) { return one.key == key; });
    const auto stage = stages.of_point.find(key);
    const int planned = stages.stages.empty() || stage == stages.of_point.end()
                            ? blocks
                            : blocks_planned(stages.stages, static_cast<std::size_t>(stage->second));
    if (back && s.integer(2) < planned) keys.push_back(key);
  }
  return keys;
}

std::string changes_text(const PlanChange& change) {
  std::vector<std::string> all;
  for (const auto* kind : {&change.adds, &change.drops, &change.asks})
    all.insert(all.end(), kind->begin(), kind->end());
  return join(all, "; ");
}

std::string objective_column(const ObjectiveSpec& objective) {
  return std::string(to_string(objective.minimise));
}

// Trials that are there and that the plan does not have: of blocks that it asks for no more, or that a strategy added.
int trials_beyond(const Plan& plan, Database& database) {
  std::map<std::tuple<std::string, int, TrialRole>, int> planned;
  for (const PlannedTrial& trial : plan.trials)
    ++planned[{plan.points[static_cast<std::size_t>(trial.point)].key, trial.block, trial.role}];
  Statement s = database.prepare(
      "SELECT p.key, t.block, t.role, count(*) FROM trial t JOIN session s ON s.id = t.session_id JOIN point "
      "p ON p.id = t.point_id LEFT JOIN block_run r ON r.id = s.block_run_id WHERE r.left_out IS NULL AND "
      "NOT s.recheck AND p.in_plan AND t.attempt = 1 AND t.role NOT IN ('warm_up', 'idle_before', "
      "'idle_after') GROUP BY 1, 2, 3");
  int beyond = 0;
  while (s.step()) {
    const auto found = planned.find({s.text(0), static_cast<int>(s.integer(1)), parse_role(s.text(2))});
    beyond += std::max(0, static_cast<int>(s.integer(3)) - (found == planned.end() ? 0 : found->second));
  }
  return beyond;
}

}  // namespace

int Store::point_index(std::int64_t id, TrialRole role) const {
  if (point_ids_.empty()) return static_cast<int>(id) - 1;
  // A window is of an operating point, whichever of its points stood for it when it was run.
  if (is_idle(role)) return idle_indices_.at(id);
  const auto at = std::find(point_ids_.begin(), point_ids_.end(), id);
  return at == point_ids_.end() ? -1 : static_cast<int>(at - point_ids_.begin());
}

std::int64_t Store::point_id(int index) const {
  return point_ids_.empty() ? index + 1 : point_ids_.at(static_cast<std::size_t>(index));
}

void Store::use_plan(const Plan& plan) {
  std::map<std::string, std::int64_t> ids;
  std::map<std::string, int> first_at;  // of an operating point: as schedule_block() has it
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    first_at.emplace(plan.points[i].operating_point, static_cast<int>(i));
  Statement s = database_.prepare("SELECT key, id, operating_point FROM point");
  point_ids_.clear();
  idle_indices_.clear();
  while (s.step()) {
    ids[s.text(0)] = s.integer(1);
    const auto first = first_at.find(s.text(2));
    idle_indices_[s.integer(1)] = first == first_at.end() ? -1 : first->second;
  }
  for (const PlanPoint& point : plan.points) {
    const auto known = ids.find(point.key);
    if (known == ids.end())
      throw Error(ExitCode::machine_refuses,
                  "result file: it does not have the point " + printable(point.key));
    point_ids_.push_back(known->second);
  }
}

Store::Stages Store::stages() {
  Stages found;
  Statement s = database_.prepare(
      "SELECT id, first_block, first_position, new_blocks, old_blocks, blocks_before, references_before FROM "
      "growth ORDER BY id");
  std::map<std::int64_t, int> stage_of_growth;
  std::vector<std::vector<std::string>> references;
  while (s.step()) {
    if (found.stages.empty()) found.stages.push_back({1, 1, static_cast<int>(s.integer(5)), 0, {}});
    stage_of_growth[s.integer(0)] = static_cast<int>(found.stages.size());
    found.stages.push_back({static_cast<int>(s.integer(1)),
                            static_cast<int>(s.integer(2)),
                            static_cast<int>(s.integer(3)),
                            static_cast<int>(s.integer(4)),
                            {}});
    const Json keys = Json::parse(s.text(6), nullptr, false);
    references.push_back(keys.is_array() ? keys.get<std::vector<std::string>>() : std::vector<std::string>{});
  }
  if (found.stages.empty()) return found;
  references.push_back(reference_keys(database_));
  for (std::size_t i = 0; i < found.stages.size(); ++i) found.stages[i].references = references[i];
  Statement points = database_.prepare("SELECT key, coalesce(growth_id, 0) FROM point");
  while (points.step())
    found.of_point[points.text(0)] = points.integer(1) == 0 ? 0 : stage_of_growth.at(points.integer(1));
  return found;
}

void Store::ask_of_trials(const ObjectiveOf& objective_of_workload) {
  struct Asked {
    std::int64_t trial;
    std::optional<double> objective;
  };
  std::vector<Asked> changed;
  const auto damaged = damaged_trials(database_);
  Statement trials = database_.prepare(
      "SELECT t.id, w.name, t.region_s, t.energy_j, max(1, t.runs), t.units, t.objective FROM trial t JOIN "
      "point p ON p.id = t.point_id JOIN workload w "
      "ON w.id = p.workload_id WHERE p.in_plan AND t.role NOT IN ('idle_before', 'idle_after') AND "
      "t.region_s IS NOT NULL");
  while (trials.step()) {
    if (damaged.contains(trials.integer(0))) continue;
    const auto asked = objective_of_workload(trials.text(1));
    if (!asked) continue;
    const ObjectiveSpec& objective = *asked;
    const auto units = trials.maybe_real(5), joules = trials.maybe_real(3);
    if (!objective.per.empty() && units.value_or(0) <= 0) continue;
    const double share = 1 / units.value_or(trials.real(4));
    const auto value = objective_value(objective, joules ? std::optional(*joules * share) : std::nullopt,
                                       trials.real(2) * share);
    if (value != trials.maybe_real(6)) changed.push_back({trials.integer(0), value});
  }
  TrialSeals seals(database_);
  Statement update = database_.prepare("UPDATE trial SET objective = ? WHERE id = ?");
  for (const Asked& one : changed) {
    update.bind(one.objective).bind(one.trial).run();
    seals.seal_again(one.trial);
  }
}

std::int64_t Store::add_growth(const Plan& plan, const PlanChange& change, const std::string& now) {
  const Stages before = stages();
  const int blocks = planned_blocks(before, database_);
  std::set<std::string> known;
  Statement keys = database_.prepare("SELECT key FROM point");
  while (keys.step()) known.insert(keys.text(0));
  const auto given_back = given_back_unfinished(plan, before, blocks, database_);
  const bool has_new =
      !given_back.empty() || std::any_of(plan.points.begin(), plan.points.end(),
                                         [&](const PlanPoint& p) { return !known.contains(p.key); });
  int last_block = blocks;
  for (const PlanStage& stage : before.stages)
    last_block = std::max(last_block, stage.first_block - 1 + std::max(stage.new_blocks, stage.old_blocks));
  Statement last = database_.prepare(
      "SELECT coalesce(max(block), 0), coalesce(max(position), 0) FROM trial WHERE session_id IN (SELECT id "
      "FROM session WHERE "
      "NOT recheck)");
  last.step();
  const bool planned = !plan.experiment.search.one_by_one();
  const int now_planned = plan.experiment.repeat.min;
  const std::vector<std::string> references = reference_keys(database_);
  const bool told = std::any_of(change.asks.begin(), change.asks.end(),
                                [](const std::string& one) { return one.starts_with("reference: "); });
  Statement source = database_.prepare("SELECT source_text, planned_trials FROM experiment");
  source.step();
  database_
      .prepare(
          "INSERT INTO growth (grown_at, changes, first_block, first_position, new_blocks, old_blocks, "
          "blocks_before, references_before, "
          "source_before) VALUES (?,?,?,?,?,?,?,?,?)")
      .bind(now)
      .bind(changes_text(change) + (told ? "" : other_reference(references, plan)))
      .bind(std::max(last_block, static_cast<int>(last.integer(0))) + 1)
      .bind(std::max(last.integer(1), source.integer(1)) + 1)
      .bind(planned && has_new ? now_planned : 0)
      .bind(planned ? now_planned - blocks : 0)
      .bind(blocks)
      .bind(Json(references).dump())
      .bind(source.text(0))
      .run();
  const std::int64_t growth = database_.last_row();
  Statement point = database_.prepare("UPDATE point SET growth_id = ? WHERE key = ?");
  for (const std::string& key : given_back) point.bind(growth).bind(key).run();
  return growth;
}

int Store::first_block_of_form() {
  Statement last = database_.prepare("SELECT coalesce(max(first_block), 1) FROM growth");
  last.step();
  return static_cast<int>(last.integer(0));
}

void Store::grow(const Plan& plan, const PlanChange& change, const std::string& now) {
  const Experiment& e = plan.experiment;
  const ObjectiveSpec& o = e.objective;
  Transaction transaction(database_);
  for (const char* table :
       {"conclusion", "answer", "point_answer", "point_quantity", "point_change", "constraint_answer",
        "block_drift", "search_model", "search_answer", "constraint_rule"})
    database_.execute(std::string("DELETE FROM ") + table);
  const std::int64_t growth = add_growth(plan, change, now);
  Statement workload = database_.prepare(
      "INSERT INTO workload (name, command, objective, per_metric, target) VALUES (?1,?2,?3,?4,?5) ON "
      "CONFLICT (name) DO UPDATE SET command = ?2, "
      "objective = ?3, per_metric = ?4");
  for (const PlanWorkload& one : plan.workloads) {
    const ObjectiveSpec& own = objective_of(e, one.spec);
    workload.bind(one.spec.name)
        .bind(command_text(one.spec))
        .bind(one.spec.objective ? std::optional(objective_column(own)) : std::nullopt)
        .bind(one.spec.objective ? std::optional(own.per) : std::nullopt)
        .bind(own.target ? std::optional(constraint_text(*own.target)) : std::nullopt)
        .run();
  }
  write_rules(e);
  // Those that were added stand behind the others.
  Statement new_axis = database_.prepare("INSERT OR IGNORE INTO axis (id, name, kind) VALUES (?,?,?)");
  for (std::size_t i = 0; i < plan.axes.size(); ++i)
    new_axis.bind(static_cast<int>(i) + 1)
        .bind(plan.axes[i].name)
        .bind(plan.axes[i].knob ? "knob" : "parameter")
        .run();
  database_.execute("UPDATE point SET in_plan = 0, is_reference = 0");
  Statement point = database_.prepare(
      "INSERT INTO point (key, workload_id, scenario, operating_point, is_reference, growth_id) VALUES (?1, "
      "(SELECT id FROM workload WHERE name = ?2), "
      "?3, ?4, ?5, ?6) ON CONFLICT (key) DO UPDATE SET in_plan = 1, scenario = ?3, operating_point = ?4, "
      "is_reference = ?5 RETURNING id");
  Statement value = database_.prepare(
      "INSERT OR IGNORE INTO point_value (point_id, axis_id, text, number) VALUES (?,?,?,?)");
  for (const PlanPoint& one : plan.points) {
    point.bind(one.key)
        .bind(plan.workloads[static_cast<std::size_t>(one.workload)].spec.name)
        .bind(one.scenario)
        .bind(one.operating_point)
        .bind(one.reference ? 1 : 0)
        .bind(growth);
    point.step();
    const std::int64_t id = point.integer(0);
    point.reset();
    for (std::size_t axis = 0; axis < one.values.size(); ++axis) {
      if (one.values[axis])
        value.bind(id)
            .bind(static_cast<int>(axis) + 1)
            .bind(one.values[axis]->text)
            .bind(one.values[axis]->number)
            .run();
    }
  }
  // What is planned is counted with the stages that are there now.
  Plan scheduled = plan;
  const Stages now_there = stages();
  if (!e.search.one_by_one()) schedule_stages(scheduled, now_there.stages, now_there.of_point);
  const int beyond = e.search.one_by_one() ? 0 : trials_beyond(scheduled, database_);
  LaterSeal later(database_);
  database_
      .prepare(
          "UPDATE experiment SET name = ?, description = ?, objective = ?, per_metric = ?, currency = ?, "
          "price_per_j = ?, price_per_s = ?, "
          "drift_limit = ?, shuffled = ?, until = ?, seed = ?, planned_trials = ?, plan_hash = ?, plan_json "
          "= ?, source_file = ?, source_text = ?")
      .bind(e.name)
      .bind(e.description)
      .bind(objective_column(o))
      .bind(o.per.empty() ? std::nullopt : std::optional(o.per))
      .bind(o.price ? std::optional(o.price->currency) : std::nullopt)
      .bind(o.price ? std::optional(o.price->per_joule) : std::nullopt)
      .bind(o.price ? std::optional(o.price->per_second) : std::nullopt)
      .bind(e.conditions.drift)
      .bind(e.shuffled ? 1 : 0)
      .bind(e.repeat.until)
      .bind(std::to_string(e.seed))
      .bind(workload_trials(scheduled) + beyond)
      .bind(plan.hash)
      .bind(plan.canonical)
      .bind(e.path())
      .bind(e.text)
      .run();
  // What a session expected to be left was of what was asked then.
  database_.execute("UPDATE session SET trials_left = NULL");
  if (e.search.one_by_one())
    database_.prepare("UPDATE search SET regret = ?, confidence = ?, at_most = ?")
        .bind(e.search.regret)
        .bind(e.search.confidence)
        .bind(e.search.at_most)
        .run();
  ask_of_trials([&](const std::string& name) -> std::optional<ObjectiveSpec> {
    const auto spec = std::find_if(plan.workloads.begin(), plan.workloads.end(),
                                   [&](const PlanWorkload& one) { return one.spec.name == name; });
    return spec == plan.workloads.end() ? std::nullopt
                                        : std::optional(objective_of(plan.experiment, spec->spec));
  });
  seal_plan(database_);
  later.seal();
  transaction.commit();
}

}  // namespace dvfs_plan
