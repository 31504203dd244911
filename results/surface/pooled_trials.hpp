// Trials of one setting on one machine tell of one value. What n trials say of u such values is said by u means and their
// covariance, whatever lies behind these values: all that costs n^3 costs u^3. Exact (Woodbury's identity and the matrix
// determinant lemma), not an approximation. Internal to this folder.
//
//   y = A s + B b + e     s: a group's value; b: a block's, of standard deviation `block`; e: a trial's noise
//   E = B B' block^2 + diag(noise^2 + known^2)
//   S = A' E^-1 A,  mean = S^-1 A' E^-1 y,  noise = S^-1:  the mean is the groups' values and this noise
#pragma once

#include <Eigen/Dense>
#include <vector>

namespace dvfs_plan {

class PooledTrials {
 public:
  // `group`, `block`: of each trial, from 0. `known_variance`: of each trial besides noise_sd^2.
  PooledTrials(const std::vector<Eigen::Index>& group, Eigen::Index groups, const std::vector<int>& block,
               const Eigen::VectorXd& known_variance, double noise_sd, double block_sd);

  // E^-1 x, for columns with a row a trial.
  Eigen::MatrixXd inverse_times(const Eigen::MatrixXd& x) const;
  // Of the groups, for columns with a row a trial: the means that stand for them.
  Eigen::MatrixXd means(const Eigen::MatrixXd& x) const;
  // Of these means about the groups' values.
  const Eigen::MatrixXd& noise() const { return noise_; }
  // What is added to minus the logarithm of the means' density to have that of the trials', constants of pi apart.
  double log_rest(const Eigen::VectorXd& y) const;

  // Of the trials' whole covariance K = A C A' + E, by the groups' posterior covariance P: the trace of K^-1, and that of
  // B' K^-1 B.
  double trace_of_inverse(const Eigen::MatrixXd& posterior) const;
  double trace_of_blocks(const Eigen::MatrixXd& posterior) const;
  // Sums of a column over each block.
  Eigen::VectorXd of_blocks(const Eigen::VectorXd& x) const;
  // K^-1 of some of the trials.
  Eigen::MatrixXd inverse_of(const std::vector<Eigen::Index>& trials, const Eigen::MatrixXd& posterior) const;

 private:
  const std::vector<Eigen::Index>& group_;
  const std::vector<int>& block_;
  Eigen::Index groups_;
  Eigen::VectorXd weight_;        // of each trial: of its own variance, inverted
  Eigen::VectorXd block_weight_;  // sums over the blocks
  Eigen::VectorXd shared_;        // of each block: block^2 / (1 + block^2 weight)
  Eigen::MatrixXd to_groups_;     // E^-1 A
  Eigen::MatrixXd noise_;
  double log_determinants_ = 0;  // of E and S
};

}  // namespace dvfs_plan
