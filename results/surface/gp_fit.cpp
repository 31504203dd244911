#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <numeric>

#include "results/surface/gp_model.hpp"

namespace dvfs_plan {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A maximum of the posterior and the normal distribution that has its curvature.
struct Mode {
  VectorXd at;
  MatrixXd directions;  // columns: one standard deviation along each
  double log_volume = 0;
};

double density_for_nlopt(const std::vector<double>& at, std::vector<double>& gradient, void* model) {
  const VectorXd theta = Eigen::Map<const VectorXd>(at.data(), static_cast<Index>(at.size()));
  VectorXd g;
  const double value =
      static_cast<const GpModel*>(model)->log_posterior(theta, gradient.empty() ? nullptr : &g);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = g.size() > 0 ? g(static_cast<Index>(i)) : 0;
  constexpr double impossible = -1e9;  // NLopt knows no infinity
  return std::isfinite(value) ? value : impossible;
}

VectorXd climb(const GpModel& model, VectorXd start) {
  constexpr double reach = 4;  // standard deviations of what was expected
  const VectorXd low = model.centre() - reach * model.spread(),
                 high = model.centre() + reach * model.spread();
  start = start.cwiseMax(low).cwiseMin(high);
  std::vector<double> at(start.begin(), start.end());
  nlopt::opt optimiser(nlopt::LD_LBFGS, static_cast<unsigned>(model.dimensions()));
  optimiser.set_lower_bounds({low.begin(), low.end()});
  optimiser.set_upper_bounds({high.begin(), high.end()});
  optimiser.set_max_objective(density_for_nlopt, const_cast<GpModel*>(&model));
  optimiser.set_ftol_abs(0.02);
  // More trials make a sharper top, found in fewer and dearer steps.
  optimiser.set_maxeval(
      static_cast<int>(std::clamp<Index>(800 / std::max<Index>(model.trials(), 1), 10, 25)));
  double value = 0;
  try {
    optimiser.optimize(at, value);
  } catch (const std::runtime_error&) {
    // A line search that gets no further: where it stands is good enough a centre for the draws.
  }
  return Eigen::Map<const VectorXd>(at.data(), model.dimensions());
}

Mode describe(const GpModel& model, const VectorXd& at) {
  const Index dimensions = model.dimensions();
  constexpr double step = 0.15;
  MatrixXd curvature(dimensions, dimensions);
  for (Index k = 0; k < dimensions; ++k) {
    VectorXd up, down, theta = at;
    theta(k) = at(k) + step;
    const bool above = std::isfinite(model.log_posterior(theta, &up));
    theta(k) = at(k) - step;
    const bool below = std::isfinite(model.log_posterior(theta, &down));
    curvature.col(k) = above && below ? VectorXd((down - up) / (2 * step)) : VectorXd::Zero(dimensions);
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen((curvature + curvature.transpose()) / 2);
  const double widest = model.spread().maxCoeff();
  Mode mode{at, eigen.eigenvectors(), 0};
  for (Index k = 0; k < dimensions; ++k) {
    const double sd = 1 / std::sqrt(std::max(eigen.eigenvalues()(k), 1 / (widest * widest)));
    mode.directions.col(k) *= sd;
    mode.log_volume += std::log(sd);
  }
  return mode;
}

// Importance sampling from the modes' normal distributions, widened, and from what was expected, a third
// each.
class Sampling {
 public:
  explicit Sampling(const GpModel& model) : model_(model) {
    modes_.push_back(describe(model, climb(model, model.centre())));
    // A second climb, unless the trials are so many that one maximum is left, from where all that is not
    // smooth is the settings' own.
    constexpr Index few = 48;
    if (model.trials() > few) return;
    VectorXd rough = model.centre();
    rough(model.at_noise()) -= 1.5;
    rough(model.at_scatter()) += 2.5;
    const VectorXd other = climb(model, rough);
    if ((other - modes_.front().at).cwiseAbs().maxCoeff() > 0.5) modes_.push_back(describe(model, other));
  }

  GpFit fit() {
    // Many trials leave little doubt, and each draw then costs more.
    const Index tries = std::clamp<Index>(1100 / std::max<Index>(model_.trials(), 1), 12, 72);
    const MatrixXd z = normal_matrix(model_.dimensions(), tries, 17);
    for (Index t = 0; t < tries; ++t) add(draw(static_cast<std::size_t>(t) % (modes_.size() + 1), z.col(t)));
    if (candidates_.empty()) return {{{modes_.front().at, -1}}, -std::numeric_limits<double>::infinity()};
    return {resample(static_cast<std::size_t>(std::clamp<Index>(tries / 2, 6, 32))), log_evidence(tries)};
  }

 private:
  static constexpr double wider = 1.4;  // tails are heavier than the curvature at the top says

  struct Candidate {
    std::size_t theta = 0;  // which draw of theta it belongs to
    Index bend = -1, gap = -1;
    double log_weight = 0;
  };

  VectorXd draw(std::size_t kind, const VectorXd& z) const {
    if (kind < modes_.size()) return modes_[kind].at + wider * (modes_[kind].directions * z);
    return model_.centre() + model_.spread().cwiseProduct(z);
  }

  double log_density_of_draw(const VectorXd& theta) const {
    const VectorXd off = (theta - model_.centre()).cwiseQuotient(model_.spread());
    double density = std::exp(-0.5 * off.squaredNorm() - model_.spread().array().log().sum());
    for (const Mode& mode : modes_) {
      const VectorXd along = mode.directions.colPivHouseholderQr().solve(theta - mode.at) / wider;
      density += std::exp(-0.5 * along.squaredNorm() - mode.log_volume -
                          static_cast<double>(theta.size()) * std::log(wider));
    }
    return std::log(density);
  }

  // With each bend or none and a step in each gap or none: each adds rank one to the covariance, so the
  // likelihood follows from the one without (matrix determinant lemma).
  void add(const VectorXd& theta) {
    const PooledTrials trials = model_.pooled(theta);
    const Eigen::LLT<MatrixXd> factor(model_.covariance({theta, -1}) + trials.noise());
    if (factor.info() != Eigen::Success) return;
    const VectorXd w = factor.matrixL().solve(trials.means(model_.y()));
    const VectorXd off = (theta - model_.centre()).cwiseQuotient(model_.spread());
    const double base = -0.5 * w.squaredNorm() - factor.matrixLLT().diagonal().array().log().sum() -
                        trials.log_rest(model_.y()) - 0.5 * off.squaredNorm() - log_density_of_draw(theta);
    if (!std::isfinite(base)) return;
    const Index bends = model_.bends().cols(), gaps = static_cast<Index>(model_.gaps().size());
    if (bends + gaps == 0) {  // a single setting
      candidates_.push_back({thetas_.size(), -1, -1, base});
      thetas_.push_back(theta);
      return;
    }
    MatrixXd breaks(model_.groups(), bends + gaps);
    VectorXd log_prior(bends + gaps);
    breaks.leftCols(bends) = model_.of_groups(model_.bends());
    log_prior.head(bends).setConstant(std::log(GpModel::bends_at_all / static_cast<double>(bends)));
    double step_shown = 0;
    for (Index g = 0; g < gaps; ++g) {
      const GpModel::Gap& gap = model_.gaps()[static_cast<std::size_t>(g)];
      breaks.col(bends + g) = model_.of_groups(model_.step(gap.axis, gap.to));
      log_prior(bends + g) = std::log(GpModel::steps_at_all * gap.share);
      step_shown += GpModel::steps_at_all * gap.share;
    }
    const double no_bend = bends > 0 ? std::log(1 - GpModel::bends_at_all) : 0,
                 no_step = std::log1p(-step_shown);
    const MatrixXd v = factor.matrixL().solve(breaks);
    const VectorXd gain = 1 + v.colwise().squaredNorm().transpose().array(), along = v.transpose() * w;
    const MatrixXd across = v.leftCols(bends).transpose() * v.rightCols(gaps);
    const auto alone = [&](Index k) {
      return log_prior(k) - 0.5 * std::log(gain(k)) + 0.5 * along(k) * along(k) / gain(k);
    };
    candidates_.push_back({thetas_.size(), -1, -1, base + no_bend + no_step});
    for (Index b = 0; b < bends; ++b)
      candidates_.push_back({thetas_.size(), b, -1, base + no_step + alone(b)});
    for (Index g = 0; g < gaps; ++g) {
      const Index k = bends + g;
      candidates_.push_back({thetas_.size(), -1, g, base + no_bend + alone(k)});
      for (Index b = 0; b < bends; ++b) {
        const double left = gain(k) - across(b, g) * across(b, g) / gain(b);
        const double rest = along(k) - across(b, g) * along(b) / gain(b);
        candidates_.push_back(
            {thetas_.size(), b, g,
             base + alone(b) + log_prior(k) - 0.5 * std::log(left) + 0.5 * rest * rest / left});
      }
    }
    thetas_.push_back(theta);
  }

  // The mean importance weight; constants of pi cancel between draw and prior.
  double log_evidence(Index tries) const {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const Candidate& c : candidates_) most = std::max(most, c.log_weight);
    for (const Candidate& c : candidates_) sum += std::exp(c.log_weight - most);
    const double of_prior = model_.spread().array().log().sum(),
                 kinds = static_cast<double>(modes_.size() + 1);
    return most + std::log(sum / static_cast<double>(tries)) - of_prior + std::log(kinds);
  }

  std::vector<GpComponent> resample(std::size_t count) const {
    double most = -std::numeric_limits<double>::infinity();
    for (const Candidate& c : candidates_) most = std::max(most, c.log_weight);
    std::vector<double> weights, of_theta(thetas_.size(), 0);
    double sum = 0;
    for (const Candidate& c : candidates_) {
      weights.push_back(std::exp(c.log_weight - most));
      of_theta[c.theta] += weights.back();
      sum += weights.back();
    }
    // No single draw may stand for all: that would be a point estimate again.
    double kept = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double share = of_theta[candidates_[i].theta] / sum;
      if (share > 0.5) weights[i] *= 0.5 / share;
      kept += weights[i];
    }
    std::vector<GpComponent> components;
    double reached = 0;
    std::size_t at = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double wanted = (static_cast<double>(k) + 0.5) / static_cast<double>(count) * kept;
      while (at + 1 < weights.size() && reached + weights[at] < wanted) reached += weights[at++];
      const Candidate& c = candidates_[at];
      GpComponent& one = components.emplace_back(GpComponent{thetas_[c.theta], c.bend});
      if (c.gap < 0) continue;
      // Evenly over the gap, one component after the other.
      const GpModel::Gap& gap = model_.gaps()[static_cast<std::size_t>(c.gap)];
      const double golden = std::fmod(0.6180339887 * static_cast<double>(k + 1), 1.0);
      one.step_axis = gap.axis;
      one.step = gap.from + static_cast<int>(golden * (gap.to - gap.from + 1));
    }
    return components;
  }

  const GpModel& model_;
  std::vector<Mode> modes_;
  std::vector<Candidate> candidates_;
  std::vector<VectorXd> thetas_;
};

}  // namespace

GpFit fit_components(const GpModel& model) {
  return Sampling(model).fit();
}

}  // namespace dvfs_plan
