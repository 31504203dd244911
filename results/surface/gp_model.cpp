#include "results/surface/gp_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace dvfs_plan {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

GpModel::GpModel(SettingsGrid grid, SurfacePrior prior, Observations data)
    : grid_(std::move(grid)), prior_(std::move(prior)), data_(std::move(data)) {
  make_groups();
  take_levels_out();
  make_features();
  make_bends();
  make_gaps();
  make_node_terms();
  make_pairs();
  make_rough();
  make_expectations();
}

int GpModel::scenario_of(int point) const {
  for (Index a = 0; a < axes(); ++a) {
    if (axis(a).scenario) return cell(point, a);
  }
  return 0;
}

void GpModel::make_groups() {
  std::map<std::pair<int, int>, Index> known;
  known_variance_.resize(trials());
  for (Index i = 0; i < trials(); ++i) {
    const auto [group, is_new] = known.try_emplace({point_of(i), static_cast<int>(node_of(i))}, groups());
    if (is_new) {
      point_of_group_.push_back(point_of(i));
      node_of_group_.push_back(node_of(i));
    }
    group_of_trial_.push_back(group->second);
    known_variance_(i) = known_sd(i) * known_sd(i) + smallest_variance;
  }
}

PooledTrials GpModel::pooled(const VectorXd& theta) const {
  return {group_of_trial_,
          groups(),
          data_.block,
          known_variance_,
          std::exp(theta(at_noise())),
          std::exp(theta(at_block()))};
}

// Levels of scenarios are their own: their trials' means are taken out.
void GpModel::take_levels_out() {
  std::map<int, std::pair<double, int>> sums;
  const VectorXd expected = prior_.expected.size() > 0 ? prior_.expected : VectorXd::Zero(grid_.points());
  for (Index i = 0; i < trials(); ++i) {
    auto& [sum, count] = sums[scenario_of(point_of(i))];
    sum += data_.y[static_cast<std::size_t>(i)] - expected(point_of(i));
    ++count;
  }
  double all = 0;
  for (const auto& [scenario, sum] : sums) all += sum.first / sum.second;
  levels_ = VectorXd::Constant(grid_.points(), all / static_cast<double>(sums.size()));
  for (int p = 0; p < grid_.points(); ++p) {
    const auto known = sums.find(scenario_of(p));
    if (known != sums.end()) levels_(p) = known->second.first / known->second.second;
  }
  levels_ += expected;
  y_.resize(trials());
  for (Index i = 0; i < trials(); ++i) y_(i) = data_.y[static_cast<std::size_t>(i)] - levels_(point_of(i));
}

void GpModel::make_features() {
  std::vector<VectorXd> columns;
  const auto column = [&](auto value) {
    VectorXd c(grid_.points());
    for (int p = 0; p < grid_.points(); ++p) c(p) = value(p);
    columns.push_back(c);
  };
  Index scenarios = 1;
  for (Index a = 0; a < axes(); ++a) {
    if (axis(a).scenario) scenarios = static_cast<Index>(axis(a).x.size());
  }
  for (Index s = 0; s < scenarios; ++s)
    column([&](int p) { return scenario_of(p) == s ? prior_.level_sd : 0.0; });
  for (Index a = 0; a < axes(); ++a) {
    if (axis(a).scenario) continue;
    if (!axis(a).ordered) {
      for (std::size_t w = 0; w < axis(a).x.size(); ++w)
        column([&](int p) { return cell(p, a) == static_cast<int>(w) ? prior_.word_sd : 0.0; });
      continue;
    }
    // Half of a slope's variance is shared by all scenarios, half is their own.
    const double sd = prior_.slope_sd * axis(a).span * std::sqrt(scenarios > 1 ? 0.5 : 1.0);
    const auto slope = [&](int p) { return sd * (axis(a).x[static_cast<std::size_t>(cell(p, a))] - 0.5); };
    column(slope);
    for (Index s = 0; scenarios > 1 && s < scenarios; ++s)
      column([&](int p) { return scenario_of(p) == s ? slope(p) : 0.0; });
  }
  features_.resize(grid_.points(), static_cast<Index>(columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c) features_.col(static_cast<Index>(c)) = columns[c];
}

void GpModel::make_bends() {
  constexpr std::size_t fewest_values = 4;  // with three any bend fits
  constexpr std::size_t most_bends = 40;    // of an axis
  std::vector<VectorXd> columns;
  for (Index a = 0; a < axes(); ++a) {
    const auto& x = axis(a).x;
    if (!axis(a).ordered || axis(a).scenario || x.size() < fewest_values) continue;
    // Where exactly between two of a hundred clocks it bends is left to the smooth part.
    const std::size_t step = 1 + (x.size() - 3) / most_bends;
    for (std::size_t k = 1; k + 1 < x.size(); k += step) {
      VectorXd column(grid_.points());
      for (int p = 0; p < grid_.points(); ++p)
        column(p) =
            prior_.slope_sd * axis(a).span * std::max(0.0, x[static_cast<std::size_t>(cell(p, a))] - x[k]);
      columns.push_back(column);
    }
  }
  bends_.resize(grid_.points(), static_cast<Index>(columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c) bends_.col(static_cast<Index>(c)) = columns[c];
}

VectorXd GpModel::step(Index a, int from) const {
  VectorXd column(grid_.points());
  for (int p = 0; p < grid_.points(); ++p) column(p) = cell(p, a) >= from ? prior_.step_sd : 0.0;
  return column;
}

void GpModel::make_gaps() {
  int places = 0;
  for (Index a = 0; a < axes(); ++a) {
    if (!axis(a).ordered || axis(a).scenario) continue;
    std::set<int> run;
    for (Index i = 0; i < trials(); ++i) run.insert(cell(point_of(i), a));
    for (auto above = std::next(run.begin()); above != run.end(); ++above)
      gaps_.push_back({a, *std::prev(above) + 1, *above, 0});
    places += static_cast<int>(axis(a).x.size()) - 1;
  }
  for (Gap& gap : gaps_) gap.share = static_cast<double>(gap.to - gap.from + 1) / places;
}

// A level, a slope along each axis and a level of each word.
void GpModel::make_node_terms() {
  // Machines of a type differ by their level first (leakage, fans, power supplies), by its shape less.
  constexpr double of_word = 0.3, of_slope = 0.5;
  for (const int node : data_.node) nodes_ = std::max<Index>(nodes_, node + 1);
  std::vector<VectorXd> columns{VectorXd::Ones(grid_.points())};
  for (Index a = 0; a < axes(); ++a) {
    if (axis(a).scenario) continue;
    const auto add = [&](auto value) {
      VectorXd& column = columns.emplace_back(grid_.points());
      for (int p = 0; p < grid_.points(); ++p) column(p) = value(cell(p, a));
    };
    if (axis(a).ordered)
      add([&](int v) { return of_slope * axis(a).span * (axis(a).x[static_cast<std::size_t>(v)] - 0.5); });
    for (std::size_t w = 0; !axis(a).ordered && w < axis(a).x.size(); ++w)
      add([&](int v) { return v == static_cast<int>(w) ? of_word : 0.0; });
  }
  node_terms_.resize(grid_.points(), static_cast<Index>(columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c) node_terms_.col(static_cast<Index>(c)) = columns[c];
}

MatrixXd GpModel::of_groups(const MatrixXd& of_points) const {
  return of_points(point_of_group_, Eigen::all);
}

double GpModel::distance(Index a, int value, int other) const {
  if (!axis(a).ordered) return value == other ? 0 : 1;
  return std::abs(axis(a).x[static_cast<std::size_t>(value)] - axis(a).x[static_cast<std::size_t>(other)]);
}

void GpModel::make_pairs() {
  const MatrixXd features = of_groups(features_), bends = of_groups(bends_);
  trend_ = features * features.transpose();
  mean_breaks_ = MatrixXd::Zero(groups(), groups());
  if (bends.cols() > 0)
    mean_breaks_ = bends * bends.transpose() * (bends_at_all / static_cast<double>(bends.cols()));
  for (const Gap& gap : gaps_) {
    const VectorXd step = of_groups(this->step(gap.axis, gap.to));
    mean_breaks_ += steps_at_all * gap.share * step * step.transpose();
  }
  if (prior_.shapes.cols() > 0) {
    const MatrixXd shapes = of_groups(prior_.shapes);
    shapes_ = shapes * shapes.transpose();
  }
  if (nodes_ > 1) {
    const MatrixXd terms = of_groups(node_terms_);
    same_node_ = terms * terms.transpose();
    for (Index i = 0; i < groups(); ++i) {
      for (Index k = 0; k < groups(); ++k) same_node_(i, k) *= node_of_group(i) == node_of_group(k) ? 1 : 0;
    }
  }
  same_point_.resize(groups(), groups());
  for (Index a = 0; a < axes(); ++a) {
    std::vector<int>& values = values_run_.emplace_back();
    std::vector<Index>& of_group = value_of_group_.emplace_back();
    for (Index i = 0; i < groups(); ++i) {
      const int mine = cell(point_of_group(i), a);
      const auto known = std::find(values.begin(), values.end(), mine);
      of_group.push_back(known - values.begin());
      if (known == values.end()) values.push_back(mine);
    }
    const auto count = static_cast<Index>(values.size());
    ArrayXXd& distances = distances_.emplace_back(count, count);
    for (Index i = 0; i < count; ++i) {
      for (Index k = 0; k < count; ++k)
        distances(i, k) =
            distance(a, values[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(k)]);
    }
  }
  for (Index i = 0; i < groups(); ++i) {
    for (Index k = 0; k < groups(); ++k) same_point_(i, k) = point_of_group(i) == point_of_group(k) ? 1 : 0;
  }
}

// How far levels that jump are alike over all that is swept: little, so that more of it is roughness.
constexpr double rough_length = 1;

double GpModel::rough_kernel(Index a, int value, int other) const {
  return std::exp(-distance(a, value, other) / rough_length);
}

void GpModel::make_rough() {
  rough_ = MatrixXd::Ones(grid_.points(), groups());
  for (Index a = 0; a < axes(); ++a) {
    const auto n = static_cast<Index>(axis(a).x.size());
    MatrixXd kernel(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index k = 0; k < n; ++k) kernel(i, k) = rough_kernel(a, static_cast<int>(i), static_cast<int>(k));
    }
    for (Index i = 0; i < groups(); ++i) {
      for (int p = 0; p < grid_.points(); ++p) rough_(p, i) *= kernel(cell(p, a), cell(point_of_group(i), a));
    }
    kernel.diagonal().array() += smallest_variance;  // values may be equal
    rough_factors_.push_back(axis(a).ordered ? MatrixXd() : MatrixXd(Eigen::LLT<MatrixXd>(kernel).matrixL()));
  }
  rough_of_groups_ = of_groups(rough_);
}

void GpModel::make_expectations() {
  constexpr Expectation correlation{1, 1.5};  // of words: odds
  constexpr Expectation of_shapes{0.7, 0.7};
  centre_.resize(dimensions());
  spread_.resize(dimensions());
  const auto set = [&](Index at, const Expectation& e) {
    centre_(at) = std::log(e.median);
    spread_(at) = e.log_sd;
  };
  set(0, prior_.smooth);
  for (Index a = 0; a < axes(); ++a) set(at_length(a), axis(a).ordered ? prior_.length : correlation);
  set(at_noise(), prior_.noise);
  set(at_scatter(), prior_.scatter);
  set(at_block(), prior_.block);
  set(at_rough(), prior_.rough);
  if (prior_.shapes.cols() > 0) set(at_shapes(), of_shapes);
  if (nodes_ > 1) set(at_node(), prior_.node);
}

// Matern 5/2; between words one correlation.
ArrayXXd GpModel::axis_kernel(const ArrayXXd& distance, double theta, Index a) const {
  if (!axis(a).ordered) return 1 - (1 - 1 / (1 + std::exp(-theta))) * distance;
  const ArrayXXd d = std::sqrt(5.0) / std::exp(theta) * distance;
  return (1 + d + d.square() / 3) * (-d).exp();
}

ArrayXXd GpModel::of_pairs(const ArrayXXd& of_values, Index a) const {
  ArrayXXd pairs(groups(), groups());
  for (Index k = 0; k < groups(); ++k) {
    const Index column = value_of_group(a, k);
    for (Index i = 0; i < groups(); ++i) pairs(i, k) = of_values(value_of_group(a, i), column);
  }
  return pairs;
}

MatrixXd GpModel::base_covariance(const VectorXd& theta, ArrayXXd* smooth) const {
  ArrayXXd product = ArrayXXd::Constant(groups(), groups(), std::exp(2 * theta(0)));
  for (Index a = 0; a < axes(); ++a)
    product *= of_pairs(axis_kernel(distances_[static_cast<std::size_t>(a)], theta(at_length(a)), a), a);
  MatrixXd whole = trend_ + product.matrix() + std::exp(2 * theta(at_scatter())) * same_point_ +
                   std::exp(2 * theta(at_rough())) * rough_of_groups_;
  if (shapes_.size() > 0) whole += std::exp(2 * theta(at_shapes())) * shapes_;
  if (nodes_ > 1) whole += std::exp(2 * theta(at_node())) * same_node_;
  if (smooth != nullptr) *smooth = std::move(product);
  return whole;
}

MatrixXd GpModel::covariance(const GpComponent& component) const {
  MatrixXd whole = base_covariance(component.theta, nullptr);
  if (component.bend >= 0) {
    const VectorXd bend = of_groups(bends_.col(component.bend));
    whole += bend * bend.transpose();
  }
  if (component.step_axis >= 0) {
    const VectorXd step = of_groups(this->step(component.step_axis, component.step));
    whole += step * step.transpose();
  }
  return whole;
}

double GpModel::log_posterior(const VectorXd& theta, VectorXd* gradient) const {
  ArrayXXd smooth;
  const MatrixXd values = base_covariance(theta, &smooth) + mean_breaks_;
  const PooledTrials trials = pooled(theta);
  const VectorXd means = trials.means(y_);
  const Eigen::LLT<MatrixXd> factor(values + trials.noise());
  if (factor.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  const VectorXd alpha = factor.solve(means);
  const VectorXd off = (theta - centre_).cwiseQuotient(spread_);
  const double value = -0.5 * means.dot(alpha) - factor.matrixLLT().diagonal().array().log().sum() -
                       trials.log_rest(y_) - 0.5 * off.squaredNorm();
  if (gradient == nullptr) return value;
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(groups(), groups()));
  const ArrayXXd w = (alpha * alpha.transpose() - inverse).array();
  gradient->resize(dimensions());
  const ArrayXXd of_smooth = w * smooth;
  (*gradient)(0) = of_smooth.sum();
  for (Index a = 0; a < axes(); ++a) {
    const ArrayXXd& distance = distances_[static_cast<std::size_t>(a)];
    ArrayXXd change;  // of the axis' kernel's logarithm with theta
    if (axis(a).ordered) {
      const ArrayXXd d = std::sqrt(5.0) / std::exp(theta(at_length(a))) * distance;
      change = d.square() * (1 + d) / (3 * (1 + d + d.square() / 3));
    } else {
      const double r = 1 / (1 + std::exp(-theta(at_length(a))));
      change = r * (1 - r) * distance / (1 - (1 - r) * distance);
    }
    (*gradient)(at_length(a)) = 0.5 * (of_smooth * of_pairs(change, a)).sum();
  }
  // Of all trials: what is left of each, and the covariance of the values behind them once they are known.
  const MatrixXd posterior = trials.noise() - trials.noise() * inverse * trials.noise();
  const VectorXd expected = values * alpha;
  const VectorXd left = trials.inverse_times(y_ - expected(group_of_trial_));
  (*gradient)(at_noise()) =
      std::exp(2 * theta(at_noise())) * (left.squaredNorm() - trials.trace_of_inverse(posterior));
  (*gradient)(at_scatter()) = std::exp(2 * theta(at_scatter())) * (w * same_point_.array()).sum();
  (*gradient)(at_block()) = std::exp(2 * theta(at_block())) *
                            (trials.of_blocks(left).squaredNorm() - trials.trace_of_blocks(posterior));
  (*gradient)(at_rough()) = std::exp(2 * theta(at_rough())) * (w * rough_of_groups_.array()).sum();
  if (shapes_.size() > 0)
    (*gradient)(at_shapes()) = std::exp(2 * theta(at_shapes())) * (w * shapes_.array()).sum();
  if (nodes_ > 1) (*gradient)(at_node()) = std::exp(2 * theta(at_node())) * (w * same_node_.array()).sum();
  *gradient -= off.cwiseQuotient(spread_);
  return value;
}

}  // namespace dvfs_plan
