#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "orchestrator/strategies/strategy.hpp"
#include "results/surface/plan_surface.hpp"

namespace dvfs_plan {
namespace {

constexpr double nothing_to_gain = 1e-7;  // of the objective's logarithm
constexpr int trials_of_block = 12;       // of each scenario, its reference included
constexpr double hardly_possible = 0.05;  // probability that a setting holds the constraints

// A point's runs, whether they count or not.
struct PointPast {
  int runs = 0, counted = 0;
  std::set<int> blocks;
};

// What a history says of one scenario.
struct ScenarioPast {
  int trials = 0;   // of workloads
  int counted = 0;  // that tell of the surface
  FailuresInARow failures;
  std::map<int, int> in_block;  // trials of each block, reruns apart
};

class AdaptiveSearch : public Strategy {
 public:
  AdaptiveSearch(const Plan& plan, SurfaceShapes shapes)
      : plan_(plan),
        options_(schedule_options(plan.experiment)),
        surface_(surface_question(plan)),
        shapes_(std::move(shapes)) {
    scenarios_.resize(surface_.reference.size());
    for (int i = 0; i < surface_.grid.points(); ++i) scenarios_[scenario_of(i)].push_back(i);
    // A slowdown is against the reference, whether each block begins with it or not.
    for (const ConstraintSpec& constraint : plan.experiment.objective.constraints)
      slower_than_what_ = slower_than_what_ || constraint.name == "slowdown";
    options_.references = options_.references || slower_than_what_;
  }

  const PlannedTrial* next(const History& history) override {
    look_at(history);
    const auto proposed = propose(history);
    if (!proposed || !affordable(history)) return nullptr;
    proposed_ = *proposed;
    return &proposed_;
  }

  int remaining(const History& history) override {
    look_at(history);
    int left = 0;
    for (std::size_t s = 0; s < scenarios_.size(); ++s) left += std::max(0, most_trials(s) - past_[s].trials);
    if (plan_.experiment.budget.trials)
      left = std::min(left, std::max(0, *plan_.experiment.budget.trials - history.workload_trials()));
    return left;
  }

  std::string announcement(const History&) override {
    const SearchSpec& search = plan_.experiment.search;
    return fmt::format(
        "adaptive search over {} settings: until with {:g} % confidence none is better by more than {:g} %, "
        "at "
        "most {} trials",
        plan_.points.size(), 100 * search.confidence, 100 * search.regret, workload_trials(plan_));
  }

 private:
  std::size_t scenario_of(int point) const {
    return static_cast<std::size_t>(surface_.scenario[static_cast<std::size_t>(point)]);
  }
  int most_trials(std::size_t s) const {
    return most_adaptive_trials(plan_,
                                plan_.points[static_cast<std::size_t>(scenarios_[s].front())].scenario);
  }
  Objective minimise() const { return plan_.experiment.objective.minimise; }

  void look_at(const History& history) {
    past_.assign(scenarios_.size(), {});
    points_.assign(plan_.points.size(), {});
    for (const FinishedTrial& trial : history.trials()) {
      if (!counts_for_its_point(trial.role)) continue;
      ScenarioPast& scenario = past_[scenario_of(trial.point)];
      PointPast& point = points_[static_cast<std::size_t>(trial.point)];
      ++scenario.trials;
      ++point.runs;
      point.blocks.insert(trial.block);
      if (trial.attempt == 1) ++scenario.in_block[trial.block];
      if (tells(trial, minimise())) {
        ++scenario.counted;
        ++point.counted;
      }
    }
    for (std::size_t s = 0; s < scenarios_.size(); ++s) {
      const std::set<int> points(scenarios_[s].begin(), scenarios_[s].end());
      past_[s].failures = failures_at_the_end(history.trials(), minimise(), points);
    }
    hopeless_ = hopeless_points(history.trials(), minimise());
  }

  std::optional<PlannedTrial> propose(const History& history) {
    int block = 1, position = 1;
    for (const FinishedTrial& trial : history.trials()) {
      if (trial.role == TrialRole::warm_up) continue;
      block = std::max(block, trial.block);
      ++position;
    }
    if (const auto again = rerun(history, position)) return again;
    // Of the scenarios that go on, the one with the fewest trials in this block; with all of them full, a new
    // block.
    std::optional<std::size_t> turn;
    for (std::size_t s = 0; s < scenarios_.size(); ++s) {
      if (is_finished(s, history)) continue;
      if (!turn || past_[s].in_block[block] < past_[*turn].in_block[block]) turn = s;
    }
    if (!turn) return std::nullopt;
    if (past_[*turn].in_block[block] >= trials_of_block) ++block;
    const int point = choose(*turn, block, history);
    const bool opens = past_[*turn].in_block[block] == 0;
    const bool reference = opens && options_.references && point == surface_.reference[*turn];
    return with_idle(point, block, position, reference ? TrialRole::reference_first : TrialRole::point,
                     history);
  }

  // A disturbed trial is run again at once, as often as the experiment allows.
  std::optional<PlannedTrial> rerun(const History& history, int position) const {
    const FinishedTrial* last = nullptr;
    for (const FinishedTrial& trial : history.trials()) {
      if (counts_for_its_point(trial.role)) last = &trial;
    }
    if (last == nullptr || last->counts || !last->may_pass) return std::nullopt;
    if (last->attempt > plan_.experiment.conditions.reruns) return std::nullopt;
    const std::size_t s = scenario_of(last->point);
    if (past_[s].trials >= most_trials(s)) return std::nullopt;
    const std::string of = last->attempt > 1 ? last->key.substr(0, last->key.rfind(" rerun ")) : last->key;
    return PlannedTrial{fmt::format("{} rerun {}", of, last->attempt),
                        last->point,
                        last->block,
                        position,
                        last->role,
                        last->attempt + 1};
  }

  // The trial itself, or the idle window at its operating point if the block has none yet.
  PlannedTrial with_idle(int point, int block, int position, TrialRole role, const History& history) const {
    const PlanPoint& p = plan_.points[static_cast<std::size_t>(point)];
    if (options_.idle) {
      const std::string idle =
          fmt::format("idle{}{} #{} before", p.operating_point.empty() ? "" : " ", p.operating_point, block);
      if (!history.contains(idle)) return {idle, point, block, position, TrialRole::idle_before, 1};
    }
    std::string key =
        fmt::format("{} #{}{}", p.key, block, role == TrialRole::reference_first ? " first" : "");
    for (int k = 2; history.contains(key); ++k) key = fmt::format("{} #{}.{}", p.key, block, k);
    return {key, point, block, position, role, 1};
  }

  std::vector<int> candidates_of(std::size_t s) const {
    std::vector<int> candidates;
    for (const int p : scenarios_[s]) {
      if (!hopeless_.contains(p)) candidates.push_back(p);
    }
    return candidates;
  }

  // Space-filling before there is a model: ends and middles of each axis.
  int first_points(std::size_t s) const {
    int dimensions = 0;
    for (const auto& axis : surface_.grid.axes) dimensions += !axis.scenario && axis.x.size() > 1 ? 1 : 0;
    return std::min({2 + 2 * dimensions, static_cast<int>(candidates_of(s).size()), most_trials(s)});
  }

  // Nothing is left to do for it: close enough, all trials spent, or nothing there that can be measured or
  // allowed.
  bool is_finished(std::size_t s, const History& history) {
    const ScenarioPast& past = past_[s];
    if (past.trials >= most_trials(s) || past.failures.hopeless()) return true;
    const auto candidates = candidates_of(s);
    if (candidates.empty()) return true;
    const int reference = surface_.reference[s];
    // Without it no slowdown is known, and so no setting can be named.
    if (slower_than_what_ && (reference < 0 || hopeless_.contains(reference))) return true;
    if (past.counted == 0 || past.counted < first_points(s)) return false;
    const OptimumModel& model = model_of(history);
    const bool known = !slower_than_what_ || points_[static_cast<std::size_t>(reference)].counted > 0;
    const bool impossible = known && std::all_of(candidates.begin(), candidates.end(),
                                                 [&](int p) { return model.feasible(p) < hardly_possible; });
    if (impossible && past.counted >= 2 * first_points(s)) return true;
    const auto close = close_enough(candidates, model);
    return close && often_enough(s, *close) && not_looked_at(s, candidates).empty();
  }

  // The setting that would be named, if the bound on its regret is what was asked for.
  std::optional<int> close_enough(const std::vector<int>& candidates, const OptimumModel& model) const {
    const SearchSpec& search = plan_.experiment.search;
    const auto optimum = model.optimum(candidates, search.confidence);
    if (!optimum || !(search.regret > 0) || optimum->regret_bound > search.regret) return std::nullopt;
    if (model.doubtful(static_cast<int>(scenario_of(optimum->point)))) return std::nullopt;
    // At the very limit of a constraint no number of trials makes it certain; the report says how sure it is.
    constexpr int enough_at_the_limit = 4;
    const bool sure = optimum->feasible >= search.confidence ||
                      points_[static_cast<std::size_t>(optimum->point)].counted >= enough_at_the_limit;
    return sure ? std::optional(optimum->point) : std::nullopt;
  }

  // Run so often that it is not named by an accident: a boost that came, a neighbour that slept.
  bool often_enough(std::size_t s, int point) const {
    constexpr int often = 4;
    return scenarios_[s].size() == 1 || points_[static_cast<std::size_t>(point)].counted >= often;
  }

  // The candidates in parts of an axis in which none was run: each value of an axis or, of more, each
  // twentieth of it is looked at before the search ends. What jumps shows only where it is run.
  std::vector<int> not_looked_at(std::size_t s, const std::vector<int>& candidates) const {
    constexpr std::size_t most_parts = 20;
    std::set<int> left;
    for (std::size_t a = 0; a < surface_.grid.axes.size(); ++a) {
      const auto& axis = surface_.grid.axes[a];
      if (axis.scenario) continue;
      const std::size_t values = axis.x.size(), parts = std::min(values, most_parts);
      const auto part = [&](int p) {
        return static_cast<std::size_t>(surface_.grid.cells[static_cast<std::size_t>(p)][a]) * parts / values;
      };
      std::set<std::size_t> seen;
      for (const int p : scenarios_[s]) {
        if (points_[static_cast<std::size_t>(p)].runs > 0) seen.insert(part(p));
      }
      for (const int p : candidates) {
        if (!seen.contains(part(p))) left.insert(p);
      }
    }
    return {left.begin(), left.end()};
  }

  int choose(std::size_t s, int block, const History& history) {
    const auto candidates = candidates_of(s);
    const int reference = surface_.reference[s];
    const bool is_candidate = std::find(candidates.begin(), candidates.end(), reference) != candidates.end();
    if (options_.references && is_candidate && scenarios_[s].size() > 1) {
      const PointPast& past = points_[static_cast<std::size_t>(reference)];
      if (!past.blocks.contains(block) || (slower_than_what_ && past.counted == 0)) return reference;
    }
    // Where trials fail one after another the model, which never hears of them, would stay: look elsewhere.
    constexpr int stuck = 2;
    if (past_[s].failures.own >= stuck) {
      const auto elsewhere = not_run(candidates);
      if (!elsewhere.empty()) return farthest(s, elsewhere);
    }
    if (past_[s].counted == 0 || past_[s].counted < first_points(s)) return farthest(s, candidates);
    const OptimumModel& model = model_of(history);
    if (const auto close = close_enough(candidates, model)) {
      const auto left = not_looked_at(s, candidates);
      if (!left.empty()) return farthest(s, left);
      if (!often_enough(s, *close)) return *close;
    }
    // On a surface that it cannot model every other trial goes where nothing is known yet, at worst to the
    // last point.
    if (model.doubtful(static_cast<int>(s)) && past_[s].counted % 2 == 0) {
      const auto fresh = not_run(candidates);
      if (!fresh.empty()) return farthest(s, fresh);
    }
    // With so many trials none is lost by looking early at what must be looked at before the end; a search
    // that has no end but its last trial has then seen the whole of each axis, too.
    constexpr int many = 24;
    if (past_[s].counted >= many && past_[s].counted % 2 == 1) {
      const auto left = not_looked_at(s, candidates);
      if (!left.empty()) return farthest(s, left);
    }
    const auto values = model.value_of_trial(candidates);
    const auto most = std::max_element(values.begin(), values.end());
    if (*most > nothing_to_gain) return candidates[static_cast<std::size_t>(most - values.begin())];
    return confirm(candidates, model);
  }

  std::vector<int> not_run(std::vector<int> candidates) const {
    std::erase_if(candidates, [&](int p) { return points_[static_cast<std::size_t>(p)].runs > 0; });
    return candidates;
  }

  // Where the model expects nothing of any trial: of the three that lead, the one least often run.
  int confirm(std::vector<int> candidates, const OptimumModel& model) const {
    auto possible = candidates;
    std::erase_if(possible, [&](int p) { return model.feasible(p) < hardly_possible; });
    constexpr std::size_t few = 3;
    const auto leading = model.leading(possible.empty() ? candidates : possible, few);
    return *std::min_element(leading.begin(), leading.end(), [&](int a, int b) {
      return points_[static_cast<std::size_t>(a)].runs < points_[static_cast<std::size_t>(b)].runs;
    });
  }

  // The candidate that lies farthest from all of the scenario's that were run; with none run, the first.
  int farthest(std::size_t s, const std::vector<int>& candidates) const {
    int best = candidates.front();
    double most = -1;
    for (const int p : candidates) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const int q : scenarios_[s]) {
        if (points_[static_cast<std::size_t>(q)].runs > 0) nearest = std::min(nearest, distance(p, q));
      }
      if (nearest > most) {
        most = nearest;
        best = p;
      }
    }
    return best;
  }

  double distance(int p, int q) const {
    double squares = 0;
    for (std::size_t a = 0; a < surface_.grid.axes.size(); ++a) {
      const auto& axis = surface_.grid.axes[a];
      const auto i = static_cast<std::size_t>(surface_.grid.cells[static_cast<std::size_t>(p)][a]);
      const auto k = static_cast<std::size_t>(surface_.grid.cells[static_cast<std::size_t>(q)][a]);
      const double d = axis.ordered ? axis.x[i] - axis.x[k] : (i == k ? 0 : 1);
      squares += d * d;
    }
    return std::sqrt(squares);
  }

  // A history only grows: as long as no trial that tells came to it, the model stands.
  const OptimumModel& model_of(const History& history) {
    const auto trials = surface_trials(history.trials(), minimise());
    if (!model_ || trials.size() != modelled_) {
      model_.emplace(surface_, trials, shapes_);
      modelled_ = trials.size();
    }
    return *model_;
  }

  bool affordable(const History& history) const {
    const auto& budget = plan_.experiment.budget;
    if (budget.trials && history.workload_trials() >= *budget.trials) return false;
    if (!budget.time || history.workload_trials() == 0) return true;
    const double each = history.spent().value() / history.workload_trials();
    return history.spent().value() + each <= budget.time->value();
  }

  const Plan& plan_;
  ScheduleOptions options_;
  SurfaceQuestion surface_;
  SurfaceShapes shapes_;
  std::vector<std::vector<int>> scenarios_;  // points of each
  bool slower_than_what_ = false;            // a constraint compares with the reference
  // Of the history last looked at.
  std::vector<ScenarioPast> past_;
  std::vector<PointPast> points_;
  std::set<int> hopeless_;
  std::optional<OptimumModel> model_;
  std::size_t modelled_ = 0;
  PlannedTrial proposed_;
};

}  // namespace

std::unique_ptr<Strategy> adaptive_search(const Plan& plan, const SurfaceShapes& shapes) {
  return std::make_unique<AdaptiveSearch>(plan, shapes);
}

}  // namespace dvfs_plan
