#include "results/statistics/blocks.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "results/statistics/estimate.hpp"
#include "results/statistics/noise_model.hpp"

namespace dvfs_plan {
namespace {

// Mean log value of each block of one point.
std::map<int, double> logs_of(std::span<const BlockedValue> values, int point) {
  std::map<int, std::pair<double, int>> sums;
  for (const BlockedValue& value : values) {
    if (value.point != point || !(value.value > 0)) continue;
    sums[value.block].first += std::log(value.value);
    ++sums[value.block].second;
  }
  std::map<int, double> means;
  for (const auto& [block, sum] : sums) means[block] = sum.first / sum.second;
  return means;
}

std::vector<std::vector<double>> rows_of(const Eigen::MatrixXd& matrix) {
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(matrix.rows()));
  for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c)
      rows[static_cast<std::size_t>(r)].push_back(matrix(r, c));
  }
  return rows;
}

}  // namespace

double share_of_log_ratio(double log_ratio, ChangeOf what) {
  constexpr double furthest = 13.8;  // a million times
  const double change = std::expm1(std::min(log_ratio, furthest));
  return what == ChangeOf::saving ? -change : change;
}

std::optional<Change> paired_change(std::span<const BlockedValue> values, int point, int reference,
                                    ChangeOf what, double sensor) {
  const auto mine = logs_of(values, point), other = logs_of(values, reference);
  std::vector<double> logs;
  for (const auto& [block, value] : mine) {
    const auto paired = other.find(block);
    if (paired != other.end()) logs.push_back(value - paired->second);
  }
  const auto mean = estimate(logs);
  if (!mean) return std::nullopt;
  const auto as_change = [&](double log_ratio) { return share_of_log_ratio(log_ratio, what); };
  Change change{mean->n, as_change(mean->mean), std::nullopt, std::nullopt};
  if (mean->half_width) {
    const double half = std::hypot(*mean->half_width, sensor);
    const double a = as_change(mean->mean - half), b = as_change(mean->mean + half);
    change.low = std::min(a, b);
    change.high = std::max(a, b);
  }
  return change;
}

// What the normal equations of the model are made of.
struct BlockModel::Sums {
  std::map<int, Eigen::Index> block_index;
  Eigen::MatrixXd incidence;       // trials of each point in each block
  Eigen::VectorXd counts;          // of each point
  Eigen::VectorXd points, blocks;  // of logarithms

  Sums(std::span<const BlockedValue> values, int of_points) {
    for (const BlockedValue& value : values) block_index.emplace(value.block, 0);
    Eigen::Index next = 0;
    for (auto& [block, index] : block_index) index = next++;
    const auto of_blocks = static_cast<Eigen::Index>(block_index.size());
    incidence = Eigen::MatrixXd::Zero(of_points, of_blocks);
    points = Eigen::VectorXd::Zero(of_points);
    blocks = Eigen::VectorXd::Zero(of_blocks);
    for (const BlockedValue& value : values) {
      const Eigen::Index block = block_index[value.block];
      incidence(value.point, block) += 1;
      points(value.point) += std::log(value.value);
      blocks(block) += std::log(value.value);
    }
    counts = incidence.rowwise().sum();
  }
};

namespace {

Eigen::VectorXd inverse_of(const Eigen::VectorXd& counts) {
  return counts.unaryExpr([](double n) { return n > 0 ? 1 / n : 0.0; });
}

// The system is singular by nature (a level may move from blocks to points). Eigen's own threshold is of
// the size of the rounding: some hundred points with a few trials missing make it take the rank for full.
Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver_of(const Eigen::MatrixXd& information) {
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
  solver.setThreshold(1e-9);
  solver.compute(information);
  return solver;
}

// Points that met in a block, also by way of others, have the same number; those without a trial one of their own. `of_blocks`: of each
// block that of its points.
std::vector<int> components_of(const Eigen::MatrixXd& incidence, std::vector<int>& of_blocks) {
  std::vector<int> parent(static_cast<std::size_t>(incidence.rows()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int one) {
    while (parent[static_cast<std::size_t>(one)] != one) one = parent[static_cast<std::size_t>(one)];
    return one;
  };
  of_blocks.assign(static_cast<std::size_t>(incidence.cols()), 0);
  for (Eigen::Index block = 0; block < incidence.cols(); ++block) {
    int first = -1;
    for (Eigen::Index point = 0; point < incidence.rows(); ++point) {
      if (!(incidence(point, block) > 0)) continue;
      const int mine = root(static_cast<int>(point));
      if (first < 0)
        first = mine;
      else
        parent[static_cast<std::size_t>(mine)] = first = root(first);
    }
    of_blocks[static_cast<std::size_t>(block)] = first;
  }
  for (int& one : of_blocks) one = root(one);
  for (std::size_t point = 0; point < parent.size(); ++point) parent[point] = root(static_cast<int>(point));
  return parent;
}

}  // namespace

BlockModel::BlockModel(std::span<const BlockedValue> values, int points) {
  counts_.assign(static_cast<std::size_t>(points), 0);
  effects_.assign(static_cast<std::size_t>(points), 0);
  if (values.empty()) return;
  values_.assign(values.begin(), values.end());
  const Sums sums(values, points);
  counts_.assign(sums.counts.begin(), sums.counts.end());
  std::vector<int> of_blocks;
  component_ = components_of(sums.incidence, of_blocks);
  // The points' normal equations are diagonal, and so are the blocks': eliminating one of the two leaves a system of the other. That of
  // the blocks grows with the night: of ten thousand it would take hours.
  by_points_ = solves_by_points(counts_.size(), of_blocks.size());
  const std::vector<double> block_effects = by_points_ ? solve_points(sums, of_blocks) : solve_blocks(sums);

  double squares = 0;
  for (const BlockedValue& value : values) {
    const double fitted = effects_[static_cast<std::size_t>(value.point)] +
                          block_effects[static_cast<std::size_t>(sums.block_index.at(value.block))];
    squares += (std::log(value.value) - fitted) * (std::log(value.value) - fitted);
  }
  if (degrees_of_freedom_ > 0) error_variance_ = squares / degrees_of_freedom_;
  const double level =
      Eigen::Map<const Eigen::VectorXd>(block_effects.data(), static_cast<Eigen::Index>(block_effects.size()))
          .mean();
  for (double& effect : effects_) effect += level;
  for (const auto& [block, index] : sums.block_index) {
    const auto i = static_cast<std::size_t>(index);
    blocks_[block] = {block_effects[i] - level, of_blocks[i]};
  }
}

// Effects of points and of blocks; those of the blocks add up to 0 where they hang together.
std::vector<double> BlockModel::solve_blocks(const Sums& sums) {
  const Eigen::VectorXd inverse_counts = inverse_of(sums.counts);
  const Eigen::MatrixXd shares = inverse_counts.asDiagonal() * sums.incidence;
  const Eigen::MatrixXd information =
      Eigen::MatrixXd(sums.incidence.colwise().sum().asDiagonal()) - sums.incidence.transpose() * shares;
  const auto solver = solver_of(information);
  const Eigen::MatrixXd inverse = solver.pseudoInverse();
  const Eigen::VectorXd block_effects = inverse * (sums.blocks - shares.transpose() * sums.points);
  const Eigen::VectorXd effects = inverse_counts.asDiagonal() * sums.points - shares * block_effects;
  const auto present = static_cast<int>((sums.counts.array() > 0).count());
  degrees_of_freedom_ = static_cast<int>(values_.size()) - present - static_cast<int>(solver.rank());
  effects_.assign(effects.begin(), effects.end());
  in_block_ = rows_of(shares);
  inverse_ = rows_of(inverse);
  return {block_effects.begin(), block_effects.end()};
}

// The same by way of the points.
std::vector<double> BlockModel::solve_points(const Sums& sums, const std::vector<int>& component_of_blocks) {
  const Eigen::VectorXd inverse_sizes = inverse_of(sums.incidence.colwise().sum().transpose());
  const Eigen::MatrixXd shares = sums.incidence * inverse_sizes.asDiagonal();
  const Eigen::MatrixXd information =
      Eigen::MatrixXd(sums.counts.asDiagonal()) - shares * sums.incidence.transpose();
  const auto solver = solver_of(information);
  const Eigen::MatrixXd inverse = solver.pseudoInverse();
  Eigen::VectorXd effects = inverse * (sums.points - shares * sums.blocks);
  Eigen::VectorXd block_effects = inverse_sizes.asDiagonal() * sums.blocks - shares.transpose() * effects;
  std::map<int, std::pair<double, int>> levels;  // of the blocks, by component
  for (std::size_t b = 0; b < component_of_blocks.size(); ++b) {
    levels[component_of_blocks[b]].first += block_effects(static_cast<Eigen::Index>(b));
    ++levels[component_of_blocks[b]].second;
  }
  const auto level_of = [&](int component) {
    const auto found = levels.find(component);
    return found == levels.end() ? 0.0 : found->second.first / found->second.second;
  };
  for (std::size_t b = 0; b < component_of_blocks.size(); ++b)
    block_effects(static_cast<Eigen::Index>(b)) -= level_of(component_of_blocks[b]);
  for (std::size_t i = 0; i < component_.size(); ++i)
    effects(static_cast<Eigen::Index>(i)) += level_of(component_[i]);
  degrees_of_freedom_ = static_cast<int>(values_.size()) - static_cast<int>(component_of_blocks.size()) -
                        static_cast<int>(solver.rank());
  effects_.assign(effects.begin(), effects.end());
  inverse_ = rows_of(inverse);
  return {block_effects.begin(), block_effects.end()};
}

std::optional<double> BlockModel::level(int point) const {
  const auto i = static_cast<std::size_t>(point);
  if (!(counts_.at(i) > 0)) return std::nullopt;
  return std::exp(effects_[i]);
}

std::optional<double> BlockModel::level_of(std::span<const BlockedValue> values, int like) const {
  if (!(counts_.at(static_cast<std::size_t>(like)) > 0)) return std::nullopt;
  double sum = 0;
  int count = 0;
  for (const BlockedValue& value : values) {
    const auto block = blocks_.find(value.block);
    if (block == blocks_.end() || block->second.component != component_.at(static_cast<std::size_t>(like)))
      continue;
    sum += std::log(value.value) - block->second.effect;
    ++count;
  }
  return count > 0 ? std::optional(std::exp(sum / count)) : std::nullopt;
}

double BlockModel::contrast_variance(int a, int b) const {
  const auto i = static_cast<std::size_t>(a), k = static_cast<std::size_t>(b);
  // The two never met, not even by way of others: nothing can be said of their difference.
  if (component_[i] != component_[k]) return std::numeric_limits<double>::infinity();
  if (by_points_) return inverse_[i][i] + inverse_[k][k] - inverse_[i][k] - inverse_[k][i];
  const std::size_t blocks = inverse_.size();
  double variance = 1 / counts_[i] + 1 / counts_[k];
  for (std::size_t r = 0; r < blocks; ++r) {
    const double mine = in_block_[i][r] - in_block_[k][r];
    for (std::size_t c = 0; c < blocks; ++c)
      variance += mine * inverse_[r][c] * (in_block_[i][c] - in_block_[k][c]);
  }
  return variance;
}

std::vector<int> BlockModel::not_worse_than_best(std::span<const int> among, double level,
                                                 std::span<const double> sensor,
                                                 std::span<const int> asked) const {
  std::vector<int> candidates, kept;
  for (const int point : among) {
    if (counts_.at(static_cast<std::size_t>(point)) > 0) candidates.push_back(point);
  }
  if (candidates.size() < 2 || degrees_of_freedom_ < 1) return candidates;
  const NoiseModel noise(values_, static_cast<int>(counts_.size()));
  if (!noise.known()) return candidates;
  // The errors of all points' means in each draw, once for all comparisons.
  std::vector<std::vector<double>> errors;
  for (const NoiseModel::Draw& draw : noise.draws()) {
    auto& of_points = errors.emplace_back(counts_.size());
    for (const int k : candidates) {
      const auto other = static_cast<std::size_t>(k);
      of_points[other] = std::sqrt(draw.variance[other] / counts_[other]) * draw.normal[other];
    }
  }
  for (const int i : candidates) {
    if (!asked.empty() && std::find(asked.begin(), asked.end(), i) == asked.end()) continue;
    if (!worse_than_one(i, candidates, noise, errors, level, sensor)) kept.push_back(i);
  }
  return kept;
}

bool BlockModel::worse_than_one(int i, const std::vector<int>& candidates, const NoiseModel& noise,
                                const std::vector<std::vector<double>>& errors, double level,
                                std::span<const double> sensor) const {
  const auto mine = static_cast<std::size_t>(i);
  std::vector<int> rivals;
  std::vector<double> scales;  // of the difference of two levels
  for (const int k : candidates) {
    if (k == i) continue;
    const auto other = static_cast<std::size_t>(k);
    // Blocks that not both were in widen it, and pairs that never met say nothing.
    const double unbalanced = contrast_variance(i, k) / (1 / counts_[mine] + 1 / counts_[other]);
    const double variance =
        unbalanced * (noise.doubted_variance(i) / counts_[mine] + noise.variance(k) / counts_[other]);
    if (!std::isfinite(variance)) continue;
    rivals.push_back(k);
    scales.push_back(std::sqrt(variance));
  }
  if (rivals.empty()) return false;
  std::vector<double> most;
  for (std::size_t d = 0; d < errors.size(); ++d) {
    const NoiseModel::Draw& draw = noise.draws()[d];
    const double error = std::sqrt(draw.doubted[mine] / counts_[mine]) * draw.normal[mine];
    double worst = 0;
    for (std::size_t r = 0; r < rivals.size(); ++r)
      worst = std::max(worst, (error - errors[d][static_cast<std::size_t>(rivals[r])]) / scales[r]);
    most.push_back(worst);
  }
  // The model keeps its level on the average over points only; half of it keeps it for the noisiest too
  // (tests/bench/README.md).
  const double limit = quantile(most, 1 - level / 2);
  const auto part = [&](int point) { return sensor.empty() ? 0 : sensor[static_cast<std::size_t>(point)]; };
  for (std::size_t r = 0; r < rivals.size(); ++r) {
    const double margin = std::hypot(limit * scales[r], part(i), part(rivals[r]));
    if (effects_[mine] - effects_[static_cast<std::size_t>(rivals[r])] > margin) return true;
  }
  return false;
}

}  // namespace dvfs_plan
