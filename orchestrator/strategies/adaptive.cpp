#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/text.hpp"
#include "orchestrator/strategies/one_by_one.hpp"

namespace dvfs_plan {
namespace {

constexpr double nothing_to_gain = 1e-7;  // of the objective's logarithm
constexpr double hardly_possible = 0.05;  // probability that a setting holds the constraints

// Chooses each trial by what the trials before it say of the whole surface (results/surface), and stops once
// the setting it would name is close enough to the best, by `search` in the experiment.
class AdaptiveSearch : public OneByOne {
 public:
  explicit AdaptiveSearch(StrategyRequest request) : OneByOne(request), prior_(std::move(request.prior)) {}

  std::string announcement(const History&) override {
    const SearchSpec& search = plan_.experiment.search;
    return fmt::format(
        "adaptive search over {} settings: until with {:g} % confidence none is better by more than {:g} %, "
        "at "
        "most {}",
        plan_.points.size(), 100 * search.confidence, 100 * search.regret,
        counted(workload_trials(plan_), "trial"));
  }

 private:
  // What is under way elsewhere is taken as told at its expected value (OptimumModel::value_of_trial).
  bool waits_for_all() const override { return false; }

  // Space-filling before there is a model: ends and middles of each axis.
  int first_points(std::size_t s) const {
    int dimensions = 0;
    for (const auto& axis : surface_.grid.axes) dimensions += !axis.scenario && axis.x.size() > 1 ? 1 : 0;
    return std::min({2 + 2 * dimensions, static_cast<int>(candidates_of(s).size()), most_trials(s)});
  }

  // Close enough, or nothing there that is allowed.
  bool is_enough(std::size_t s, const std::vector<int>& candidates, const History& history) override {
    const ScenarioPast& past = past_[s];
    if (past.counted == 0 || past.settings < first_points(s)) return false;
    const OptimumModel& model = model_of(history);
    const int reference = surface_.reference[s];
    const bool known = !needs_reference() || past_of(reference).counted > 0;
    const bool impossible = known && std::all_of(candidates.begin(), candidates.end(),
                                                 [&](int p) { return model.feasible(p) < hardly_possible; });
    if (impossible && past.counted >= 2 * first_points(s)) return true;
    const auto close = close_enough(candidates, model);
    return close && often_enough(s, *close) && not_looked_at(s, candidates).empty() &&
           !node_that_may_do_better(*close, candidates, model);
  }

  // The setting that would be named, if the bound on its regret is what was asked for.
  std::optional<int> close_enough(const std::vector<int>& candidates, const OptimumModel& model) const {
    const SearchSpec& search = plan_.experiment.search;
    const auto optimum = model.optimum(candidates, search.confidence);
    if (!optimum || !(search.regret > 0) || optimum->regret_bound > search.regret) return std::nullopt;
    if (model.doubtful(static_cast<int>(scenario_of(optimum->point)))) return std::nullopt;
    // At the very limit of a constraint no number of trials makes it certain; the report says how sure it is.
    constexpr int enough_at_the_limit = 4;
    const bool sure =
        optimum->feasible >= search.confidence || past_of(optimum->point).counted >= enough_at_the_limit;
    return sure ? std::optional(optimum->point) : std::nullopt;
  }

  // Where the bound is to hold on each machine: one on whose own surface it does not yet, this one first. By their
  // numbers; nullopt: it holds on all.
  std::optional<int> node_that_may_do_better(int named, const std::vector<int>& candidates,
                                             const OptimumModel& model) const {
    const SearchSpec& search = plan_.experiment.search;
    if (!search.each_node) return std::nullopt;
    const auto nodes = model.on_nodes(named, candidates, search.confidence);
    std::optional<int> other;
    for (const OptimumModel::OnNode& one : nodes) {
      if (one.regret_bound <= search.regret) continue;
      if (one.node == own_node_) return own_node_;
      if (!other) other = one.node;
    }
    return other;
  }

  // Run so often that it is not named by an accident: a boost that came, a neighbour that slept.
  bool often_enough(std::size_t s, int point, int more = 0) const {
    constexpr int often = 5;  // the fewest by whose scatter the report states a bound (search_summary.cpp)
    return scenarios_[s].size() == 1 || past_of(point).counted + more >= often;
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
        if (past_of(p).runs > 0) seen.insert(part(p));
      }
      for (const int p : candidates) {
        if (!seen.contains(part(p))) left.insert(p);
      }
    }
    return {left.begin(), left.end()};
  }

  int choose(std::size_t s, const std::vector<int>& candidates, const History& history) override {
    // Where trials fail one after another the model, which never hears of them, would stay: look elsewhere.
    constexpr int stuck = 2;
    if (past_[s].failures.own >= stuck) {
      const auto elsewhere = not_run(candidates);
      if (!elsewhere.empty()) return farthest(s, elsewhere);
    }
    if (past_[s].counted == 0 || past_[s].settings < first_points(s)) {
      const auto fresh = not_run(candidates);
      if (!fresh.empty() || past_[s].counted == 0) return farthest(s, fresh.empty() ? candidates : fresh);
    }
    const OptimumModel& model = model_of(history);
    const auto close = close_enough(candidates, model);
    if (close) {
      const auto left = not_looked_at(s, candidates);
      if (!left.empty()) return farthest(s, left);
      if (!often_enough(s, *close, past_of(*close).under_way)) return *close;
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
    // A trial here tells most of this machine: where the type is known and this one is not yet, of its own surface.
    OptimumModel::Where where{under_way(s, history), own_node_, false};
    where.its_own =
        own_node_ >= 0 && close && node_that_may_do_better(*close, candidates, model) == own_node_;
    auto values = model.value_of_trial(candidates, where);
    // What another machine is about to find out is known soon: not what this one finds out, too.
    const auto is_awaited = [&](int p) { return past_of(p).under_way > 0 && past_of(p).counted == 0; };
    for (std::size_t i = 0; i < candidates.size() && !where.under_way.empty(); ++i) {
      if (is_awaited(candidates[i])) values[i] = 0;
    }
    const auto most = std::max_element(values.begin(), values.end());
    if (*most > nothing_to_gain) return candidates[static_cast<std::size_t>(most - values.begin())];
    auto known_soon = candidates;
    std::erase_if(known_soon, is_awaited);
    return confirm(known_soon.empty() ? candidates : known_soon, model);
  }

  std::vector<SurfaceTrial> under_way(std::size_t s, const History& history) const {
    std::vector<SurfaceTrial> trials;
    for (const History::InFlight& one : history.in_flight()) {
      if (!counts_for_its_point(one.role) || scenario_of(one.point) != s) continue;
      SurfaceTrial& trial = trials.emplace_back();
      trial.point = one.point;
      trial.node = number_of(one.node);
    }
    return trials;
  }

  // Of a machine in the model; -1: it has run nothing that tells.
  int number_of(const std::string& node) const {
    const auto own = std::find(nodes_.begin(), nodes_.end(), node);
    return own == nodes_.end() ? -1 : static_cast<int>(own - nodes_.begin());
  }

  // Where the model expects nothing of any trial: of the three that lead, the one least often run.
  int confirm(std::vector<int> candidates, const OptimumModel& model) const {
    auto possible = candidates;
    std::erase_if(possible, [&](int p) { return model.feasible(p) < hardly_possible; });
    constexpr std::size_t few = 3;
    const auto leading = model.leading(possible.empty() ? candidates : possible, few);
    return *std::min_element(leading.begin(), leading.end(),
                             [&](int a, int b) { return past_of(a).runs < past_of(b).runs; });
  }

  // The candidate that lies farthest from all of the scenario's that were run; with none run, the first.
  int farthest(std::size_t s, const std::vector<int>& candidates) const {
    int best = candidates.front();
    double most = -1;
    for (const int p : candidates) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const int q : scenarios_[s]) {
        if (past_of(q).runs > 0) nearest = std::min(nearest, distance(p, q));
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

  // As long as the trials that tell are the same, the model stands. (One of several machines may have been left out.)
  const OptimumModel& model_of(const History& history) {
    auto trials = surface_trials(history.trials(), minimise());
    if (!model_ || trials != modelled_) {
      model_.emplace(surface_, trials, prior_);
      modelled_ = std::move(trials);
      nodes_ = nodes_of(history.trials(), minimise());
      own_node_ = nodes_.size() > 1 ? number_of(node_) : -1;
    }
    return *model_;
  }

  std::vector<PriorShape> prior_;
  std::optional<OptimumModel> model_;
  std::vector<SurfaceTrial> modelled_;
  std::vector<std::string> nodes_;  // in the model
  int own_node_ = -1;
};

const Registered<StrategyKind> adaptive({.name = "adaptive",
                                         .place = 20,
                                         .what = "each trial where a model of all settings expects most of "
                                                 "it, until the best is known closely enough",
                                         .by_model = true,
                                         .make = [](StrategyRequest request) -> std::unique_ptr<Strategy> {
                                           return std::make_unique<AdaptiveSearch>(std::move(request));
                                         }});

}  // namespace
}  // namespace dvfs_plan
