#include "results/surface/quantity_draws.hpp"

#include "results/surface/earlier_results.hpp"

#include <algorithm>
#include <boost/random/chi_squared_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>

namespace dvfs_plan {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// Beyond this many trials one process over all scenarios costs more than it teaches.
constexpr std::size_t most_shared_trials = 160;
constexpr double most_shared_cells = 20'000;

// One scenario by itself, or all of them without the axis of scenarios if there is only one.
struct Alone {
  SettingsGrid grid;
  std::vector<int> points;  // of the whole surface
  Observations data;
  std::unique_ptr<GaussianProcess> process;
  bool used_shapes = false;
};

SurfacePrior with_shapes(SurfacePrior prior, const MatrixXd& shapes, const std::vector<int>& points) {
  MatrixXd mine(static_cast<Index>(points.size()), shapes.cols());
  for (std::size_t i = 0; i < points.size(); ++i) mine.row(static_cast<Index>(i)) = shapes.row(points[i]);
  prior.expected = mine.rowwise().mean();
  prior.shapes = (mine.colwise() - prior.expected) / std::sqrt(static_cast<double>(shapes.cols() - 1));
  return prior;
}

// A process is as sure of the settings that were not run as its prior lets it be. How far it is to be
// believed is seen at those that were: its draws are widened by how badly it foretells them, and as few
// settings say little of that, with the tails of Student's t.
MatrixXd widened_draws(const GaussianProcess& process, int count, std::uint64_t seed,
                       GaussianProcess::OfNodes& of_nodes) {
  constexpr double believed = 4;  // settings that what is known beforehand is worth
  const double settings = process.settings(), freedom = believed + settings;
  const double squares = believed + settings * std::max(1.0, process.misfit());
  boost::random::mt19937_64 engine(seed + 99);
  boost::random::chi_squared_distribution<double> chi_squared(freedom);
  MatrixXd draws = process.draws(count, seed, of_nodes);
  MatrixXd& terms = of_nodes.coefficients;
  const Eigen::VectorXd mean = draws.rowwise().mean();
  Eigen::VectorXd mean_terms;
  if (terms.size() > 0) mean_terms = terms.rowwise().mean();
  for (Index s = 0; s < draws.cols(); ++s) {
    const double wider = std::sqrt(squares / chi_squared(engine));
    draws.col(s) = mean + wider * (draws.col(s) - mean);
    if (terms.size() > 0) terms.col(s) = mean_terms + wider * (terms.col(s) - mean_terms);
  }
  return draws;
}

Alone fit_alone(const SettingsGrid& grid, const std::vector<int>& scenario, int which,
                const SurfacePrior& prior, const MatrixXd& shapes, const Observations& data) {
  Alone alone;
  std::map<int, int> index;
  for (int p = 0; p < grid.points(); ++p) {
    if (scenario[static_cast<std::size_t>(p)] != which) continue;
    index[p] = static_cast<int>(alone.points.size());
    alone.points.push_back(p);
  }
  alone.grid.cells.resize(alone.points.size());
  for (std::size_t a = 0; a < grid.axes.size(); ++a) {
    std::set<int> values;
    for (const int p : alone.points) values.insert(grid.cells[static_cast<std::size_t>(p)][a]);
    if (grid.axes[a].scenario || values.size() < 2) continue;
    alone.grid.axes.push_back(grid.axes[a]);
    for (std::size_t i = 0; i < alone.points.size(); ++i)
      alone.grid.cells[i].push_back(grid.cells[static_cast<std::size_t>(alone.points[i])][a]);
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto mine = index.find(data.point[i]);
    if (mine == index.end()) continue;
    alone.data.point.push_back(mine->second);
    alone.data.block.push_back(data.block[i]);
    alone.data.node.push_back(data.node[i]);
    alone.data.y.push_back(data.y[i]);
    alone.data.known_sd.push_back(data.known_sd[i]);
  }
  if (alone.data.size() == 0) return alone;
  alone.process = std::make_unique<GaussianProcess>(alone.grid, prior, alone.data);
  if (shapes.cols() >= static_cast<Eigen::Index>(fewest_shapes)) {
    auto warm =
        std::make_unique<GaussianProcess>(alone.grid, with_shapes(prior, shapes, alone.points), alone.data);
    if (warm->log_evidence() > alone.process->log_evidence()) {
      alone.process = std::move(warm);
      alone.used_shapes = true;
    }
  }
  return alone;
}

}  // namespace

MatrixXd QuantityDraws::at_node(int node) const {
  MatrixXd own = draws;
  for (const OfNodes& some : of_nodes) {
    const Index terms = some.terms.features.cols();
    // A machine that ran nothing of these points differs by what is not known: nothing is said of it.
    if ((node + 1) * terms > some.terms.coefficients.rows()) continue;
    const MatrixXd differs = some.terms.features * some.terms.coefficients.middleRows(node * terms, terms);
    for (std::size_t i = 0; i < some.points.size(); ++i)
      own.row(some.points[i]) += differs.row(static_cast<Index>(i));
  }
  return own;
}

QuantityDraws draw_quantity(const SettingsGrid& grid, const std::vector<int>& scenario,
                            const SurfacePrior& prior, const MatrixXd& shapes, const Observations& data,
                            int count, std::uint64_t seed) {
  const int scenarios = scenario.empty() ? 0 : *std::max_element(scenario.begin(), scenario.end()) + 1;
  std::vector<Alone> each(static_cast<std::size_t>(scenarios));
  double evidence = 0;
  int known = 0;
  for (int s = 0; s < scenarios; ++s) {
    Alone& alone = each[static_cast<std::size_t>(s)];
    alone = fit_alone(grid, scenario, s, prior, shapes, data);
    if (!alone.process) continue;
    evidence += alone.process->log_evidence();
    ++known;
  }
  QuantityDraws result;
  result.misfit.assign(each.size(), 1);
  result.used_shapes.assign(each.size(), false);
  double cells = 1;
  for (const auto& axis : grid.axes) cells *= static_cast<double>(axis.x.size());
  if (known > 1 && data.size() <= most_shared_trials && cells <= most_shared_cells) {
    const GaussianProcess shared(grid, prior, data);
    if (shared.log_evidence() > evidence) {
      QuantityDraws::OfNodes of_nodes;
      result.draws = widened_draws(shared, count, seed, of_nodes.terms);
      if (of_nodes.terms.features.size() > 0) {
        of_nodes.points.resize(static_cast<std::size_t>(grid.points()));
        std::iota(of_nodes.points.begin(), of_nodes.points.end(), 0);
        result.of_nodes.push_back(std::move(of_nodes));
      }
      result.noise_sd = shared.noise_sd();
      result.misfit.assign(each.size(), shared.misfit());
      result.shared = true;
      return result;
    }
  }
  result.draws = MatrixXd::Constant(grid.points(), count, std::numeric_limits<double>::quiet_NaN());
  for (int s = 0; s < scenarios; ++s) {
    const Alone& alone = each[static_cast<std::size_t>(s)];
    if (!alone.process) continue;
    QuantityDraws::OfNodes of_nodes{alone.points, {}};
    const MatrixXd mine =
        widened_draws(*alone.process, count, seed + static_cast<std::uint64_t>(s) * 7919, of_nodes.terms);
    if (of_nodes.terms.features.size() > 0) result.of_nodes.push_back(std::move(of_nodes));
    for (std::size_t i = 0; i < alone.points.size(); ++i)
      result.draws.row(alone.points[i]) = mine.row(static_cast<Index>(i));
    result.noise_sd = std::max(result.noise_sd, alone.process->noise_sd());
    result.misfit[static_cast<std::size_t>(s)] = alone.process->misfit();
    result.used_shapes[static_cast<std::size_t>(s)] = alone.used_shapes;
  }
  return result;
}

namespace {

// Numbers in the order in which they are first met.
class Renumbered {
 public:
  int of(int old) { return numbers_.emplace(old, static_cast<int>(numbers_.size())).first->second; }
  const std::map<int, int>& all() const { return numbers_; }

 private:
  std::map<int, int> numbers_;
};

}  // namespace

QuantityDraws draw_quantity_in_order(const std::vector<int>& order, const SettingsGrid& grid,
                                     const std::vector<int>& scenario, const SurfacePrior& prior,
                                     const MatrixXd& shapes, const Observations& data, int count,
                                     std::uint64_t seed) {
  if (order.empty()) return draw_quantity(grid, scenario, prior, shapes, data, count, seed);
  SettingsGrid ordered_grid;
  ordered_grid.axes = grid.axes;
  std::vector<int> ordered_scenario, place(order.size());
  std::vector<Renumbered> words(grid.axes.size());
  Renumbered scenarios;
  MatrixXd ordered_shapes(shapes.rows(), shapes.cols());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto old = static_cast<std::size_t>(order[i]);
    place[old] = static_cast<int>(i);
    ordered_scenario.push_back(scenarios.of(scenario[old]));
    std::vector<int> cells = grid.cells[old];
    for (std::size_t a = 0; a < cells.size(); ++a) {
      if (!grid.axes[a].ordered) cells[a] = words[a].of(cells[a]);
    }
    ordered_grid.cells.push_back(std::move(cells));
    if (shapes.rows() > 0) ordered_shapes.row(static_cast<Index>(i)) = shapes.row(order[i]);
  }
  Observations ordered_data = data;
  for (int& point : ordered_data.point) point = place[static_cast<std::size_t>(point)];
  const QuantityDraws drawn =
      draw_quantity(ordered_grid, ordered_scenario, prior, ordered_shapes, ordered_data, count, seed);
  QuantityDraws result = drawn;
  for (std::size_t i = 0; i < order.size(); ++i)
    result.draws.row(order[i]) = drawn.draws.row(static_cast<Index>(i));
  for (const auto& [old, now] : scenarios.all()) {
    result.misfit[static_cast<std::size_t>(old)] = drawn.misfit[static_cast<std::size_t>(now)];
    result.used_shapes[static_cast<std::size_t>(old)] = drawn.used_shapes[static_cast<std::size_t>(now)];
  }
  for (QuantityDraws::OfNodes& some : result.of_nodes) {
    for (int& point : some.points) point = order[static_cast<std::size_t>(point)];
  }
  return result;
}

}  // namespace dvfs_plan
