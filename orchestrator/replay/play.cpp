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

#include "base/error.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/surface/plan_surface.hpp"
#include "results/trial/judge.hpp"

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

// What is known without a model: the mean of what each setting gave.
class Means {
 public:
  explicit Means(const Landscape& landscape) : landscape_(landscape) {}
  void add(int point, const Landscape::Record& record) {
    Sums& mine = sums_[point];
    const double log =
        std::log(*objective_value(landscape_.plan.experiment.objective, record.joules, record.seconds));
    mine.sum += log;
    mine.squares += log * log;
    ++mine.n;
    ++count_;
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
  // The setting of the least mean; -1: none was run.
  int least() const {
    const auto least = std::min_element(sums_.begin(), sums_.end(), [](const auto& a, const auto& b) {
      return a.second.mean() < b.second.mean();
    });
    return least == sums_.end() ? -1 : least->first;
  }
  int count() const { return count_; }
  int settings() const { return static_cast<int>(sums_.size()); }

 private:
  struct Sums {
    double sum = 0, squares = 0;
    int n = 0;
    double mean() const { return sum / n; }
  };
  const Landscape& landscape_;
  std::map<int, Sums> sums_;
  int count_ = 0;
};

// Blocks of all settings, as `search: full` runs them, until their means bound the best.
Play play_full(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials) {
  const int points = static_cast<int>(landscape.plan.points.size());
  Means means(landscape);
  const int blocks = std::max(1, options.trials / points);
  std::optional<double> bound;
  for (int k = 0; k < blocks; ++k) {
    for (int p = 0; p < points; ++p) means.add(p, trials.run(p));
    if (options.stop_regret <= 0) continue;
    bound = means.bound(options.confidence);
    if (bound && *bound <= options.stop_regret) break;
  }
  Play play;
  play.trials = means.count();
  play.settings = means.settings();
  play.chosen = means.least();
  play.bound = bound;
  say_how_good(play, landscape);
  return play;
}

// A strategy that chooses one trial after another, as it would in a night.
Play play_one_by_one(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials,
                     std::uint64_t seed, const std::vector<PriorShape>& prior, const StrategyKind& kind) {
  using SteadyClock = std::chrono::steady_clock;
  Plan plan = landscape.plan;
  plan.experiment.seed = seed;
  plan.experiment.search.method = std::string(kind.name);
  if (options.trials > 0) plan.experiment.search.at_most = options.trials;
  plan.experiment.search.regret = options.stop_regret;
  plan.experiment.search.confidence = options.confidence;
  // Without a model the reference of each block tells nothing of where the best is.
  if (!kind.by_model) {
    plan.experiment.conditions.references = false;
    const auto& constraints = plan.experiment.objective.constraints;
    if (std::none_of(constraints.begin(), constraints.end(),
                     [](const ConstraintSpec& one) { return one.name == "slowdown"; })) {
      for (PlanPoint& point : plan.points) point.reference = false;
    }
  }
  const auto strategy = kind.make({plan, prior});
  History history;
  Means means(landscape);
  Play play;
  const auto began = SteadyClock::now();
  for (;;) {
    const auto asked = SteadyClock::now();
    const PlannedTrial* trial = strategy->next(history);
    play.slowest_proposal_s =
        std::max(play.slowest_proposal_s, std::chrono::duration<double>(SteadyClock::now() - asked).count());
    if (trial == nullptr) break;
    const Landscape::Record record = trials.run(trial->point);
    means.add(trial->point, record);
    FinishedTrial finished = as_planned(*trial);
    finished.counts = true;
    finished.objective = objective_value(plan.experiment.objective, record.joules, record.seconds);
    finished.work_energy_j = record.joules;
    finished.work_time_s = finished.slot_s = record.seconds;
    finished.other = {{"time", record.seconds}, {"energy", record.joules}};
    history.add(finished);
  }
  play.trials = means.count();
  play.settings = means.settings();
  if (kind.by_model) {
    const OptimumModel model(surface_question(plan),
                             surface_trials(history.trials(), plan.experiment.objective.minimise), prior);
    std::vector<int> all(plan.points.size());
    std::iota(all.begin(), all.end(), 0);
    if (const auto optimum = model.optimum(all, options.confidence)) {
      play.chosen = optimum->point;
      if (means.count() - means.settings() >= fewest_repeats) play.bound = optimum->regret_bound;
      if (!plan.experiment.objective.constraints.empty()) play.feasible = optimum->feasible;
    }
  } else {
    play.chosen = means.least();
  }
  play.seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  say_how_good(play, landscape);
  return play;
}

}  // namespace

std::vector<std::string> play_searches() {
  std::vector<std::string> names;
  for (const StrategyKind* kind : Registered<StrategyKind>::all()) names.emplace_back(kind->name);
  return names;
}

Play play(const Landscape& landscape, const PlayOptions& options, std::uint64_t seed,
          const std::vector<PriorShape>& prior) {
  const StrategyKind* kind = Registered<StrategyKind>::find(options.search);
  if (kind == nullptr) throw Error(ExitCode::bad_experiment, "no such search: " + options.search);
  LandscapeTrials trials(landscape, options, seed);
  return chooses_one_by_one(kind->name) ? play_one_by_one(landscape, options, trials, seed, prior, *kind)
                                        : play_full(landscape, options, trials);
}

}  // namespace dvfs_plan
