#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "results/surface/gp_model.hpp"

namespace dvfs_plan {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A factor L of an axis' kernel, with L L' equal to it within `tolerance`, with as few columns as that takes
// (pivoted Cholesky). Only the kernel's columns that are used are worked out: of hundreds of values a smooth
// kernel needs a dozen.
MatrixXd axis_factor(const GpModel& model, const VectorXd& theta, Index a) {
  constexpr double tolerance = 1e-5;
  const auto n = static_cast<Index>(model.axis(a).x.size());
  MatrixXd factor = MatrixXd::Zero(n, n);
  VectorXd left = VectorXd::Ones(n);
  ArrayXXd distance(n, 1);
  Index rank = 0;
  for (; rank < n; ++rank) {
    Index pivot = 0;
    const double most = left.maxCoeff(&pivot);
    if (most < tolerance) break;
    for (Index i = 0; i < n; ++i)
      distance(i, 0) = model.distance(a, static_cast<int>(i), static_cast<int>(pivot));
    const VectorXd kernel = model.axis_kernel(distance, theta(model.at_length(a)), a).matrix();
    factor.col(rank) =
        (kernel - factor.leftCols(rank) * factor.row(pivot).head(rank).transpose()) / std::sqrt(most);
    left = (left - factor.col(rank).cwiseAbs2()).cwiseMax(0);
    left(pivot) = 0;
  }
  return factor.leftCols(std::max<Index>(rank, 1));
}

using Slice = Eigen::Map<MatrixXd>;
using ConstSlice = Eigen::Map<const MatrixXd>;

// One axis of a product kernel: independent normal values in, values with its kernel out.
struct AxisMap {
  Index from, to;  // values a draw
  std::function<void(const ConstSlice&, Slice&)> apply;
};

AxisMap by_factor(MatrixXd factor) {
  const Index from = factor.cols(), to = factor.rows();
  return {from, to,
          [f = std::move(factor)](const ConstSlice& in, Slice& out) { out.noalias() = in * f.transpose(); }};
}

// The rough part's kernel is exponential: along sorted values a Markov chain, whose factor need not be multiplied out.
AxisMap rough_along(const GpModel& model, Index a) {
  if (!model.axis(a).ordered) return by_factor(model.rough_factor(a));
  const auto n = static_cast<Index>(model.axis(a).x.size());
  std::vector<std::pair<double, double>> steps;  // what is kept of the value before, and what is added
  for (Index i = 0; i < n; ++i) {
    const double kept = i == 0 ? 0 : model.rough_kernel(a, static_cast<int>(i), static_cast<int>(i) - 1);
    steps.emplace_back(kept, std::sqrt(1 - kept * kept));
  }
  return {n, n, [steps = std::move(steps)](const ConstSlice& in, Slice& out) {
            out.col(0) = in.col(0);
            for (Index i = 1; i < in.cols(); ++i) {
              const auto& [kept, added] = steps[static_cast<std::size_t>(i)];
              out.col(i) = kept * out.col(i - 1) + added * in.col(i);
            }
          }};
}

// Of a product kernel at every cell of the grid: cells x count, axis by axis.
MatrixXd product_draws(const std::vector<AxisMap>& axes, Index count, std::uint64_t seed) {
  Index rank = 1;
  for (const AxisMap& axis : axes) rank *= axis.from;
  MatrixXd tensor = normal_matrix(rank, count, seed);
  Index before = 1, after = rank * count;
  for (const AxisMap& axis : axes) {
    after /= axis.from;
    MatrixXd next(before * axis.to, after);
    for (Index k = 0; k < after; ++k) {
      Slice into(next.data() + k * before * axis.to, before, axis.to);
      axis.apply(ConstSlice(tensor.data() + k * before * axis.from, before, axis.from), into);
    }
    tensor = std::move(next);
    before *= axis.to;
  }
  return Eigen::Map<const MatrixXd>(tensor.data(), before, count);
}

MatrixXd prior_draws(const GpModel& model, const GpComponent& component, Index count, std::uint64_t seed) {
  const VectorXd& theta = component.theta;
  const int points = model.grid().points();
  MatrixXd drawn = model.features() * normal_matrix(model.features().cols(), count, seed + 1);
  if (model.prior().shapes.cols() > 0)
    drawn += std::exp(theta(model.at_shapes())) * model.prior().shapes *
             normal_matrix(model.prior().shapes.cols(), count, seed + 2);
  if (component.bend >= 0) drawn += model.bends().col(component.bend) * normal_matrix(1, count, seed + 7);
  if (component.step_axis >= 0)
    drawn += model.step(component.step_axis, component.step) * normal_matrix(1, count, seed + 9);
  drawn += std::exp(theta(model.at_scatter())) * normal_matrix(points, count, seed + 3);
  std::vector<AxisMap> of_smooth, of_rough;
  for (Index a = 0; a < model.axes(); ++a) {
    of_smooth.push_back(by_factor(axis_factor(model, theta, a)));
    of_rough.push_back(rough_along(model, a));
  }
  const MatrixXd level_free = std::exp(theta(0)) * product_draws(of_smooth, count, seed + 4) +
                              std::exp(theta(model.at_rough())) * product_draws(of_rough, count, seed + 8);
  for (int p = 0; p < points; ++p) {
    Index index = 0, stride = 1;
    for (Index a = 0; a < model.axes(); ++a) {
      index += stride * model.cell(p, a);
      stride *= static_cast<Index>(model.axis(a).x.size());
    }
    drawn.row(p) += level_free.row(index);
  }
  return drawn;
}

// Between all points and the groups of trials.
MatrixXd cross_covariance(const GpModel& model, const GpComponent& component) {
  const VectorXd& theta = component.theta;
  const int points = model.grid().points();
  MatrixXd cross = model.features() * model.of_groups(model.features()).transpose();
  if (model.prior().shapes.cols() > 0)
    cross += std::exp(2 * theta(model.at_shapes())) * model.prior().shapes *
             model.of_groups(model.prior().shapes).transpose();
  if (component.bend >= 0) {
    const VectorXd bend = model.bends().col(component.bend);
    cross += bend * model.of_groups(bend).transpose();
  }
  if (component.step_axis >= 0) {
    const VectorXd step = model.step(component.step_axis, component.step);
    cross += step * model.of_groups(step).transpose();
  }
  ArrayXXd smooth = ArrayXXd::Constant(points, model.groups(), std::exp(2 * theta(0)));
  for (Index a = 0; a < model.axes(); ++a) {
    const auto values = static_cast<Index>(model.axis(a).x.size());
    const std::vector<int>& run = model.values_run(a);
    ArrayXXd distance(values, static_cast<Index>(run.size()));
    for (Index k = 0; k < distance.cols(); ++k) {
      for (Index v = 0; v < values; ++v)
        distance(v, k) = model.distance(a, static_cast<int>(v), run[static_cast<std::size_t>(k)]);
    }
    const ArrayXXd kernel = model.axis_kernel(distance, theta(model.at_length(a)), a);
    for (Index i = 0; i < model.groups(); ++i) {
      const Index column = model.value_of_group(a, i);
      for (int p = 0; p < points; ++p) smooth(p, i) *= kernel(model.cell(p, a), column);
    }
  }
  cross += smooth.matrix();
  cross += std::exp(2 * theta(model.at_rough())) * model.rough();
  for (Index i = 0; i < model.groups(); ++i)
    cross(model.point_of_group(i), i) += std::exp(2 * theta(model.at_scatter()));
  return cross;
}

}  // namespace

MatrixXd normal_matrix(Index rows, Index columns, std::uint64_t seed) {
  boost::random::mt19937_64 engine(seed * 0x9E3779B97F4A7C15ULL + 1);
  boost::random::normal_distribution<double> normal;
  MatrixXd matrix(rows, columns);
  for (Index c = 0; c < columns; ++c) {
    for (Index r = 0; r < rows; ++r) matrix(r, c) = normal(engine);
  }
  return matrix;
}

// Matheron's rule: a draw from the prior, corrected by what the trials say against it.
PosteriorDraws posterior_draws(const GpModel& model, const GpComponent& component, Index count,
                               std::uint64_t seed) {
  const VectorXd& theta = component.theta;
  MatrixXd drawn = prior_draws(model, component, count, seed);
  const std::vector<int>& block = model.data().block;
  const int blocks = *std::max_element(block.begin(), block.end()) + 1;
  const MatrixXd of_blocks = std::exp(theta(model.at_block())) * normal_matrix(blocks, count, seed + 6);
  // Each machine's terms, one below the other.
  const Index terms = model.node_terms().cols();
  const double node_sd = model.nodes() > 1 ? std::exp(theta(model.at_node())) : 0;
  MatrixXd of_nodes;
  if (model.nodes() > 1) of_nodes = node_sd * normal_matrix(model.nodes() * terms, count, seed + 10);
  MatrixXd against = -normal_matrix(model.trials(), count, seed + 5);
  for (Index i = 0; i < model.trials(); ++i) {
    const double known = model.known_sd(i);
    against.row(i) *=
        std::sqrt(std::exp(2 * theta(model.at_noise())) + known * known + GpModel::smallest_variance);
    against.row(i) -= drawn.row(model.point_of(i)) + of_blocks.row(block[static_cast<std::size_t>(i)]);
    if (model.nodes() > 1)
      against.row(i) -=
          model.node_terms().row(model.point_of(i)) * of_nodes.middleRows(model.node_of(i) * terms, terms);
    against.row(i).array() += model.y()(i);
  }
  const PooledTrials trials = model.pooled(theta);
  const Eigen::LLT<MatrixXd> factor(model.covariance(component) + trials.noise());
  const MatrixXd solved = factor.solve(trials.means(against));
  drawn.noalias() += cross_covariance(model, component) * solved;
  drawn.colwise() += model.levels();
  for (Index i = 0; model.nodes() > 1 && i < model.groups(); ++i)
    of_nodes.middleRows(model.node_of_group(i) * terms, terms) +=
        node_sd * node_sd * model.node_terms().row(model.point_of_group(i)).transpose() * solved.row(i);
  return {std::move(drawn), std::move(of_nodes)};
}

}  // namespace dvfs_plan
