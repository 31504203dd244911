#include "orchestrator/replay/play.hpp"

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.hpp"
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
    boost::random::uniform_int_distribution<std::size_t> pick(0, records.size() - 1);
    return records[pick(random_->engine)];
  }
  const Landscape::Record& record = records.front();
  const double time = std::exp(options_.noise_time * random_->normal(random_->engine));
  const double power = std::exp(options_.noise_power * random_->normal(random_->engine));
  return {record.seconds * time, record.joules * time * power};
}

namespace {

// What simple searches know: the mean of what each setting gave.
class Means {
 public:
  explicit Means(LandscapeTrials& trials) : trials_(trials) {}
  double run(int point) {
    auto& [sum, n] = sums_[point];
    sum += std::log(trials_.run(point).joules);
    ++n;
    ++count_;
    return sum / n;
  }
  bool known(int point) const { return sums_.contains(point); }
  int count() const { return count_; }
  Play finish(const Landscape& landscape) const {
    Play play;
    play.trials = count_;
    play.settings = static_cast<int>(sums_.size());
    double least = 0;
    for (const auto& [point, sum] : sums_) {
      const double mean = sum.first / sum.second;
      if (play.chosen >= 0 && mean >= least) continue;
      least = mean;
      play.chosen = point;
    }
    if (play.chosen >= 0)
      play.regret = landscape.joules(play.chosen) / landscape.joules(landscape.best()) - 1;
    return play;
  }

 private:
  LandscapeTrials& trials_;
  std::map<int, std::pair<double, int>> sums_;
  int count_ = 0;
};

Play play_full(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials) {
  const int points = static_cast<int>(landscape.plan.points.size());
  Means means(trials);
  for (int k = 0; k < std::max(1, options.trials / points); ++k) {
    for (int p = 0; p < points; ++p) means.run(p);
  }
  return means.finish(landscape);
}

Play play_random(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials,
                 std::uint64_t seed) {
  boost::random::mt19937_64 engine(seed);
  std::vector<int> order(landscape.plan.points.size());
  std::iota(order.begin(), order.end(), 0);
  Means means(trials);
  for (int k = 0; k < options.trials; ++k) {
    const std::size_t at = static_cast<std::size_t>(k) % order.size();
    boost::random::uniform_int_distribution<std::size_t> pick(at, order.size() - 1);
    std::swap(order[at], order[pick(engine)]);
    means.run(order[at]);
  }
  return means.finish(landscape);
}

// Golden section over the values of one axis with the others held at the best so far, axis after axis, as
// long as trials last.
class Golden {
 public:
  Golden(const Landscape& landscape, const PlayOptions& options, LandscapeTrials& trials)
      : landscape_(landscape), options_(options), means_(trials) {
    for (std::size_t i = 0; i < landscape.plan.points.size(); ++i) {
      if (landscape.plan.points[i].reference) at_ = static_cast<int>(i);
    }
  }

  Play play() {
    value_ = means_.run(at_);
    for (std::size_t axis = 0; axis < landscape_.plan.axes.size(); ++axis) along(axis);
    return means_.finish(landscape_);
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
  plan.experiment.search.at_most = options.trials;
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
    finished.objective = finished.work_energy_j = record.joules;
    finished.work_time_s = finished.slot_s = record.seconds;
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
  play.regret = landscape.joules(play.chosen) / landscape.joules(landscape.best()) - 1;
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
