#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "results/report/settings_order.hpp"
#include "results/report/summary.hpp"
#include "results/surface/plan_surface.hpp"
#include "results/surface/stated_comparison.hpp"

namespace dvfs_plan {
namespace {

std::vector<SurfacePoint> surface_points(const std::vector<PointRow>& rows, const ExperimentRow& experiment) {
  std::vector<SurfacePoint> points;
  for (const PointRow& row : rows) {
    SurfacePoint point{row.scenario, row.is_reference, {}};
    for (const auto& [axis, kind] : experiment.axes) {
      const auto mine = std::find_if(row.settings.begin(), row.settings.end(),
                                     [&](const AxisSetting& s) { return s.axis == axis; });
      point.values.push_back(mine == row.settings.end() ? std::nullopt
                                                        : std::optional(AxisValue{mine->text, mine->number}));
    }
    points.push_back(std::move(point));
  }
  return points;
}

// By what the sensors may be off in all trials alike (late at an edge, cut off at a whole watt) each energy may be: that does not shrink with
// trials, and the model, which learns by differences, knows nothing of it. Of a point that was not run: as of the worst that was.
void add_what_is_the_same(std::vector<SurfaceBand>& bands, const std::vector<int>& points,
                          const std::vector<SurfaceTrial>& trials) {
  std::map<int, std::pair<double, int>> sums;
  for (const SurfaceTrial& trial : trials) {
    if (!trial.energy_j) continue;
    sums[trial.point].first += trial.energy_systematic;
    ++sums[trial.point].second;
  }
  double worst = 0;
  for (const int point : points) {
    if (const auto of = sums.find(point); of != sums.end())
      worst = std::max(worst, of->second.first / of->second.second);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto of = sums.find(points[i]);
    const double share = of == sums.end() ? worst : of->second.first / of->second.second;
    bands[i].low *= std::max(0.0, 1 - share);
    bands[i].high *= 1 + share;
  }
}

SearchSummary summarise_scenario(const OptimumModel& model, std::vector<int> mine,
                                 const std::set<int>& hopeless, int reference,
                                 const std::vector<PointRow>& rows, const std::vector<SurfaceTrial>& trials,
                                 const SearchRow& rule, int scenario, const ObjectiveSpec& objective,
                                 const std::vector<std::string>& nodes) {
  SearchSummary search;
  search.rule = rule;
  std::vector<int> runs(rows.size(), 0);
  for (const SurfaceTrial& trial : trials) ++runs[static_cast<std::size_t>(trial.point)];
  search.constrained = !objective.constraints.empty();
  search.per_unit = !objective.per.empty();
  const std::vector<int> all = mine;
  int repeats = 0;
  if (model.shared()) {
    for (const int of_point : runs) repeats += std::max(0, of_point - 1);
  } else {
    // Each scenario has a model of its own, which knows no other's repetitions.
    for (const int p : mine) repeats += std::max(0, runs[static_cast<std::size_t>(p)] - 1);
  }
  search.scatter_known = repeats >= fewest_repeats;
  // What cannot be run is no alternative.
  search.hopeless = static_cast<int>(std::erase_if(mine, [&](int p) { return hopeless.contains(p); }));
  if (mine.empty()) return search;
  const auto optimum = model.optimum(mine, rule.confidence);
  if (optimum) {
    search.best = rows[static_cast<std::size_t>(optimum->point)].key;
    search.bound = search.scatter_known ? optimum->regret_bound : INFINITY;
    search.constraints_hold = optimum->feasible;
    const auto on_nodes = model.on_nodes(optimum->point, mine, rule.confidence);
    for (const OptimumModel::OnNode& one : on_nodes) {
      if (one.best >= 0)
        search.on_nodes[nodes[static_cast<std::size_t>(one.node)]] = {
            rows[static_cast<std::size_t>(one.best)].key, one.regret_bound, one.told_apart};
    }
  }
  search.shared = model.shared();
  search.used_prior = model.used_shapes(scenario);
  search.doubtful = model.doubtful(scenario);
  const auto values = model.value_of_trial(mine);
  const auto most = std::max_element(values.begin(), values.end());
  if (most != values.end() && *most > 0)
    search.next_best =
        rows[static_cast<std::size_t>(mine[static_cast<std::size_t>(most - values.begin())])].key;
  auto bands = model.bands(mine);
  if (objective.minimise != Objective::time) add_what_is_the_same(bands, mine, trials);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto at = static_cast<std::size_t>(mine[i]);
    SearchPoint point{rows[at].key, rows[at].settings, runs[at] > 0, bands[i], false};
    if (optimum && !search.scatter_known)
      point.not_told_apart = runs[at] > 0;
    else if (optimum)
      point.not_told_apart =
          mine[i] == optimum->point || (model.compare(mine[i], optimum->point).better >= level_of_the_set &&
                                        model.feasible(mine[i]) >= level_of_the_set);
    if (reference >= 0 && mine[i] != reference && runs[at] > 0 &&
        runs[static_cast<std::size_t>(reference)] > 0)
      search.to_reference.emplace(point.point,
                                  stated_comparison(model, mine[i], reference, trials, all, objective));
    search.points.push_back(std::move(point));
  }
  std::stable_sort(
      search.points.begin(), search.points.end(),
      [](const SearchPoint& a, const SearchPoint& b) { return earlier_settings(a.settings, b.settings); });
  return search;
}

}  // namespace

std::vector<SearchAnswer> search_answers(const Summary& summary) {
  std::vector<SearchAnswer> answers;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (!scenario.search) continue;
    const SearchSummary& search = *scenario.search;
    SearchAnswer answer{scenario.scenario,
                        search.best,
                        std::nullopt,
                        static_cast<int>(search.points.size()),
                        search.settings_run,
                        search.trials,
                        {}};
    if (search.best && std::isfinite(search.bound)) answer.bound = search.bound;
    // A band is one where some settings ran often enough to tell how trials scatter.
    for (const SearchPoint& point : search.scatter_known ? search.points : std::vector<SearchPoint>{}) {
      const SurfaceBand& band = point.objective;
      answer.points.push_back({point.point, band.median, band.low, band.high, band.probability_best});
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

Searches summarise_searches(const ExperimentRow& experiment, const std::vector<FinishedTrial>& history,
                            const std::vector<PointRow>& points, const std::vector<PriorShape>& prior) {
  Searches searches;
  if (!experiment.search) return searches;
  const Objective minimise = experiment.objective.minimise;
  const auto known = surface_trials(history, minimise);
  if (known.empty()) return searches;
  const auto nodes = nodes_of(history, minimise);
  const auto hopeless =
      nodes.size() > 1 ? hopeless_points_of_nodes(history, minimise, {}) : hopeless_points(history, minimise);
  const SurfaceQuestion question = surface_question(surface_points(points, experiment), experiment.objective);
  const OptimumModel model(question, known, prior);
  for (std::size_t s = 0; s < question.reference.size(); ++s) {
    std::vector<int> mine;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (question.scenario[i] == static_cast<int>(s)) mine.push_back(static_cast<int>(i));
    }
    const bool any = std::any_of(known.begin(), known.end(), [&](const SurfaceTrial& t) {
      return question.scenario[static_cast<std::size_t>(t.point)] == static_cast<int>(s);
    });
    if (!any) continue;
    const std::vector<int> all = mine;
    searches
        .emplace(points[static_cast<std::size_t>(mine.front())].scenario,
                 summarise_scenario(model, mine, hopeless, question.reference[s], points, known,
                                    *experiment.search, static_cast<int>(s), experiment.objective, nodes))
        .first->second.broke_off =
        nodes.size() < 2 && failures_at_the_end(history, minimise, {all.begin(), all.end()}).hopeless();
    // One that did no work at a setting that never did any is in no model, and counts.
    SearchSummary& search = searches.at(points[static_cast<std::size_t>(all.front())].scenario);
    std::set<int> run;
    for (const FinishedTrial& trial : history) {
      if (!trial.counts || question.scenario[static_cast<std::size_t>(trial.point)] != static_cast<int>(s))
        continue;
      ++search.trials;
      if (!hopeless.contains(trial.point)) run.insert(trial.point);
    }
    search.settings_run = static_cast<int>(run.size());
  }
  return searches;
}

}  // namespace dvfs_plan
