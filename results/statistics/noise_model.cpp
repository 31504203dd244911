#include "results/statistics/noise_model.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

constexpr std::array<double, 8> factors{1, 2, 4, 10, 30, 100, 300, 1000};
constexpr std::array<double, 4> shares_of_noisy{0.02, 0.1, 0.3, 0.6};
// For the point that is being judged: it may well be a noisy one.
constexpr double doubted_share = 0.2;
constexpr int levels = 24, number_of_draws = 1000, rounds = 2;
constexpr std::uint64_t seed = 20241;

double prior_of_factor(std::size_t r, double noisy) {
  return r == 0 ? 1 - noisy : noisy / static_cast<double>(factors.size() - 1);
}

struct Scatter {
  double squares = 0, degrees = 0;
};

double log_likelihood(const Scatter& scatter, double variance) {
  return -0.5 * scatter.degrees * std::log(variance) - 0.5 * scatter.squares / variance;
}

Eigen::VectorXd solved(const Eigen::MatrixXd& information, const Eigen::VectorXd& right) {
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
  solver.setThreshold(1e-9);
  solver.compute(information);
  return solver.solve(right);
}

// Effects of the blocks, up to a constant where they hang together: by the system that is left of them once the points are eliminated, or
// the other way round (solves_by_points()).
template <class IndexOf>
Eigen::VectorXd effects_by_blocks(std::span<const BlockedValue> values, const std::vector<double>& weights,
                                  const std::vector<double>& trials, const std::vector<double>& sums,
                                  const Eigen::MatrixXd& share, const IndexOf& index_of) {
  const Eigen::Index blocks = share.cols();
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(blocks, blocks);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(blocks);
  for (const BlockedValue& value : values) {
    const auto p = static_cast<std::size_t>(value.point);
    const Eigen::Index b = index_of(value);
    information(b, b) += weights[p];
    right(b) += weights[p] * (std::log(value.value) - sums[p] / trials[p]);
  }
  for (std::size_t p = 0; p < weights.size(); ++p) {
    if (trials[p] == 0) continue;
    const Eigen::VectorXd mine = share.row(static_cast<Eigen::Index>(p)).transpose();
    information -= weights[p] / trials[p] * mine * mine.transpose();
  }
  return solved(information, right);
}

template <class IndexOf>
Eigen::VectorXd effects_by_points(std::span<const BlockedValue> values, const std::vector<double>& weights,
                                  const std::vector<double>& trials, const std::vector<double>& sums,
                                  const Eigen::MatrixXd& share, const Eigen::VectorXd& in_block,
                                  const IndexOf& index_of) {
  const auto points = static_cast<Eigen::Index>(weights.size());
  const Eigen::Map<const Eigen::VectorXd> weight(weights.data(), points), trial(trials.data(), points),
      sum(sums.data(), points);
  const Eigen::MatrixXd weighted = weight.asDiagonal() * share;
  Eigen::VectorXd of_block = Eigen::VectorXd::Zero(share.cols());
  for (const BlockedValue& value : values)
    of_block(index_of(value)) += weights[static_cast<std::size_t>(value.point)] * std::log(value.value);
  const Eigen::VectorXd inverse = in_block.cwiseInverse();  // each block has a trial, and weights are above 0
  const Eigen::MatrixXd information = Eigen::MatrixXd(weight.cwiseProduct(trial).asDiagonal()) -
                                      weighted * inverse.asDiagonal() * weighted.transpose();
  const Eigen::VectorXd right = weight.cwiseProduct(sum) - weighted * inverse.cwiseProduct(of_block);
  return inverse.cwiseProduct(of_block - weighted.transpose() * solved(information, right));
}

// Residual squares of each point about point + block, the points weighted.
std::vector<Scatter> scatter_of(std::span<const BlockedValue> values, const std::vector<double>& weights) {
  const std::size_t points = weights.size();
  std::map<int, Eigen::Index> block_index;
  for (const BlockedValue& value : values) block_index.emplace(value.block, 0);
  Eigen::Index next = 0;
  for (auto& [block, index] : block_index) index = next++;
  const Eigen::Index blocks = next;
  std::vector<double> trials(points, 0), sums(points, 0);
  Eigen::MatrixXd share = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(points), blocks);
  for (const BlockedValue& value : values) {
    const auto p = static_cast<std::size_t>(value.point);
    ++trials[p];
    sums[p] += std::log(value.value);
    share(value.point, block_index[value.block]) += 1;
  }
  Eigen::VectorXd in_block = Eigen::VectorXd::Zero(blocks);
  for (const BlockedValue& value : values)
    in_block(block_index[value.block]) += weights[static_cast<std::size_t>(value.point)];
  const auto index_of = [&](const BlockedValue& value) { return block_index[value.block]; };
  const Eigen::VectorXd effects =
      solves_by_points(points, static_cast<std::size_t>(blocks))
          ? effects_by_points(values, weights, trials, sums, share, in_block, index_of)
          : effects_by_blocks(values, weights, trials, sums, share, index_of);
  std::vector<Scatter> scatter(points);
  Eigen::VectorXd level = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(points)), borrowed = level;
  for (const BlockedValue& value : values) {
    const auto p = static_cast<std::size_t>(value.point);
    const Eigen::Index b = block_index[value.block];
    level(value.point) += (std::log(value.value) - effects(b)) / trials[p];
    borrowed(value.point) += weights[p] / in_block(b) * (1 - 1 / static_cast<double>(blocks));
  }
  for (const BlockedValue& value : values) {
    const auto p = static_cast<std::size_t>(value.point);
    const double residual = std::log(value.value) - effects(block_index[value.block]) - level(value.point);
    scatter[p].squares += residual * residual;
  }
  for (std::size_t p = 0; p < points; ++p) {
    if (trials[p] > 0)
      scatter[p].degrees = std::max(0.0, trials[p] - 1 - borrowed(static_cast<Eigen::Index>(p)));
  }
  return scatter;
}

// The posterior of tau^2 and pi on a grid, and of each point's factor given them.
class Posterior {
 public:
  explicit Posterior(const std::vector<Scatter>& scatter) : scatter_(scatter) {
    std::vector<double> own;
    double squares = 0, degrees = 0;
    for (const Scatter& one : scatter) {
      if (one.degrees <= 0) continue;
      own.push_back(one.squares / one.degrees);
      squares += one.squares;
      degrees += one.degrees;
    }
    if (own.empty()) return;
    // Works that repeat to the last place scatter by what rounding leaves, be that nothing: as their intervals say too.
    squares = std::max(squares, degrees * rounding_of_shares * rounding_of_shares);
    const double total = squares / degrees, median = std::max(quantile(own, 0.5), 1e-3 * total);
    const double low = std::log(std::min(median / 30, total / 2)),
                 high = std::log(std::max(30 * median, 3 * total));
    double most = -INFINITY;
    for (int level = 0; level < levels; ++level) {
      const double variance = std::exp(low + (high - low) * level / (levels - 1));
      for (const double noisy : shares_of_noisy) {
        double sum = 0;
        for (const Scatter& one : scatter) sum += log_mixture(one, variance, noisy);
        cells_.push_back({variance, noisy, sum, {}, {}});
        most = std::max(most, sum);
      }
    }
    double sum = 0;
    for (Cell& cell : cells_) sum += cell.weight = std::exp(cell.weight - most);
    for (Cell& cell : cells_) cell.weight /= sum;
    std::erase_if(cells_, [](const Cell& cell) { return cell.weight < 1e-6; });
    for (Cell& cell : cells_) {
      for (const Scatter& one : scatter) {
        cell.chances.push_back(of_factors(one, cell.variance, cell.noisy));
        cell.doubted.push_back(of_factors(one, cell.variance, doubted_share));
      }
    }
  }
  bool known() const { return !cells_.empty(); }

  std::vector<double> mean_precisions() const {
    std::vector<double> precisions(scatter_.size(), 0);
    for (const Cell& cell : cells_) {
      for (std::size_t p = 0; p < scatter_.size(); ++p) {
        for (std::size_t r = 0; r < factors.size(); ++r)
          precisions[p] += cell.weight * cell.chances[p][r] / (cell.variance * factors[r]);
      }
    }
    return precisions;
  }

  NoiseModel::Draw draw(boost::random::mt19937_64& random) const {
    boost::random::uniform_01<double> uniform;
    boost::random::normal_distribution<double> normal;
    double u = uniform(random);
    const Cell* cell = &cells_.back();
    for (const Cell& one : cells_) {
      u -= one.weight;
      if (u > 0) continue;
      cell = &one;
      break;
    }
    NoiseModel::Draw draw;
    draw.noisy_share = cell->noisy;
    for (std::size_t p = 0; p < scatter_.size(); ++p) {
      const auto pick = [&](const Chances& chance) {
        double v = uniform(random);
        std::size_t r = 0;
        while (r + 1 < factors.size() && v > chance[r]) v -= chance[r++];
        return cell->variance * factors[r];
      };
      draw.variance.push_back(pick(cell->chances[p]));
      draw.doubted.push_back(pick(cell->doubted[p]));
      draw.normal.push_back(normal(random));
    }
    return draw;
  }

 private:
  using Chances = std::array<double, factors.size()>;  // of each factor
  struct Cell {
    double variance, noisy, weight;
    std::vector<Chances> chances, doubted;  // of each point
  };
  static std::array<double, factors.size()> logs(const Scatter& one, double variance, double noisy) {
    std::array<double, factors.size()> logs{};
    for (std::size_t r = 0; r < factors.size(); ++r)
      logs[r] = std::log(prior_of_factor(r, noisy)) + log_likelihood(one, variance * factors[r]);
    return logs;
  }
  static double log_mixture(const Scatter& one, double variance, double noisy) {
    const auto each = logs(one, variance, noisy);
    const double most = *std::max_element(each.begin(), each.end());
    double sum = 0;
    for (const double log : each) sum += std::exp(log - most);
    return most + std::log(sum);
  }
  static Chances of_factors(const Scatter& one, double variance, double noisy) {
    auto each = logs(one, variance, noisy);
    const double most = *std::max_element(each.begin(), each.end());
    double sum = 0;
    for (double& log : each) sum += log = std::exp(log - most);
    for (double& share : each) share /= sum;
    return each;
  }

  const std::vector<Scatter>& scatter_;
  std::vector<Cell> cells_;
};

}  // namespace

NoiseModel::NoiseModel(std::span<const BlockedValue> values, int points) {
  if (values.empty()) return;
  std::vector<double> weights(static_cast<std::size_t>(points), 1);
  std::vector<Scatter> scatter;
  for (int round = 0; round < rounds; ++round) {
    scatter = scatter_of(values, weights);
    const Posterior posterior(scatter);
    if (!posterior.known()) return;
    weights = posterior.mean_precisions();
    const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / points;
    for (double& weight : weights) weight /= mean;
  }
  scatter = scatter_of(values, weights);
  const Posterior posterior(scatter);
  if (!posterior.known()) return;
  boost::random::mt19937_64 random(seed);
  variance_.assign(weights.size(), 0);
  doubted_.assign(weights.size(), 0);
  for (int i = 0; i < number_of_draws; ++i) {
    draws_.push_back(posterior.draw(random));
    noisy_share_ += draws_.back().noisy_share / number_of_draws;
    for (std::size_t p = 0; p < weights.size(); ++p) {
      variance_[p] += draws_.back().variance[p] / number_of_draws;
      doubted_[p] += draws_.back().doubted[p] / number_of_draws;
    }
  }
}

}  // namespace dvfs_plan
