#include "orchestrator/replay/play.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "orchestrator/judge/judge.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/surface/plan_surface.hpp"

namespace dvfs_plan {

struct LandscapeTrials::Random {
  boost::random::mt19937_64 engine;
  boost::random::normal_distribution<double> normal;
};

LandscapeTrials::LandscapeTrials(const Landscape& landscape, const PlayOptions& options, std::uint64_t seed)
    : landscape_(landscape), options_(options), random_(std::make_unique<Random>()) {
  random_->engine.seed(seed * 0x9E3779B97F4A7C15ULL + 7);
}
LandscapeTrials::~LandscapeTrials() = default;

Landscape::Record LandscapeTrials::run(int point) {
  const auto& records = landscape_.records[static_cast<std::size_t>(point)];
  if (records.size() > 1) {
    auto& left = left_[point];
    if (left.empty()) {
      left.resize(records.size());
      std::iota(left.begin(), left.end(), 0);
    }
    boost::random::uniform_int_distribution<std::size_t> pick(0, left.size() - 1);
    std::swap(left[pick(random_->engine)], left.back());
    const std::size_t which = left.back();
    left.pop_back();
    return records[which];
  }
  const Landscape::Record& record = records.front();
  const double time = std::exp(options_.noise_time * random_->normal(random_->engine));
  const double power = std::exp(options_.noise_power * random_->normal(random_->engine));
  return {record.seconds * time, record.joules * time * power};
}

namespace {

void say_how_good(Play& play, const Landscape& landscape) {
  if (play.chosen < 0) return;
  const int best = landscape.constrained_best();
  play.violates = !landscape.holds_constraints(play.chosen);
  if (best >= 0) play.regret = landscape.objective(play.chosen) / landscape.objective(best) - 1;
}

// What simple searches know: the mean of what each setting gave.
class Means {
 public:
  Means(const Landscape& landscape, LandscapeTrials& trials) : landscape_(landscape), trials_(trials) {}
  // Returns the mean of the objective's logarithm there.
  double run(int point) {
    const auto record = trials_.run(point);
    Sums& mine = sums_[point];
    const double log =
        std::log(*objective_value(landscape_.plan.experiment.objective, record.joules, record.seconds));
    mine.sum += log;
    mine.squares += log * log;
    ++mine.n;
    ++count_;
    return mine.mean();
  }
  // By how much the least of the means may be worse than the true best, of equally many runs of all:
  // Student's t with their common variance, shared out among the rivals (Bonferroni).
  std::optional<double> bound(double confidence) const {
    double squares = 0, least = INFINITY, second = INFINITY;
    int free = 0, runs = 0;
    for (const auto& [point, mine] : sums_) {
      squares += mine.squares - mine.sum * mine.mean();
      free += mine.n - 1;
      runs = mine.n;
      second = std::min(second, std::max(least, mine.mean()));
      least = std::min(least, mine.mean());
    }
    if (free <= 0) return std::nullopt;
    if (sums_.size() < 2) return 0;
    const double rivals = static_cast<double>(sums_.size()) - 1;
    const boost::math::students_t t(free);
    const double half = boost::math::quantile(t, 1 - (1 - confidence) / rivals) *
                        std::sqrt(2 * std::max(0.0, squares) / free / runs);
    return std::max(0.0, std::expm1(half - (second - least)));
  }
  bool known(int point) const { return sums_.contains(point); }
  int count() const { return count_; }
  Play finish() const {
    Play play;
    play.trials = count_;
    play.settings = static_cast<int>(sums_.size());
    double least = 0;
    for (const auto& [point, sum] : sums_) {
      const double mean = sum.mean();
      if (play.chosen >= 0 && mean >= least) continue;
      least = mean;
      play.chosen = point;
    }
    say_how_good(play, landscape_);
    return play;
  }

 private:
  struct Sums {
    double sum = 0, squares = 0;
    int n = 0;
    double mean() const { return sum / n; }
  };
  const Landscape& landscape_;
  LandscapeTrials& trials_;
  std::map<int, Sums> sums_;
  int count_ = 0;
};

Play play_full(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials) {
  const int points = static_cast<int>(landscape.plan.points.size());
  Means means(landscape, trials);
  const int blocks = std::max(1, options.trials / points);
  std::optional<double> bound;
  for (int k = 0; k < blocks; ++k) {
    for (int p = 0; p < points; ++p) means.run(p);
    if (options.stop_regret <= 0) continue;
    bound = means.bound(options.confidence);
    if (bound && *bound <= options.stop_regret) break;
  }
  Play play = means.finish();
  play.bound = bound;
  return play;
}

Play play_random(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials,
                 std::uint64_t seed) {
  boost::random::mt19937_64 engine(seed);
  std::vector<int> order(landscape.plan.points.size());
  std::iota(order.begin(), order.end(), 0);
  Means means(landscape, trials);
  for (int k = 0; k < options.trials; ++k) {
    const std::size_t at = static_cast<std::size_t>(k) % order.size();
    boost::random::uniform_int_distribution<std::size_t> pick(at, order.size() - 1);
    std::swap(order[at], order[pick(engine)]);
    means.run(order[at]);
  }
  return means.finish();
}

// Golden section over the values of one axis with the others held at the best so far, axis after axis, as
// long as trials last.
class Golden {
 public:
  Golden(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials)
      : landscape_(landscape), options_(options), means_(landscape, trials) {
    for (std::size_t i = 0; i < landscape.plan.points.size(); ++i) {
      if (landscape.plan.points[i].reference) at_ = static_cast<int>(i);
    }
  }

  Play play() {
    value_ = means_.run(at_);
    for (std::size_t axis = 0; axis < landscape_.plan.axes.size(); ++axis) along(axis);
    return means_.finish();
  }

 private:
  std::optional<double> look(int point) {
    if (means_.count() >= options_.trials) return std::nullopt;
    const double mean = means_.run(point);
    if (mean < value_) {
      value_ = mean;
      at_ = point;
    }
    return mean;
  }

  void along(std::size_t axis) {
    std::vector<std::pair<double, int>> line;
    for (std::size_t i = 0; i < landscape_.plan.points.size(); ++i) {
      const auto &mine = landscape_.plan.points[i].values,
                 &here = landscape_.plan.points[static_cast<std::size_t>(at_)].values;
      bool on = true;
      for (std::size_t a = 0; a < mine.size(); ++a) on = on && (a == axis || mine[a] == here[a]);
      if (on) line.push_back({*mine[axis]->number, static_cast<int>(i)});
    }
    std::sort(line.begin(), line.end());
    int low = 0, high = static_cast<int>(line.size()) - 1;
    const double ratio = (std::sqrt(5.0) - 1) / 2;
    while (high - low > 2) {
      const int c = static_cast<int>(std::lround(high - ratio * (high - low)));
      const int d = std::max(c + 1, static_cast<int>(std::lround(low + ratio * (high - low))));
      const auto at_c = look(line[static_cast<std::size_t>(c)].second),
                 at_d = look(line[static_cast<std::size_t>(d)].second);
      if (!at_c || !at_d) return;
      (*at_c < *at_d ? high : low) = *at_c < *at_d ? d : c;
    }
    for (int i = low; i <= high; ++i) {
      const int point = line[static_cast<std::size_t>(i)].second;
      if (!means_.known(point)) look(point);
    }
  }

  const Landscape& landscape_;
  const PlayOptions& options_;
  Means means_;
  int at_ = 0;
  double value_ = 0;
};

Play play_adaptive(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials,
                   std::uint64_t seed, const SurfaceShapes& shapes) {
  using SteadyClock = std::chrono::steady_clock;
  Plan plan = landscape.plan;
  plan.experiment.seed = seed;
  plan.experiment.search.method = SearchSpec::Method::adaptive;
  if (options.trials > 0) plan.experiment.search.at_most = options.trials;
  plan.experiment.search.regret = options.stop_regret;
  plan.experiment.search.confidence = options.confidence;
  const auto strategy = make_strategy(plan, shapes);
  History history;
  Play play;
  std::set<int> settings;
  const auto began = SteadyClock::now();
  for (;;) {
    const auto asked = SteadyClock::now();
    const PlannedTrial* trial = strategy->next(history);
    play.slowest_proposal_s =
        std::max(play.slowest_proposal_s, std::chrono::duration<double>(SteadyClock::now() - asked).count());
    if (trial == nullptr) break;
    const Landscape::Record record = trials.run(trial->point);
    FinishedTrial finished = as_planned(*trial);
    finished.counts = true;
    finished.objective = objective_value(plan.experiment.objective, record.joules, record.seconds);
    finished.work_energy_j = record.joules;
    finished.work_time_s = finished.slot_s = record.seconds;
    finished.other = {{"time", record.seconds}, {"energy", record.joules}};
    history.add(finished);
    settings.insert(trial->point);
    ++play.trials;
  }
  play.settings = static_cast<int>(settings.size());
  const OptimumModel model(surface_question(plan),
                           surface_trials(history.trials(), plan.experiment.objective.minimise), shapes);
  std::vector<int> all(plan.points.size());
  std::iota(all.begin(), all.end(), 0);
  const auto optimum = model.optimum(all, options.confidence);
  play.seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  if (!optimum) return play;
  play.chosen = optimum->point;
  play.bound = optimum->regret_bound;
  if (!plan.experiment.objective.constraints.empty()) play.feasible = optimum->feasible;
  say_how_good(play, landscape);
  return play;
}

}  // namespace

const std::vector<std::string>& play_searches() {
  static const std::vector<std::string> names{"adaptive", "full", "random", "golden"};
  return names;
}

Play play(const Landscape& landscape, const PlayOptions& options, std::uint64_t seed,
          const SurfaceShapes& shapes) {
  LandscapeTrials trials(landscape, options, seed);
  if (options.search == "adaptive") return play_adaptive(landscape, options, trials, seed, shapes);
  if (options.search == "full") return play_full(landscape, options, trials);
  if (options.search == "random") return play_random(landscape, options, trials, seed);
  if (options.search == "golden") return Golden(landscape, options, trials).play();
  throw Error(ExitCode::bad_experiment, "no such search: " + options.search);
}

}  // namespace dvfs_plan
