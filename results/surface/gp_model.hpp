// The Gaussian process behind gaussian_process.hpp, for one set of hyper-parameters at a time. Internal to
// this folder:
//
//   gp_model.cpp   covariance of what the trials are of, marginal likelihood and its gradient
//   gp_fit.cpp     which hyper-parameters the trials leave possible
//   gp_draws.cpp   joint draws of the quantity at all points
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "results/surface/gaussian_process.hpp"
#include "results/surface/pooled_trials.hpp"

namespace dvfs_plan {

// One way the surface may be. `theta` holds logarithms (of correlations: log odds) in this order: standard
// deviation of the smooth part, length scale of each axis, noise, scatter, block, rough part, shapes (if
// there are any), node (if there are several).
struct GpComponent {
  Eigen::VectorXd theta;
  Eigen::Index bend = -1;       // column of GpModel::bends; -1: none
  Eigen::Index step_axis = -1;  // -1: none
  int step = 0;                 // from this value of the axis on the level is another
  bool operator==(const GpComponent& other) const {
    return bend == other.bend && step_axis == other.step_axis && step == other.step && theta == other.theta;
  }
};

class GpModel {
 public:
  GpModel(SettingsGrid grid, SurfacePrior prior, Observations data);

  Eigen::Index trials() const { return static_cast<Eigen::Index>(data_.size()); }
  Eigen::Index axes() const { return static_cast<Eigen::Index>(grid_.axes.size()); }
  Eigen::Index dimensions() const { return at_node() + (nodes() > 1 ? 1 : 0); }
  // Where in theta.
  Eigen::Index at_length(Eigen::Index axis) const { return 1 + axis; }
  Eigen::Index at_noise() const { return 1 + axes(); }
  Eigen::Index at_scatter() const { return at_noise() + 1; }
  Eigen::Index at_block() const { return at_noise() + 2; }
  Eigen::Index at_rough() const { return at_noise() + 3; }
  Eigen::Index at_shapes() const { return at_noise() + 4; }
  Eigen::Index at_node() const { return at_shapes() + (prior_.shapes.cols() > 0 ? 1 : 0); }

  const SettingsGrid& grid() const { return grid_; }
  const SettingsGrid::Axis& axis(Eigen::Index a) const { return grid_.axes[static_cast<std::size_t>(a)]; }
  int cell(int point, Eigen::Index a) const {
    return grid_.cells[static_cast<std::size_t>(point)][static_cast<std::size_t>(a)];
  }
  const SurfacePrior& prior() const { return prior_; }
  const Observations& data() const { return data_; }
  int point_of(Eigen::Index trial) const { return data_.point[static_cast<std::size_t>(trial)]; }
  // Trials of one point on one machine are a group: pooled_trials.hpp.
  Eigen::Index groups() const { return static_cast<Eigen::Index>(point_of_group_.size()); }
  Eigen::Index group_of(Eigen::Index trial) const { return group_of_trial_[static_cast<std::size_t>(trial)]; }
  int point_of_group(Eigen::Index group) const { return point_of_group_[static_cast<std::size_t>(group)]; }
  Eigen::Index node_of_group(Eigen::Index group) const {
    return node_of_group_[static_cast<std::size_t>(group)];
  }
  Eigen::Index nodes() const { return nodes_; }  // machines; of one nothing is to be told apart
  Eigen::Index node_of(Eigen::Index trial) const { return data_.node[static_cast<std::size_t>(trial)]; }
  // What a machine's surface may differ by, in units of its hyper-parameter: points x terms.
  const Eigen::MatrixXd& node_terms() const { return node_terms_; }
  double known_sd(Eigen::Index trial) const { return data_.known_sd[static_cast<std::size_t>(trial)]; }

  const Eigen::VectorXd& y() const { return y_; }                // of the trials, levels taken out
  const Eigen::VectorXd& levels() const { return levels_; }      // of each point: what was taken out
  const Eigen::MatrixXd& features() const { return features_; }  // points x columns, of prior variance 1 each
  // One column a bend: from a value of an axis on the slope is another.
  const Eigen::MatrixXd& bends() const { return bends_; }
  static constexpr double bends_at_all = 0.5;  // prior probability that there is a bend
  // Steps between the same two trials look the same to all trials.
  struct Gap {
    Eigen::Index axis;
    int from, to;  // where the step may be
    double share;  // prior probability that it is there, if there is one
  };
  const std::vector<Gap>& gaps() const { return gaps_; }
  Eigen::VectorXd step(Eigen::Index axis, int from) const;  // one row a point
  static constexpr double steps_at_all = 0.3;

  // What is expected of theta before any trial.
  const Eigen::VectorXd& centre() const { return centre_; }
  const Eigen::VectorXd& spread() const { return spread_; }

  // Of two values of an axis, by index; of words 0 or 1.
  double distance(Eigen::Index a, int value, int other) const;
  // The values of an axis at which there are trials, and which of them each group has. Kernels are worked out
  // once a value: groups share them.
  const std::vector<int>& values_run(Eigen::Index a) const {
    return values_run_[static_cast<std::size_t>(a)];
  }
  Eigen::Index value_of_group(Eigen::Index a, Eigen::Index group) const {
    return value_of_group_[static_cast<std::size_t>(a)][static_cast<std::size_t>(group)];
  }
  Eigen::ArrayXXd axis_kernel(const Eigen::ArrayXXd& distance, double theta, Eigen::Index a) const;
  // Of the rough part, of variance 1: the kernel of two values of an axis, covariance of points x groups, and of an axis of
  // words a factor L of its kernel L L'.
  double rough_kernel(Eigen::Index a, int value, int other) const;
  const Eigen::MatrixXd& rough() const { return rough_; }
  const Eigen::MatrixXd& rough_factor(Eigen::Index a) const {
    return rough_factors_[static_cast<std::size_t>(a)];
  }

  // Of the groups' values, noise and blocks apart.
  Eigen::MatrixXd covariance(const GpComponent& component) const;
  // What the trials say of these.
  PooledTrials pooled(const Eigen::VectorXd& theta) const;
  // Rows of a points' matrix, one a group.
  Eigen::MatrixXd of_groups(const Eigen::MatrixXd& of_points) const;

  // Logarithm of marginal likelihood times prior density, with all bends and steps there a little; for
  // finding theta. Minus infinity where the covariance is not positive definite.
  double log_posterior(const Eigen::VectorXd& theta, Eigen::VectorXd* gradient) const;

  static constexpr double smallest_variance = 1e-10;  // keeps the covariance of equal trials invertible

 private:
  int scenario_of(int point) const;
  void make_groups();
  void take_levels_out();
  void make_features();
  void make_bends();
  void make_gaps();
  void make_node_terms();
  void make_pairs();
  void make_rough();
  void make_expectations();
  Eigen::ArrayXXd of_pairs(const Eigen::ArrayXXd& of_values, Eigen::Index a) const;
  Eigen::MatrixXd base_covariance(const Eigen::VectorXd& theta, Eigen::ArrayXXd* smooth) const;

  SettingsGrid grid_;
  SurfacePrior prior_;
  Observations data_;
  Eigen::VectorXd y_, levels_, centre_, spread_;
  Eigen::MatrixXd features_, bends_, node_terms_;
  Eigen::Index nodes_ = 1;
  std::vector<Eigen::Index> group_of_trial_, node_of_group_;
  std::vector<int> point_of_group_;
  Eigen::VectorXd known_variance_;  // of each trial
  // Of pairs of groups.
  Eigen::MatrixXd trend_, mean_breaks_, shapes_, same_point_, same_node_, rough_, rough_of_groups_;
  std::vector<Gap> gaps_;
  std::vector<Eigen::MatrixXd> rough_factors_;  // of each axis
  std::vector<std::vector<int>> values_run_;
  std::vector<std::vector<Eigen::Index>> value_of_group_;
  std::vector<Eigen::ArrayXXd> distances_;  // of the values run
};

// Some ways the surface may be, each standing for an equal share of the probability; equal ones side by side.
struct GpFit {
  std::vector<GpComponent> components;
  double log_evidence = 0;  // of the trials, hyper-parameters integrated out; less a constant of their number
};
GpFit fit_components(const GpModel& model);

// Draws from the process given the trials: points x count, and of each machine's terms beside them: (machines x terms) x
// count, none where there is one.
struct PosteriorDraws {
  Eigen::MatrixXd quantity, of_nodes;
};
PosteriorDraws posterior_draws(const GpModel& model, const GpComponent& component, Eigen::Index count,
                               std::uint64_t seed);

// Independent standard normal values, the same for the same seed; columns grow without changing the first
// ones.
Eigen::MatrixXd normal_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed);

}  // namespace dvfs_plan
