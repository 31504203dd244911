#include "results/surface/plan_surface.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "results/statistics/groups.hpp"
#include "results/trial/unequal_work.hpp"

namespace dvfs_plan {
namespace {

// What one axis takes at the points, by size or, of words, by first appearance.
std::vector<AxisValue> values_of_axis(std::span<const SurfacePoint> points, std::size_t axis) {
  std::vector<AxisValue> values;
  for (const SurfacePoint& point : points) {
    const auto& value = point.values[axis];
    if (value && std::find(values.begin(), values.end(), *value) == values.end()) values.push_back(*value);
  }
  const bool numbers =
      std::all_of(values.begin(), values.end(), [](const AxisValue& v) { return v.number.has_value(); });
  if (numbers)
    std::stable_sort(values.begin(), values.end(),
                     [](const AxisValue& a, const AxisValue& b) { return *a.number < *b.number; });
  return values;
}

// Whether points of one scenario differ on it. Parameters that only make scenarios do not.
bool competes(std::span<const SurfacePoint> points, const std::vector<int>& scenario, std::size_t axis) {
  std::map<int, const std::optional<AxisValue>*> first;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [known, is_new] = first.emplace(scenario[i], &points[i].values[axis]);
    if (!is_new && *known->second != points[i].values[axis]) return true;
  }
  return false;
}

bool is_before(const std::optional<AxisValue>& a, const std::optional<AxisValue>& b) {
  if (!a || !b) return !a && b;
  if (a->number && b->number && *a->number != *b->number) return *a->number < *b->number;
  return a->text < b->text;
}

// By scenario's name and by values.
std::vector<int> order_of(std::span<const SurfacePoint> points) {
  std::vector<int> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int i, int k) {
    const SurfacePoint &a = points[static_cast<std::size_t>(i)], &b = points[static_cast<std::size_t>(k)];
    if (a.scenario != b.scenario) return a.scenario < b.scenario;
    return std::lexicographical_compare(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                                        is_before);
  });
  return order;
}

}  // namespace

SurfaceQuestion surface_question(std::span<const SurfacePoint> points, const ObjectiveSpec& objective) {
  SurfaceQuestion question;
  question.objective = objective;
  question.order = order_of(points);
  std::map<std::string, int> scenarios;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto next = static_cast<int>(scenarios.size());
    question.scenario.push_back(scenarios.emplace(points[i].scenario, next).first->second);
    if (question.scenario.back() == next) question.reference.push_back(-1);
    if (points[i].reference)
      question.reference[static_cast<std::size_t>(question.scenario.back())] = static_cast<int>(i);
  }
  question.grid.cells.resize(points.size());
  const std::size_t axes = points.empty() ? 0 : points.front().values.size();
  for (std::size_t a = 0; a < axes; ++a) {
    if (!competes(points, question.scenario, a)) continue;
    const auto values = values_of_axis(points, a);
    std::vector<std::optional<double>> numbers;
    for (const AxisValue& value : values) numbers.push_back(value.number);
    question.grid.axes.push_back(grid_axis(numbers));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto& mine = points[i].values[a];
      const auto at = mine ? std::find(values.begin(), values.end(), *mine) - values.begin() : 0;
      question.grid.cells[i].push_back(static_cast<int>(at));
    }
  }
  if (scenarios.size() > 1) {
    SettingsGrid::Axis axis;
    axis.ordered = false;
    axis.scenario = true;
    for (std::size_t s = 0; s < scenarios.size(); ++s) axis.x.push_back(static_cast<double>(s));
    question.grid.axes.push_back(axis);
    for (std::size_t i = 0; i < points.size(); ++i) question.grid.cells[i].push_back(question.scenario[i]);
  }
  return question;
}

SurfaceQuestion surface_question(const Plan& plan) {
  std::vector<SurfacePoint> points;
  for (const PlanPoint& point : plan.points)
    points.push_back({point.scenario, point.reference, point.values});
  return surface_question(points, plan.experiment.objective);
}

bool measures_surface(const FinishedTrial& trial, Objective minimise) {
  const auto positive = [](const std::optional<double>& v) { return v && std::isfinite(*v) && *v > 0; };
  return trial.counts && trial.objective && positive(trial.work_time_s) &&
         (minimise == Objective::time || positive(trial.work_energy_j));
}

std::set<int> hopeless_points(std::span<const FinishedTrial> history, Objective minimise) {
  // A failure of its own comes again: once is enough where nothing good was seen, twice in a row where it
  // was. A disturbance is no fault of the point; after many in a row it is left all the same.
  constexpr int own_after_good = 2, disturbed_in_a_row = 8;
  struct Past {
    bool good = false;
    int own = 0, disturbed = 0;  // since the last good trial
  };
  std::map<int, Past> past;
  for (const FinishedTrial& trial : by_totals(history, minimise)) {
    if (!counts_for_its_point(trial.role)) continue;
    Past& mine = past[trial.point];
    if (measures_surface(trial, minimise))
      mine = {true, 0, 0};
    else
      ++(trial.may_pass ? mine.disturbed : mine.own);
  }
  std::set<int> hopeless;
  for (const auto& [point, mine] : past) {
    if (mine.own >= (mine.good ? own_after_good : 1) || mine.disturbed >= disturbed_in_a_row)
      hopeless.insert(point);
  }
  return hopeless;
}

std::set<int> hopeless_points_of_nodes(std::span<const FinishedTrial> history, Objective minimise,
                                       const std::string& node) {
  std::map<std::string, std::vector<FinishedTrial>> by_node;
  for (const FinishedTrial& trial : history) by_node[trial.node].push_back(trial);
  std::map<int, int> nodes;
  std::set<int> hopeless;
  for (const auto& [name, trials] : by_node) {
    for (const int point : hopeless_points(trials, minimise)) {
      if (++nodes[point] >= 2 || name == node) hopeless.insert(point);
    }
  }
  return hopeless;
}

FailuresInARow failures_at_the_end(std::span<const FinishedTrial> history, Objective minimise,
                                   const std::set<int>& points) {
  FailuresInARow failures;
  for (const FinishedTrial& trial : by_totals(history, minimise)) {
    if (!counts_for_its_point(trial.role) || !points.contains(trial.point)) continue;
    if (measures_surface(trial, minimise))
      failures = {};
    else
      ++(trial.may_pass ? failures.disturbed : failures.own);
  }
  return failures;
}

std::vector<std::string> nodes_of(std::span<const FinishedTrial> history, Objective minimise) {
  std::set<std::string> nodes;
  for (const FinishedTrial& one : by_totals(history, minimise)) {
    if (measures_surface(one, minimise)) nodes.insert(one.node);
  }
  return {nodes.begin(), nodes.end()};
}

std::vector<SurfaceTrial> surface_trials(std::span<const FinishedTrial> history, Objective minimise) {
  std::vector<SurfaceTrial> trials;
  const auto nodes = nodes_of(history, minimise);
  const bool several = nodes.size() > 1;
  std::map<int, std::vector<double>> sensors;  // by point, of the trials of which it is known
  for (const FinishedTrial& one : history) {
    if (one.sensor_share && measures_surface(one, minimise)) sensors[one.point].push_back(*one.sensor_share);
  }
  for (const FinishedTrial& one : by_totals(history, minimise)) {
    if (!measures_surface(one, minimise)) continue;
    SurfaceTrial trial;
    trial.point = one.point;
    trial.block = one.block;
    trial.node = static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), one.node) - nodes.begin());
    trial.time_s = *one.work_time_s;
    if (one.work_energy_j && *one.work_energy_j > 0) trial.energy_j = one.work_energy_j;
    constexpr double half_width_of_sd = 1.96;  // 95 %
    // Where it is not known: as of the others of the same setting, as in its mean.
    const auto others = sensors.find(one.point);
    const double of_others = others == sensors.end() ? 0 : mean_of(others->second);
    trial.energy_systematic = one.systematic_share.value_or(0);
    trial.energy_sd = one.sensor_share.value_or(of_others) / half_width_of_sd;
    trial.other = one.other;
    trial.units_of_other = one.units_of_other;
    trial.extremes_of_other = one.extremes_of_other;
    trials.push_back(trial);
  }
  // Whoever collected them in whatever order: the same trials say the same.
  if (several)
    std::stable_sort(trials.begin(), trials.end(), [](const SurfaceTrial& a, const SurfaceTrial& b) {
      return std::pair(a.node, a.block) < std::pair(b.node, b.block);
    });
  return trials;
}

}  // namespace dvfs_plan
