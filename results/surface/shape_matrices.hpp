// Shapes of earlier results as the Gaussian process takes them. Internal to this folder.
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "results/trial/prior_shape.hpp"

namespace dvfs_plan {

// Log time and log power: one row a point, a column a workload. Empty: none.
struct ShapeMatrices {
  Eigen::MatrixXd time, power;
};
ShapeMatrices shape_matrices(const std::vector<PriorShape>& shapes);

}  // namespace dvfs_plan
