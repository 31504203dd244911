#include "orchestrator/strategies/one_by_one.hpp"
#include "results/trial/unequal_work.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dvfs_plan {
namespace {

constexpr int tries_of_needed_reference = 3;

}  // namespace

OneByOne::OneByOne(const StrategyRequest& request)
    : plan_(request.plan),
      node_(request.node),
      surface_(surface_question(request.plan)),
      only_block_(request.only_block),
      options_(schedule_options(request.plan.experiment)) {
  scenarios_.resize(surface_.reference.size());
  for (int i = 0; i < surface_.grid.points(); ++i) scenarios_[scenario_of(i)].push_back(i);
  // A slowdown is against the reference, whether each block begins with it or not.
  for (const ConstraintSpec& constraint : plan_.experiment.objective.constraints)
    needs_reference_ = needs_reference_ || constraint.name == "slowdown";
  options_.references = options_.references || needs_reference_;
}

const PlannedTrial* OneByOne::next(const History& history) {
  if (waits_for_all() && !history.in_flight().empty()) return nullptr;
  look_at(history);
  const auto proposed = propose(history);
  if (!proposed || !affordable(history)) return nullptr;
  proposed_ = *proposed;
  return &proposed_;
}

bool OneByOne::is_over(const History& history) {
  look_at(history, true);
  if (!affordable(history)) return true;
  for (std::size_t s = 0; s < scenarios_.size(); ++s) {
    if (!is_finished(s, history)) return false;
  }
  return true;
}

int OneByOne::remaining(const History& history) {
  look_at(history);
  int left = 0;
  for (std::size_t s = 0; s < scenarios_.size(); ++s) left += std::max(0, most_trials(s) - past_[s].trials);
  return within_budget(left, plan_.experiment.budget, history);
}

int OneByOne::most_trials(std::size_t s) const {
  return most_trials_of_scenario(plan_,
                                 plan_.points[static_cast<std::size_t>(scenarios_[s].front())].scenario);
}

void OneByOne::look_at(const History& history, bool for_others) {
  past_.assign(scenarios_.size(), {});
  points_.assign(plan_.points.size(), {});
  for (const FinishedTrial& trial : by_totals(history.trials(), minimise())) {
    if (!counts_for_its_point(trial.role)) continue;
    ScenarioPast& scenario = past_[scenario_of(trial.point)];
    PointPast& point = points_[static_cast<std::size_t>(trial.point)];
    ++scenario.trials;
    ++point.runs;
    point.blocks.insert(trial.block);
    if (trial.attempt == 1) ++scenario.in_block[trial.block];
    if (measures_surface(trial, minimise())) {
      ++scenario.counted;
      scenario.settings += point.counted == 0 ? 1 : 0;
      ++point.counted;
    }
  }
  for (const History::InFlight& trial : history.in_flight()) {
    if (!counts_for_its_point(trial.role)) continue;
    ScenarioPast& scenario = past_[scenario_of(trial.point)];
    PointPast& point = points_[static_cast<std::size_t>(trial.point)];
    ++scenario.trials;
    ++point.runs;
    ++point.under_way;
    point.blocks.insert(trial.block);
    if (trial.attempt == 1) ++scenario.in_block[trial.block];
  }
  for (std::size_t s = 0; s < scenarios_.size(); ++s) {
    const std::set<int> points(scenarios_[s].begin(), scenarios_[s].end());
    // Of several machines each gives itself up where it fails (the task that runs a block); the search goes on with the others.
    if (node_.empty()) past_[s].failures = failures_at_the_end(history.trials(), minimise(), points);
  }
  hopeless_ = node_.empty() ? hopeless_points(history.trials(), minimise())
                            : hopeless_points_of_nodes(history.trials(), minimise(),
                                                       for_others ? std::string{} : node_);
  // A slowdown is of every setting against this one: a trial that fails by accident must not end the search.
  for (const int reference : surface_.reference) {
    if (needs_reference_ && reference >= 0 && past_of(reference).runs < tries_of_needed_reference)
      hopeless_.erase(reference);
  }
}

std::optional<PlannedTrial> OneByOne::propose(const History& history) {
  int block = only_block_.value_or(1), position = 1;
  const auto count = [&](const PlannedTrial& trial) {
    if (trial.role == TrialRole::warm_up) return;
    if (!only_block_) block = std::max(block, trial.block);
    position += !only_block_ || trial.block == block ? 1 : 0;
  };
  for (const FinishedTrial& trial : history.trials()) count(trial);
  for (const PlannedTrial& trial : history.in_flight()) count(trial);
  if (const auto again = rerun(history, position)) return again;
  // Of the scenarios that go on, the one with the fewest trials in this block; with all of them full, a new
  // block.
  std::optional<std::size_t> turn;
  for (std::size_t s = 0; s < scenarios_.size(); ++s) {
    // Of a block that is run by itself no more than a block: others wait for the machine.
    if (only_block_ && past_[s].in_block[block] >= trials_of_search_block) continue;
    if (is_finished(s, history)) continue;
    if (!turn || past_[s].in_block[block] < past_[*turn].in_block[block]) turn = s;
  }
  if (!turn) return std::nullopt;
  if (past_[*turn].in_block[block] >= trials_of_search_block) ++block;
  const auto candidates = candidates_of(*turn);
  auto due = reference_due(*turn, candidates, block);
  const bool is_last = past_[*turn].trials + 1 >= most_trials(*turn);
  if (!due && owes_reference(*turn, candidates) && (is_last || is_enough(*turn, candidates, history)))
    due = surface_.reference[*turn];
  const int point = due ? *due : choose(*turn, candidates, history);
  const bool opens = past_[*turn].in_block[block] == 0;
  const bool reference = opens && options_.references && point == surface_.reference[*turn];
  return with_idle(point, block, position, reference ? TrialRole::reference_first : TrialRole::point,
                   history);
}

// Nothing is left to do for it: all trials spent, nothing there that can be measured, or enough of it.
bool OneByOne::is_finished(std::size_t s, const History& history) {
  if (past_[s].trials >= most_trials(s) || past_[s].failures.hopeless()) return true;
  const auto candidates = candidates_of(s);
  if (candidates.empty()) return true;
  const int reference = surface_.reference[s];
  // Without it no slowdown is known, and so no setting can be named.
  const bool is_known = reference >= 0 && past_of(reference).counted > 0;
  if (needs_reference_ && !is_known && (reference < 0 || hopeless_.contains(reference))) return true;
  return is_enough(s, candidates, history) && !owes_reference(s, candidates);
}

// What is saved is told against it: a search that found what it sought without it runs it once.
bool OneByOne::owes_reference(std::size_t s, const std::vector<int>& candidates) const {
  const int reference = surface_.reference[s];
  return scenarios_[s].size() > 1 &&
         std::find(candidates.begin(), candidates.end(), reference) != candidates.end() &&
         past_of(reference).runs == 0;
}

// The reference, where the block has none yet or no slowdown is known without it.
std::optional<int> OneByOne::reference_due(std::size_t s, const std::vector<int>& candidates,
                                           int block) const {
  const int reference = surface_.reference[s];
  const bool is_candidate = std::find(candidates.begin(), candidates.end(), reference) != candidates.end();
  if (!options_.references || !is_candidate || scenarios_[s].size() <= 1) return std::nullopt;
  const bool due =
      !past_of(reference).blocks.contains(block) || (needs_reference_ && past_of(reference).counted == 0);
  return due ? std::optional(reference) : std::nullopt;
}

// A disturbed trial is run again at once, as often as the experiment allows.
std::optional<PlannedTrial> OneByOne::rerun(const History& history, int position) const {
  const FinishedTrial* last = nullptr;
  for (const FinishedTrial& trial : history.trials()) {
    if (counts_for_its_point(trial.role) && trial.block == only_block_.value_or(trial.block)) last = &trial;
  }
  if (last == nullptr || last->counts || !last->may_pass) return std::nullopt;
  if (!last->given_up && last->attempt > plan_.experiment.conditions.reruns) return std::nullopt;
  const std::size_t s = scenario_of(last->point);
  if (past_[s].trials >= most_trials(s)) return std::nullopt;
  TrialId again = *last;
  ++again.attempt;
  return planned_trial(plan_.points[static_cast<std::size_t>(last->point)], again, position);
}

// The trial itself, or the idle window at its operating point if the block has none yet.
PlannedTrial OneByOne::with_idle(int point, int block, int position, TrialRole role,
                                 const History& history) const {
  const PlanPoint& p = plan_.points[static_cast<std::size_t>(point)];
  const auto is_its_window = [&](const FinishedTrial& t) {
    return t.role == TrialRole::idle_before && t.block == block &&
           plan_.points[static_cast<std::size_t>(t.point)].operating_point == p.operating_point;
  };
  if (options_.idle && std::none_of(history.trials().begin(), history.trials().end(), is_its_window))
    return planned_trial(p, {point, block, TrialRole::idle_before}, position);
  TrialId id{point, block, role};
  while (history.contains(id)) ++id.nth;
  return planned_trial(p, id, position);
}

std::vector<int> OneByOne::candidates_of(std::size_t s) const {
  std::vector<int> candidates;
  for (const int p : scenarios_[s]) {
    if (!hopeless_.contains(p)) candidates.push_back(p);
  }
  return candidates;
}

std::vector<int> OneByOne::not_run(std::vector<int> candidates) const {
  std::erase_if(candidates, [&](int p) { return past_of(p).runs > 0; });
  return candidates;
}

bool OneByOne::affordable(const History& history) const {
  const auto& budget = plan_.experiment.budget;
  if (budget.trials && history.begun_workload_trials() >= *budget.trials) return false;
  if (!budget.time || history.workload_trials() == 0) return true;
  const double each = history.spent().value() / history.workload_trials();
  return history.committed().value() + each <= budget.time->value();
}

}  // namespace dvfs_plan
