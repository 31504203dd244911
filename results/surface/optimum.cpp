#include "results/surface/optimum.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <numeric>

#include "results/statistics/estimate.hpp"
#include "results/surface/quantity_draws.hpp"
#include "results/surface/shape_matrices.hpp"

namespace dvfs_plan {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::uint64_t time_seed = 101, power_seed = 202, other_seed = 303;
constexpr int draws = 512;                 // of which a bound at 99 % still leaves some above it
constexpr std::size_t most_compared = 48;  // settings whose confusion is weighed before a trial
// Of the probability that the bound may fail, the share that the model may use up; the rest is for surfaces
// that are not as the model says. Chosen on recorded and made-up landscapes, see tests/bench/README.md.
constexpr double kept_by_model = 0.5;
// A setting that looks good will be run again: its next trial is worth as much as this many.
constexpr double looked_ahead = 4;
constexpr double likely = 0.5;  // probability of its constraints, for a setting to be named

// Of a metric in units of its own spread.
SurfacePrior prior_of_metric() {
  SurfacePrior prior;
  prior.level_sd = 10;
  prior.slope_sd = 2;
  prior.word_sd = 1;
  prior.smooth = {1, 1.0};
  prior.noise = {0.1, 1.5};
  prior.rough = {0.1, 1.5};
  prior.scatter = {0.05, 1.5};
  prior.block = {0.02, 1.0};
  prior.node = {0.3, 1.5};
  return prior;
}

double spread_of(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / n);
}

}  // namespace

// Joint draws at all points: points x draws.
struct OptimumModel::Draws {
  MatrixXd time, power;  // logarithms; power empty: not measured
  MatrixXd objective;    // likewise
  // What single machines differ by is in these.
  QuantityDraws of_time, of_power;
  ObjectiveSpec asked;
  MatrixXd objective_of(const MatrixXd& time, const MatrixXd& power) const;
  MatrixXd objective_at(int node) const {
    return objective_of(of_time.at_node(node), power.size() > 0 ? of_power.at_node(node) : MatrixXd{});
  }
  bool differs_at(int node) const { return nodes > 1 && node >= 0 && node < nodes; }
  int nodes = 1;
  std::optional<double> regret_bound(const MatrixXd& of, int point, const std::vector<int>& candidates,
                                     double confidence) const;
  Eigen::MatrixXi feasible;  // whether all constraints hold; empty: without constraints
  MatrixXd of(const ConstraintSpec& constraint, const SurfaceQuestion& question,
              const std::vector<SurfaceTrial>& trials, const std::vector<int>& reference_of,
              const std::vector<bool>& measured, std::uint64_t seed) const;
};
OptimumModel::~OptimumModel() = default;

// Time goes with 1/f at most, power with f to f^3; a trial's time
// repeats within some tenths of a percent, its power within a percent or so.
SurfacePrior prior_of_time() {
  SurfacePrior prior;
  prior.slope_sd = 0.7;
  prior.step_sd = 0.05;
  prior.noise = {0.004, 1.0};
  prior.node = {0.004, 1.0};
  return prior;
}
SurfacePrior prior_of_power() {
  SurfacePrior prior;
  prior.slope_sd = 1.2;
  prior.noise = {0.012, 0.8};
  prior.node = {0.025, 0.8};
  // Dividers and voltage tables show in power first, in teeth of about a percent that few repetitions tell
  // from noise; what is expected decides whether a setting that was unlucky once is run again.
  prior.scatter = {0.008, 1.5};
  return prior;
}

OptimumModel::OptimumModel(const SurfaceQuestion& question, const std::vector<SurfaceTrial>& trials,
                           const std::vector<PriorShape>& prior)
    : drawn_(std::make_unique<Draws>()) {
  Observations of_time, of_power;
  measured_.assign(static_cast<std::size_t>(question.grid.points()), false);
  const bool needs_power = question.objective.minimise != Objective::time;
  const auto add = [](Observations& to, const SurfaceTrial& trial, double value, double known) {
    to.point.push_back(trial.point);
    to.block.push_back(trial.block);
    to.node.push_back(trial.node);
    to.y.push_back(value);
    to.known_sd.push_back(known);
  };
  for (const SurfaceTrial& trial : trials) {
    add(of_time, trial, std::log(trial.time_s), 0);
    if (trial.energy_j) add(of_power, trial, std::log(*trial.energy_j / trial.time_s), trial.energy_sd);
    drawn_->nodes = std::max(drawn_->nodes, trial.node + 1);
    nodes_of_scenario_.emplace(question.scenario[static_cast<std::size_t>(trial.point)], trial.node);
    if (trial.energy_j || !needs_power) measured_[static_cast<std::size_t>(trial.point)] = true;
  }
  scenario_ = question.scenario;
  for (const int scenario : question.scenario)
    reference_of_.push_back(question.reference[static_cast<std::size_t>(scenario)]);

  const ShapeMatrices shapes = shape_matrices(prior);
  const auto drawn = [&](const SurfacePrior& expected, const MatrixXd& of, const Observations& data,
                         std::uint64_t seed) {
    return draw_quantity_in_order(question.order, question.grid, question.scenario, expected, of, data, draws,
                                  seed);
  };
  // The two know nothing of each other: each on a CPU of its own.
  std::future<QuantityDraws> of_the_power;
  if (of_power.size() > 0)
    of_the_power =
        std::async(std::launch::async, drawn, prior_of_power(), shapes.power, of_power, power_seed);
  drawn_->of_time = drawn(prior_of_time(), shapes.time, of_time, time_seed);
  const QuantityDraws& time = drawn_->of_time;
  double time_share = 1, power_share = 0;
  misfit_ = time.misfit;
  shared_ = time.shared;
  used_shapes_ = time.used_shapes;
  drawn_->time = time.draws;
  if (of_the_power.valid()) {
    drawn_->of_power = of_the_power.get();
    const QuantityDraws& power = drawn_->of_power;
    shared_ = shared_ || power.shared;
    for (std::size_t s = 0; s < misfit_.size(); ++s) {
      misfit_[s] = std::max(misfit_[s], power.misfit[s]);
      used_shapes_[s] = used_shapes_[s] || power.used_shapes[s];
    }
    power_share = power.noise_sd;
    drawn_->power = power.draws;
  }
  drawn_->asked = question.objective;
  drawn_->objective = drawn_->objective_of(drawn_->time, drawn_->power);
  if (question.objective.minimise == Objective::time) power_share = 0;
  if (question.objective.minimise == Objective::edp) time_share = 2;
  if (question.objective.minimise == Objective::ed2p) time_share = 3;
  noise_sd_ = std::hypot(time_share * time.noise_sd, power_share);
  find_feasible(question, trials);
}

// Its logarithm.
MatrixXd OptimumModel::Draws::objective_of(const MatrixXd& log_time, const MatrixXd& log_power) const {
  switch (asked.minimise) {
    case Objective::time:
      break;
    case Objective::energy:
      return log_time + log_power;
    case Objective::edp:
      return 2 * log_time + log_power;
    case Objective::ed2p:
      return 3 * log_time + log_power;
    case Objective::cost: {
      const PriceSpec price = asked.price.value_or(PriceSpec{1, 0, ""});
      return log_time.array() + (price.per_second + price.per_joule * log_power.array().exp()).log();
    }
  }
  return log_time;
}

// What a trial tells of what a constraint is about, in the bound's unit, of several at once the worst; nullopt: nothing, or in a unit that does not compare.
static std::optional<double> told_of(const ConstraintSpec& constraint, const SurfaceTrial& trial) {
  const auto other = trial.other.find(constraint.name);
  if (other == trial.other.end()) return std::nullopt;
  double value = other->second;
  if (const auto of_all = trial.extremes_of_other.find(constraint.name);
      of_all != trial.extremes_of_other.end())
    value = bounds_from_above(constraint.relation) ? of_all->second.second : of_all->second.first;
  const auto unit = trial.units_of_other.find(constraint.name);
  return as_bounded(constraint, value, unit == trial.units_of_other.end() ? std::string() : unit->second);
}

// Of one constraint at all points: draws; NaN where nothing is known.
MatrixXd OptimumModel::Draws::of(const ConstraintSpec& constraint, const SurfaceQuestion& question,
                                 const std::vector<SurfaceTrial>& trials,
                                 const std::vector<int>& reference_of, const std::vector<bool>& measured,
                                 std::uint64_t seed) const {
  MatrixXd values =
      MatrixXd::Constant(objective.rows(), objective.cols(), std::numeric_limits<double>::quiet_NaN());
  if (constraint.name == "slowdown") {
    for (Index p = 0; p < time.rows(); ++p) {
      const int reference = reference_of[static_cast<std::size_t>(p)];
      if (reference >= 0 && measured[static_cast<std::size_t>(reference)])
        values.row(p) = (time.row(p) - time.row(reference)).array().exp() - 1;
    }
    return values;
  }
  if (constraint.name == "power") {
    if (power.size() > 0) values = power.array().exp();
    return values;
  }
  Observations data;
  for (const SurfaceTrial& trial : trials) {
    const auto value = told_of(constraint, trial);
    if (!value || !std::isfinite(*value)) continue;
    data.point.push_back(trial.point);
    data.block.push_back(trial.block);
    data.node.push_back(trial.node);
    data.y.push_back(*value);
    data.known_sd.push_back(0);
  }
  if (data.size() == 0) return values;
  const double spread = spread_of(data.y);
  if (!(spread > 1e-12 * std::abs(data.y.front()))) {
    // The same wherever it was measured.
    values.setConstant(data.y.front());
    return values;
  }
  for (double& y : data.y) y /= spread;
  return spread * draw_quantity_in_order(question.order, question.grid, question.scenario, prior_of_metric(),
                                         {}, data, static_cast<int>(objective.cols()), seed)
                      .draws;
}

// What the trials of a point tell of what a constraint is about, by the machine; nullopt: one of them told nothing. A power is that of the trials
// that have an energy.
static std::optional<std::map<int, std::vector<double>>> told_at(const ConstraintSpec& constraint,
                                                                 const std::vector<SurfaceTrial>& trials,
                                                                 int point) {
  std::map<int, std::vector<double>> of_node;
  for (const SurfaceTrial& trial : trials) {
    if (trial.point != point) continue;
    if (constraint.name == "power") {
      if (trial.energy_j) of_node[trial.node].push_back(*trial.energy_j / trial.time_s);
      continue;
    }
    const auto value = told_of(constraint, trial);
    if (!value) return std::nullopt;
    of_node[trial.node].push_back(*value);
  }
  return of_node;
}

// What the trials of a point themselves say of a constraint; slowdowns are left to the draws.
static bool holds_by_its_mean(const ConstraintSpec& constraint, const std::vector<SurfaceTrial>& trials,
                              int point) {
  if (constraint.name == "slowdown") return true;
  // As the report has it: of several machines the mean of each one's mean, and of a trial that told none it is not known.
  const auto of_node = told_at(constraint, trials, point);
  if (!of_node || of_node->empty()) return false;
  double sum = 0;
  for (const auto& [node, mine] : *of_node)
    sum += std::accumulate(mine.begin(), mine.end(), 0.0) / static_cast<double>(mine.size());
  return holds(constraint.relation, sum / static_cast<double>(of_node->size()), constraint.limit);
}

// What a point's own trials, of several machines the mean of each one's, show of a constraint by themselves (95 %, as the report has it);
// nullopt: they do not. Beside others that are far off the model takes even what was measured again and again for doubtful.
static std::optional<bool> shown_by_its_own(const ConstraintSpec& constraint,
                                            const std::vector<SurfaceTrial>& trials, int point) {
  if (constraint.name == "slowdown" || constraint.name == "power" || constraint.name == "energy")
    return std::nullopt;
  const auto of_node = told_at(constraint, trials, point);
  if (!of_node) return std::nullopt;
  std::vector<double> values;
  for (const auto& [node, mine] : *of_node) {
    if (of_node->size() == 1)
      values = mine;
    else
      values.push_back(estimate(mine)->mean);
  }
  const auto mean = estimate(values);
  if (!mean || !mean->half_width) return std::nullopt;
  const bool low = holds(constraint.relation, mean->mean - *mean->half_width, constraint.limit),
             high = holds(constraint.relation, mean->mean + *mean->half_width, constraint.limit);
  return low == high ? std::optional(low) : std::nullopt;
}

void OptimumModel::find_feasible(const SurfaceQuestion& question, const std::vector<SurfaceTrial>& trials) {
  if (question.objective.constraints.empty()) return;
  drawn_->feasible = Eigen::MatrixXi::Ones(drawn_->objective.rows(), drawn_->objective.cols());
  // The same but for what a point's own trials show: by that a setting is named. Which trial is worth most the model's draws say, as they are.
  Eigen::MatrixXi but_for_shown = drawn_->feasible;
  std::uint64_t seed = other_seed;
  for (const ConstraintSpec& constraint : question.objective.constraints) {
    const MatrixXd values = drawn_->of(constraint, question, trials, reference_of_, measured_, seed);
    seed += 1000003;
    for (Index p = 0; p < values.rows(); ++p) {
      const auto shown = shown_by_its_own(constraint, trials, static_cast<int>(p));
      if (shown == false) but_for_shown.row(p).setZero();
      // What is not known does not hold.
      for (Index s = 0; s < values.cols(); ++s) {
        if (std::isfinite(values(p, s)) && holds(constraint.relation, values(p, s), constraint.limit))
          continue;
        drawn_->feasible(p, s) = 0;
        if (!shown) but_for_shown(p, s) = 0;
      }
      const auto at = static_cast<std::size_t>(p);
      if (measured_[at] && !holds_by_its_mean(constraint, trials, static_cast<int>(p)))
        broken_.insert(static_cast<int>(p));
    }
  }
  for (Index p = 0; p < but_for_shown.rows(); ++p)
    feasible_.push_back(but_for_shown.row(p).cast<double>().mean());
}

double OptimumModel::feasible(int point) const {
  return feasible_.empty() ? 1 : feasible_[static_cast<std::size_t>(point)];
}

std::vector<int> OptimumModel::measured_among(const std::vector<int>& candidates) const {
  std::vector<int> measured;
  for (const int p : candidates) {
    if (measured_[static_cast<std::size_t>(p)] && !broken_.contains(p) && feasible(p) >= likely)
      measured.push_back(p);
  }
  return measured;
}

std::optional<Optimum> OptimumModel::optimum(const std::vector<int>& candidates, double confidence) const {
  const auto measured = measured_among(candidates);
  if (measured.empty()) return std::nullopt;
  Optimum best;
  best.point = leading(measured, 1).front();
  best.feasible = feasible(best.point);
  best.regret_bound = drawn_->regret_bound(drawn_->objective, best.point, candidates, confidence)
                          .value_or(std::numeric_limits<double>::infinity());
  return best;
}

// nullopt: the constraints hold there in no draw.
std::optional<double> OptimumModel::Draws::regret_bound(const MatrixXd& of, int point,
                                                        const std::vector<int>& candidates,
                                                        double confidence) const {
  std::vector<double> regrets;
  for (Index s = 0; s < of.cols(); ++s) {
    if (feasible.size() > 0 && feasible(point, s) == 0) continue;
    double least = of(point, s);
    for (const int p : candidates) {
      if (feasible.size() == 0 || feasible(p, s) != 0) least = std::min(least, of(p, s));
    }
    regrets.push_back(std::exp(of(point, s) - least) - 1);
  }
  if (regrets.empty()) return std::nullopt;
  return quantile(regrets, 1 - kept_by_model * (1 - confidence));
}

std::vector<OptimumModel::OnNode> OptimumModel::on_nodes(int point, const std::vector<int>& candidates,
                                                         double confidence) const {
  std::vector<OnNode> all;
  const auto measured = measured_among(candidates);
  for (int node = 0; drawn_->nodes > 1 && node < drawn_->nodes; ++node) {
    if (!nodes_of_scenario_.contains({scenario_of(point), node})) continue;
    const MatrixXd own = drawn_->objective_at(node);
    OnNode& one = all.emplace_back();
    one.node = node;
    one.regret_bound = drawn_->regret_bound(own, point, candidates, confidence)
                           .value_or(std::numeric_limits<double>::infinity());
    double least = std::numeric_limits<double>::infinity();
    for (const int p : measured) {
      const double mean = own.row(p).mean();
      if (!(mean < least)) continue;
      least = mean;
      one.best = p;
    }
    if (one.best >= 0)
      one.told_apart = (own.row(one.best).array() < own.row(point).array()).cast<double>().mean() > 0.95;
  }
  return all;
}

std::vector<double> OptimumModel::value_of_trial(const std::vector<int>& candidates,
                                                 const Where& where) const {
  std::vector<double> values(candidates.size(), 0);
  if (candidates.empty()) return values;
  const auto measured = measured_among(candidates);
  // Draws of what a trial on a machine tells, noise apart: of one machine alone what is asked itself.
  std::map<int, MatrixXd> at_nodes;
  const auto told_at = [&](int node) -> const MatrixXd& {
    if (!drawn_->differs_at(node)) return drawn_->objective;
    const auto known = at_nodes.find(node);
    return known != at_nodes.end() ? known->second
                                   : at_nodes.emplace(node, drawn_->objective_at(node)).first->second;
  };
  const MatrixXd& told = told_at(where.node);
  const MatrixXd& asked = where.its_own ? told : drawn_->objective;
  const Index draws = asked.cols();
  // A setting that breaks a constraint is worth no more than the reference, or where that breaks it too, than
  // the worst.
  const auto holds_all = [&](int p, Index s) {
    return drawn_->feasible.size() == 0 || drawn_->feasible(p, s) != 0;
  };
  const auto worth_of = [&](const MatrixXd& objective) {
    MatrixXd worth(static_cast<Index>(candidates.size()), draws);
    std::vector<double> worst(static_cast<std::size_t>(draws), -std::numeric_limits<double>::infinity());
    for (const int p : candidates) {
      for (Index s = 0; s < draws; ++s)
        worst[static_cast<std::size_t>(s)] = std::max(worst[static_cast<std::size_t>(s)], objective(p, s));
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const int p = candidates[i], reference = reference_of_[static_cast<std::size_t>(p)];
      for (Index s = 0; s < draws; ++s) {
        const double instead = reference >= 0 && holds_all(reference, s) ? objective(reference, s)
                                                                         : worst[static_cast<std::size_t>(s)];
        worth(static_cast<Index>(i), s) =
            holds_all(p, s) ? objective(p, s) : std::max(instead, objective(p, s));
      }
    }
    return worth;
  };
  const MatrixXd worth = worth_of(asked);
  // Those that have a chance of being the best.
  const VectorXd mean = worth.rowwise().mean();
  const VectorXd sd = ((worth.colwise() - mean).array().square().rowwise().mean()).sqrt();
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto i = static_cast<Index>(a), k = static_cast<Index>(b);
    return mean(i) - 1.5 * sd(i) < mean(k) - 1.5 * sd(k);
  });
  if (order.size() > most_compared) order.resize(most_compared);
  const auto compared = static_cast<Index>(order.size());
  const auto under_way = static_cast<Index>(where.under_way.size());
  // Rows: what is asked at each setting, what a trial there tells, what trials under way will tell. On one machine a trial
  // tells what is asked.
  const bool other = where.node >= 0 && !where.its_own && drawn_->nodes > 1;
  const Index signal = other ? compared : 0, coming = signal + compared;
  MatrixXd centred(coming + under_way, draws);
  VectorXd level(compared);
  std::vector<bool> known;
  double best = std::numeric_limits<double>::infinity();
  MatrixXd told_worth;
  if (other) told_worth = worth_of(told);
  for (Index i = 0; i < compared; ++i) {
    const auto k = static_cast<Index>(order[static_cast<std::size_t>(i)]);
    level(i) = mean(k);
    centred.row(i) = worth.row(k).array() - mean(k);
    if (other) centred.row(signal + i) = told_worth.row(k).array() - told_worth.row(k).mean();
    const int p = candidates[static_cast<std::size_t>(k)];
    const auto runs_there = [&](const SurfaceTrial& trial) { return trial.point == p; };
    known.push_back(std::find(measured.begin(), measured.end(), p) != measured.end() ||
                    std::any_of(where.under_way.begin(), where.under_way.end(), runs_there));
    if (known.back()) best = std::min(best, level(i));
  }
  for (Index i = 0; i < under_way; ++i) {
    const SurfaceTrial& trial = where.under_way[static_cast<std::size_t>(i)];
    const MatrixXd& there = told_at(trial.node);
    centred.row(coming + i) = there.row(trial.point).array() - there.row(trial.point).mean();
  }
  if (!std::isfinite(best)) best = level.minCoeff();
  MatrixXd covariance = centred * centred.transpose() / static_cast<double>(draws);
  const double noise = noise_sd_ * noise_sd_;
  for (Index k = coming; k < coming + under_way; ++k) {
    const VectorXd with = covariance.col(k);
    covariance -= with * with.transpose() / (with(k) + noise / looked_ahead + 1e-12);
  }
  constexpr int nodes = 24;
  std::vector<double> z;
  const boost::math::normal normal;
  for (int k = 0; k < nodes; ++k) z.push_back(boost::math::quantile(normal, (k + 0.5) / nodes));
  for (Index i = 0; i < compared; ++i) {
    const Index of = signal + i;
    const double scale = std::sqrt(std::max(0.0, covariance(of, of)) + noise / looked_ahead + 1e-12);
    double expected = 0;
    for (const double at : z) {
      double least = std::numeric_limits<double>::infinity();
      for (Index k = 0; k < compared; ++k) {
        if (k != i && !known[static_cast<std::size_t>(k)]) continue;
        least = std::min(least, level(k) + covariance(k, of) / scale * at);
      }
      expected += least / nodes;
    }
    values[order[static_cast<std::size_t>(i)]] = std::max(0.0, best - expected);
  }
  return values;
}

std::vector<int> OptimumModel::leading(std::vector<int> candidates, std::size_t most) const {
  std::map<int, double> mean;
  for (const int p : candidates) mean[p] = drawn_->objective.row(p).mean();
  std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) { return mean[a] < mean[b]; });
  candidates.resize(std::min(candidates.size(), most));
  return candidates;
}

SurfaceComparison OptimumModel::compare(int point, int other) const {
  const auto change = [&](const VectorXd& log_ratio, bool less) {
    std::vector<double> values;
    for (const double r : log_ratio) values.push_back(less ? 1 - std::exp(r) : std::exp(r) - 1);
    return SurfaceChange{quantile(values, 0.5), quantile(values, 0.025), quantile(values, 0.975)};
  };
  SurfaceComparison result;
  const VectorXd time = drawn_->time.row(point) - drawn_->time.row(other);
  const VectorXd objective = drawn_->objective.row(point) - drawn_->objective.row(other);
  result.slowdown = change(time, false);
  result.gain = change(objective, true);
  result.better = (objective.array() < 0).cast<double>().mean();
  if (drawn_->power.size() > 0 && std::isfinite(drawn_->power(point, 0)) &&
      std::isfinite(drawn_->power(other, 0)))
    result.saving = change(time + VectorXd(drawn_->power.row(point) - drawn_->power.row(other)), true);
  return result;
}

std::vector<SurfaceBand> OptimumModel::bands(const std::vector<int>& candidates) const {
  std::vector<SurfaceBand> bands(candidates.size());
  const Index draws = drawn_->objective.cols();
  for (Index s = 0; s < draws; ++s) {
    std::size_t best = candidates.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const int p = candidates[i];
      if (drawn_->feasible.size() > 0 && drawn_->feasible(p, s) == 0) continue;
      if (best == candidates.size() || drawn_->objective(p, s) < drawn_->objective(candidates[best], s))
        best = i;
    }
    if (best < candidates.size()) bands[best].probability_best += 1 / static_cast<double>(draws);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    std::vector<double> values(static_cast<std::size_t>(draws));
    for (Index s = 0; s < draws; ++s)
      values[static_cast<std::size_t>(s)] = drawn_->objective(candidates[i], s);
    bands[i].low = std::exp(quantile(values, 0.025));
    bands[i].median = std::exp(quantile(values, 0.5));
    bands[i].high = std::exp(quantile(values, 0.975));
  }
  return bands;
}

}  // namespace dvfs_plan
