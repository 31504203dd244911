#include <fmt/format.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {
namespace {

// Fisher-Yates on Boost.Random: std::shuffle may differ between standard libraries, and the order of a
// published night must not.
void shuffle(std::vector<int>& order, std::uint64_t seed, int block) {
  boost::random::mt19937_64 engine(seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(block));
  for (std::size_t i = order.size(); i > 1; --i) {
    boost::random::uniform_int_distribution<std::size_t> pick(0, i - 1);
    std::swap(order[i - 1], order[pick(engine)]);
  }
}

// What needs the same services follows each other: the groups in an order of their own (by first appearance large ones would come early),
// the trials in each in theirs.
void keep_services_together(const std::vector<PlanPoint>& points, std::vector<int>& order, std::uint64_t seed,
                            int block) {
  const auto services = [&](int i) -> const std::string& {
    return points[static_cast<std::size_t>(i)].services;
  };
  std::map<std::string, std::size_t> place_of;
  for (const int i : order) place_of.emplace(services(i), 0);
  std::vector<int> places(place_of.size());
  std::iota(places.begin(), places.end(), 0);
  constexpr std::uint64_t another = 0xD1B54A32D192ED03ULL;  // not the trials' own numbers again
  shuffle(places, seed ^ another, block);
  std::size_t next = 0;
  for (auto& [key, place] : place_of) place = static_cast<std::size_t>(places[next++]);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return place_of.at(services(a)) < place_of.at(services(b)); });
}

class Block {
 public:
  Block(const std::vector<PlanPoint>& points, int block, int position)
      : points_(points), block_(block), position_(position) {}

  void add(int point, TrialRole role) {
    trials_.push_back(
        planned_trial(points_[static_cast<std::size_t>(point)], {point, block_, role}, position_++));
  }
  std::vector<PlannedTrial> trials() && { return std::move(trials_); }

 private:
  const std::vector<PlanPoint>& points_;
  int block_, position_;
  std::vector<PlannedTrial> trials_;
};

}  // namespace

std::string_view to_string(TrialRole role) {
  switch (role) {
    case TrialRole::point:
      return "point";
    case TrialRole::reference_first:
      return "reference_first";
    case TrialRole::reference_last:
      return "reference_last";
    case TrialRole::warm_up:
      return "warm_up";
    case TrialRole::idle_before:
      return "idle_before";
    case TrialRole::idle_after:
      return "idle_after";
  }
  return "?";
}

TrialRole parse_role(std::string_view text) {
  for (const TrialRole role : {TrialRole::point, TrialRole::reference_first, TrialRole::reference_last,
                               TrialRole::warm_up, TrialRole::idle_before, TrialRole::idle_after}) {
    if (text == to_string(role)) return role;
  }
  return TrialRole::point;
}

bool same_but_for_attempt(TrialId a, TrialId b) {
  a.attempt = b.attempt;
  return a == b;
}

std::string trial_key(const PlanPoint& point, const TrialId& id) {
  if (is_idle(id.role))
    return fmt::format("idle{}{} #{} {}", point.operating_point.empty() ? "" : " ", point.operating_point,
                       id.block, id.role == TrialRole::idle_before ? "before" : "after");
  std::string key = fmt::format("{} #{}", point.key, id.block);
  if (id.role == TrialRole::warm_up) return key + fmt::format(" warm-up {}", id.nth);
  if (id.nth > 1) key += fmt::format(".{}", id.nth);
  if (id.role == TrialRole::reference_first) key += " first";
  if (id.role == TrialRole::reference_last) key += " last";
  return id.attempt > 1 ? key + fmt::format(" rerun {}", id.attempt - 1) : key;
}

PlannedTrial planned_trial(const PlanPoint& point, const TrialId& id, int position) {
  PlannedTrial trial;
  static_cast<TrialId&>(trial) = id;
  trial.key = trial_key(point, id);
  trial.position = position;
  return trial;
}

bool is_idle(TrialRole role) {
  return role == TrialRole::idle_before || role == TrialRole::idle_after;
}

bool counts_for_its_point(TrialRole role) {
  return !is_idle(role) && role != TrialRole::warm_up;
}

int most_trials_of_scenario(const Plan& plan, std::string_view scenario) {
  const auto points = std::count_if(plan.points.begin(), plan.points.end(),
                                    [&](const PlanPoint& p) { return p.scenario == scenario; });
  const auto grid = std::min<std::int64_t>(points * plan.experiment.repeat.min, most_search_trials);
  return plan.experiment.search.at_most.value_or(static_cast<int>(grid));
}

int workload_trials(const Plan& plan) {
  int trials = 0;
  if (plan.experiment.search.one_by_one()) {
    std::set<std::string> scenarios;
    for (const PlanPoint& point : plan.points) {
      if (scenarios.insert(point.scenario).second) trials += most_trials_of_scenario(plan, point.scenario);
    }
  } else {
    for (const PlannedTrial& trial : plan.trials) trials += is_idle(trial.role) ? 0 : 1;
  }
  return std::min(trials, plan.experiment.budget.trials.value_or(trials));
}

ScheduleOptions schedule_options(const Experiment& experiment) {
  const bool no_idle = experiment.conditions.idle && experiment.conditions.idle->value() <= 0;
  const bool wants_energy = minimises_energy(experiment) || experiment.conditions.idle;
  return {experiment.shuffled, experiment.seed, experiment.conditions.references, wants_energy && !no_idle};
}

std::vector<PlannedTrial> schedule_block(const std::vector<PlanPoint>& points, const std::vector<int>& chosen,
                                         int block, int position, const ScheduleOptions& options) {
  std::map<std::string, int> size_of_scenario;
  for (const PlanPoint& point : points) ++size_of_scenario[point.scenario];
  std::set<std::string> scenarios;
  for (const int i : chosen) scenarios.insert(points[static_cast<std::size_t>(i)].scenario);

  std::vector<int> order, references, idle;
  std::set<std::string> operating_points;
  std::map<std::string, int>
      first_at;  // an idle window is of the operating point: the first that has it stands for it in every block
  for (std::size_t i = 0; i < points.size(); ++i)
    first_at.emplace(points[i].operating_point, static_cast<int>(i));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PlanPoint& point = points[i];
    const bool first_and_last = options.references && point.reference && size_of_scenario[point.scenario] > 1;
    const bool in = std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) != chosen.end();
    if (first_and_last && scenarios.contains(point.scenario))
      references.push_back(static_cast<int>(i));
    else if (in)
      order.push_back(static_cast<int>(i));
    else
      continue;
    if (options.idle && operating_points.insert(point.operating_point).second)
      idle.push_back(first_at.at(point.operating_point));
  }
  Block result(points, block, position);
  if (options.shuffled) shuffle(idle, options.seed, block);
  for (const int i : idle) result.add(i, TrialRole::idle_before);
  if (options.shuffled) {
    // The references too, twice each: every trial is then as likely at any place, and drift within a block,
    // of whatever shape, leans to no point. First and last they would stand on a machine that warms up and
    // one that has.
    order.insert(order.end(), references.begin(), references.end());
    order.insert(order.end(), references.begin(), references.end());
    shuffle(order, options.seed, block);
    keep_services_together(points, order, options.seed, block);
    std::set<int> begun;
    for (const int i : order) {
      const bool reference = std::find(references.begin(), references.end(), i) != references.end();
      result.add(i, !reference               ? TrialRole::point
                    : begun.insert(i).second ? TrialRole::reference_first
                                             : TrialRole::reference_last);
    }
  } else {
    for (const int i : references) result.add(i, TrialRole::reference_first);
    for (const int i : order) result.add(i, TrialRole::point);
    for (const int i : references) result.add(i, TrialRole::reference_last);
  }
  for (const int i : idle) result.add(i, TrialRole::idle_after);
  return std::move(result).trials();
}

namespace {

// In which blocks a point that came with a stage is planned.
std::vector<int> blocks_of(const std::vector<PlanStage>& stages, std::size_t stage) {
  std::vector<int> blocks;
  int planned = stages[stage].new_blocks;
  for (int i = 0; i < stages[stage].new_blocks; ++i) blocks.push_back(stages[stage].first_block + i);
  for (std::size_t later = stage + 1; later < stages.size(); ++later) {
    planned += stages[later].old_blocks;
    for (int i = 0; i < stages[later].old_blocks; ++i) blocks.push_back(stages[later].first_block + i);
  }
  blocks.resize(std::min(blocks.size(), static_cast<std::size_t>(std::max(0, planned))));
  return blocks;
}

// What was added is compared with the reference, and trials are within their block: it is one of the block's points where no
// `references` bring it.
std::vector<int> with_references(const std::vector<PlanPoint>& points, std::vector<int> chosen) {
  std::set<std::string> scenarios;
  for (const int i : chosen) scenarios.insert(points[static_cast<std::size_t>(i)].scenario);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool in = std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) != chosen.end();
    if (!in && points[i].reference && scenarios.contains(points[i].scenario))
      chosen.push_back(static_cast<int>(i));
  }
  return chosen;
}

}  // namespace

int blocks_planned(const std::vector<PlanStage>& stages, std::size_t stage) {
  return static_cast<int>(blocks_of(stages, stage).size());
}

void schedule_stages(Plan& plan, const std::vector<PlanStage>& stages,
                     const std::map<std::string, int>& stage_of_point) {
  const ScheduleOptions options = schedule_options(plan.experiment);
  std::map<int, std::vector<int>> chosen;  // by block
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const auto known = stage_of_point.find(plan.points[i].key);
    if (known == stage_of_point.end()) continue;
    for (const int block : blocks_of(stages, static_cast<std::size_t>(known->second)))
      chosen[block].push_back(static_cast<int>(i));
  }
  plan.trials.clear();
  std::vector<PlanPoint> points = plan.points;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::set<std::string> references(stages[stage].references.begin(), stages[stage].references.end());
    for (PlanPoint& point : points) point.reference = references.contains(point.key);
    const int end =
        stage + 1 < stages.size() ? stages[stage + 1].first_block : std::numeric_limits<int>::max();
    int position = stages[stage].first_position;
    for (const auto& [block, of_block] : chosen) {
      if (block < stages[stage].first_block || block >= end) continue;
      const auto trials = schedule_block(
          points, stage > 0 && !options.references ? with_references(points, of_block) : of_block, block,
          position, options);
      position += static_cast<int>(trials.size());
      plan.trials.insert(plan.trials.end(), trials.begin(), trials.end());
    }
  }
}

std::vector<PlannedTrial> schedule(const std::vector<PlanPoint>& points, int blocks,
                                   const ScheduleOptions& options) {
  std::vector<int> all(points.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<PlannedTrial> trials;
  for (int block = 1; block <= blocks; ++block) {
    const auto one = schedule_block(points, all, block, static_cast<int>(trials.size()) + 1, options);
    trials.insert(trials.end(), one.begin(), one.end());
  }
  return trials;
}

}  // namespace dvfs_plan
