#include "results/surface/gaussian_process.hpp"

#include <cmath>
#include <map>
#include <set>

#include "results/surface/gp_model.hpp"

namespace dvfs_plan {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct GaussianProcess::Parts {
  Parts(const SettingsGrid& grid, SurfacePrior prior, Observations data)
      : model(grid, std::move(prior), std::move(data)), fit(fit_components(model)) {}
  GpModel model;
  GpFit fit;
};

GaussianProcess::GaussianProcess(const SettingsGrid& grid, SurfacePrior prior, Observations data)
    : parts_(std::make_unique<Parts>(grid, std::move(prior), std::move(data))) {}
GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;

MatrixXd GaussianProcess::draws(int count, std::uint64_t seed) const {
  OfNodes of_nodes;
  return draws(count, seed, of_nodes);
}

MatrixXd GaussianProcess::draws(int count, std::uint64_t seed, OfNodes& of_nodes) const {
  MatrixXd all(parts_->model.grid().points(), count);
  const bool several = parts_->model.nodes() > 1;
  if (several) {
    of_nodes.features = parts_->model.node_terms();
    of_nodes.coefficients.resize(parts_->model.nodes() * of_nodes.features.cols(), count);
  }
  const auto& components = parts_->fit.components;
  Index done = 0;
  for (std::size_t c = 0; c < components.size();) {
    std::size_t same = c + 1;
    while (same < components.size() && components[same] == components[c]) ++same;
    const Index until = static_cast<Index>(same) * count / static_cast<Index>(components.size());
    if (until > done) {
      const PosteriorDraws drawn =
          posterior_draws(parts_->model, components[c], until - done, seed + 1000 * (c + 1));
      all.middleCols(done, until - done) = drawn.quantity;
      if (several) of_nodes.coefficients.middleCols(done, until - done) = drawn.of_nodes;
    }
    done = until;
    c = same;
  }
  return all;
}

double GaussianProcess::log_evidence() const {
  return parts_->fit.log_evidence;
}

double GaussianProcess::noise_sd() const {
  double squares = 0;
  for (const GpComponent& c : parts_->fit.components)
    squares += std::exp(2 * c.theta(parts_->model.at_noise()));
  return std::sqrt(squares / static_cast<double>(parts_->fit.components.size()));
}

int GaussianProcess::settings() const {
  const std::vector<int>& points = parts_->model.data().point;
  return static_cast<int>(std::set<int>(points.begin(), points.end()).size());
}

double GaussianProcess::misfit() const {
  const GpModel& model = parts_->model;
  std::map<int, std::vector<Index>> trials;
  for (Index i = 0; i < model.trials(); ++i) trials[model.point_of(i)].push_back(i);
  double squares = 0;
  for (const GpComponent& c : parts_->fit.components) {
    const PooledTrials pooled = model.pooled(c.theta);
    const MatrixXd values = model.covariance(c);
    const MatrixXd inverse = Eigen::LLT<MatrixXd>(values + pooled.noise())
                                 .solve(MatrixXd::Identity(model.groups(), model.groups()));
    const MatrixXd posterior = pooled.noise() - pooled.noise() * inverse * pooled.noise();
    const VectorXd expected = values * (inverse * pooled.means(model.y()));
    VectorXd left = model.y();
    for (Index i = 0; i < model.trials(); ++i) left(i) -= expected(model.group_of(i));
    const VectorXd alpha = pooled.inverse_times(left);
    for (const auto& [point, mine] : trials) {
      const auto runs = static_cast<Index>(mine.size());
      const Eigen::LLT<MatrixXd> left_out(pooled.inverse_of(mine, posterior));
      const double off = left_out.solve(alpha(mine)).sum();
      squares += off * off / left_out.solve(VectorXd::Ones(runs)).sum();
    }
  }
  return squares / static_cast<double>(trials.size() * parts_->fit.components.size());
}

}  // namespace dvfs_plan
