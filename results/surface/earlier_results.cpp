#include "results/surface/earlier_results.hpp"

#include <cmath>

#include "results/surface/quantity_draws.hpp"
#include "results/surface/shape_matrices.hpp"

namespace dvfs_plan {
namespace {

constexpr int draws_of_shape = 256;
constexpr std::uint64_t seed_of_shape = 404;

std::vector<double> expected_values(const SurfaceQuestion& question, const SurfacePrior& prior,
                                    const Observations& data) {
  const auto drawn =
      draw_quantity(question.grid, question.scenario, prior, {}, data, draws_of_shape, seed_of_shape);
  const Eigen::VectorXd mean = drawn.draws.rowwise().mean();
  std::vector<double> values;
  for (const double value : mean) values.push_back(value - mean.mean());
  return values;
}

}  // namespace

PriorShape learn_shape(const SurfaceQuestion& question, std::span<const SurfaceTrial> trials) {
  Observations time, power;
  const auto add = [](Observations& to, const SurfaceTrial& trial, double value) {
    to.point.push_back(trial.point);
    to.block.push_back(trial.block);
    to.node.push_back(0);
    to.y.push_back(value);
    to.known_sd.push_back(0);
  };
  for (const SurfaceTrial& trial : trials) {
    add(time, trial, std::log(trial.time_s));
    if (trial.energy_j) add(power, trial, std::log(*trial.energy_j / trial.time_s));
  }
  PriorShape shape;
  shape.log_time = expected_values(question, prior_of_time(), time);
  if (power.size() == time.size()) shape.log_power = expected_values(question, prior_of_power(), power);
  return shape;
}

ShapeMatrices shape_matrices(const std::vector<PriorShape>& shapes) {
  ShapeMatrices matrices;
  if (shapes.empty()) return matrices;
  const auto points = static_cast<Eigen::Index>(shapes.front().log_time.size());
  const auto columns = static_cast<Eigen::Index>(shapes.size());
  matrices.time.resize(points, columns);
  matrices.power.resize(points, columns);
  bool power = true;
  for (Eigen::Index c = 0; c < columns; ++c) {
    const PriorShape& shape = shapes[static_cast<std::size_t>(c)];
    power = power && !shape.log_power.empty();
    for (Eigen::Index p = 0; p < points; ++p) {
      matrices.time(p, c) = shape.log_time[static_cast<std::size_t>(p)];
      if (power) matrices.power(p, c) = shape.log_power[static_cast<std::size_t>(p)];
    }
  }
  if (!power) matrices.power.resize(0, 0);
  return matrices;
}

}  // namespace dvfs_plan
