// Joint draws of one quantity at all points of a surface, by whichever Gaussian process explains the trials
// best: scenarios that learn from each other or each by itself, with the shapes of earlier results or
// without. Compared by marginal likelihood, so that what misleads is dropped. Internal to this folder.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "results/surface/gaussian_process.hpp"

namespace dvfs_plan {

struct QuantityDraws {
  Eigen::MatrixXd draws;  // points x count; a scenario of which nothing is known: NaN
  double noise_sd = 0;    // of one more trial
  // Of each scenario: GaussianProcess::misfit() of the process that speaks for it, and whether that uses
  // shapes of earlier results.
  std::vector<double> misfit;
  std::vector<bool> used_shapes;
  bool shared = false;  // scenarios learnt from each other
  // By how much the machines' own surfaces differ from `draws`, for some of the points each; empty: one machine.
  struct OfNodes {
    std::vector<int> points;
    GaussianProcess::OfNodes terms;
  };
  std::vector<OfNodes> of_nodes;
  // What one machine's own surface is: as `draws`.
  Eigen::MatrixXd at_node(int node) const;
};

// `scenario`: of each point. `shapes`: one row a point, one column a workload of earlier results; used from
// fewest_shapes columns up.
QuantityDraws draw_quantity(const SettingsGrid& grid, const std::vector<int>& scenario,
                            const SurfacePrior& prior, const Eigen::MatrixXd& shapes,
                            const Observations& data, int count, std::uint64_t seed);

// The same, with the points, the scenarios and the values that are words taken in this order of points (empty: as they are).
QuantityDraws draw_quantity_in_order(const std::vector<int>& order, const SettingsGrid& grid,
                                     const std::vector<int>& scenario, const SurfacePrior& prior,
                                     const Eigen::MatrixXd& shapes, const Observations& data, int count,
                                     std::uint64_t seed);

// What GPUs and CPUs do before any trial is seen, of log time and log power.
SurfacePrior prior_of_time();
SurfacePrior prior_of_power();

}  // namespace dvfs_plan
