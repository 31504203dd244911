#include "results/surface/pooled_trials.hpp"

#include <algorithm>
#include <cmath>

namespace dvfs_plan {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

PooledTrials::PooledTrials(const std::vector<Index>& group, Index groups, const std::vector<int>& block,
                           const VectorXd& known_variance, double noise_sd, double block_sd)
    : group_(group), block_(block), groups_(groups) {
  const auto n = static_cast<Index>(group.size());
  const VectorXd variance = known_variance.array() + noise_sd * noise_sd;
  weight_ = variance.cwiseInverse();
  block_weight_ = of_blocks(weight_);
  shared_ = block_sd * block_sd / (1 + block_sd * block_sd * block_weight_.array());
  to_groups_ = MatrixXd::Zero(n, groups);
  for (Index i = 0; i < n; ++i) to_groups_(i, group_[static_cast<std::size_t>(i)]) = 1;
  MatrixXd precision = to_groups_.transpose();
  to_groups_ = inverse_times(to_groups_);
  precision = precision * to_groups_;
  const Eigen::LLT<MatrixXd> factor(precision);
  noise_ = factor.solve(MatrixXd::Identity(groups, groups));
  noise_ = (noise_ + noise_.transpose().eval()) / 2;
  log_determinants_ = variance.array().log().sum() +
                      (1 + block_sd * block_sd * block_weight_.array()).log().sum() +
                      2 * factor.matrixLLT().diagonal().array().log().sum();
}

VectorXd PooledTrials::of_blocks(const VectorXd& x) const {
  VectorXd sums = VectorXd::Zero(block_.empty() ? 0 : *std::max_element(block_.begin(), block_.end()) + 1);
  for (Index i = 0; i < x.size(); ++i) sums(block_[static_cast<std::size_t>(i)]) += x(i);
  return sums;
}

// Sherman and Morrison's formula, block by block.
MatrixXd PooledTrials::inverse_times(const MatrixXd& x) const {
  MatrixXd scaled = weight_.asDiagonal() * x;
  MatrixXd sums = MatrixXd::Zero(block_weight_.size(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) sums.row(block_[static_cast<std::size_t>(i)]) += scaled.row(i);
  sums = shared_.asDiagonal() * sums;
  for (Index i = 0; i < x.rows(); ++i)
    scaled.row(i) -= weight_(i) * sums.row(block_[static_cast<std::size_t>(i)]);
  return scaled;
}

MatrixXd PooledTrials::means(const MatrixXd& x) const {
  return noise_ * (to_groups_.transpose() * x);
}

double PooledTrials::log_rest(const VectorXd& y) const {
  const VectorXd told = to_groups_.transpose() * y;
  return 0.5 * (y.dot(inverse_times(y).col(0)) - told.dot(noise_ * told) + log_determinants_);
}

double PooledTrials::trace_of_inverse(const MatrixXd& posterior) const {
  const VectorXd of_each = weight_.cwiseAbs2();
  return weight_.sum() - shared_.dot(of_blocks(of_each)) -
         (posterior.array() * (to_groups_.transpose() * to_groups_).array()).sum();
}

double PooledTrials::trace_of_blocks(const MatrixXd& posterior) const {
  MatrixXd sums = MatrixXd::Zero(block_weight_.size(), groups_);
  for (Index i = 0; i < to_groups_.rows(); ++i)
    sums.row(block_[static_cast<std::size_t>(i)]) += to_groups_.row(i);
  return block_weight_.sum() - shared_.dot(block_weight_.cwiseAbs2()) -
         (posterior.array() * (sums.transpose() * sums).array()).sum();
}

MatrixXd PooledTrials::inverse_of(const std::vector<Index>& trials, const MatrixXd& posterior) const {
  const auto count = static_cast<Index>(trials.size());
  const MatrixXd mine = to_groups_(trials, Eigen::all);
  MatrixXd inverse = -(mine * posterior * mine.transpose());
  for (Index i = 0; i < count; ++i) {
    const Index one = trials[static_cast<std::size_t>(i)];
    const int block = block_[static_cast<std::size_t>(one)];
    inverse(i, i) += weight_(one);
    for (Index k = 0; k < count; ++k) {
      const Index other = trials[static_cast<std::size_t>(k)];
      if (block_[static_cast<std::size_t>(other)] == block)
        inverse(i, k) -= shared_(block) * weight_(one) * weight_(other);
    }
  }
  return inverse;
}

}  // namespace dvfs_plan
