#include "orchestrator/replay/play_on_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

#include "orchestrator/strategies/strategy.hpp"
#include "results/surface/plan_surface.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {
namespace {

// One machine of the type, and what it does at the moment.
struct PlayedNode {
  std::string name;
  double time = 1, power = 1;       // against the type
  std::vector<double> slopes = {};  // of power, an axis each
  std::unique_ptr<Strategy> strategy = {};
  int block = 0;
  std::optional<PlannedTrial> trial = {};  // under way
  FinishedTrial outcome = {};
  double until_s = 0;

  Landscape::Record here(const Landscape::Record& record, const SettingsGrid& grid, int point) const {
    double log_power = 0;
    for (std::size_t a = 0; a < grid.axes.size(); ++a) {
      if (!grid.axes[a].ordered) continue;
      const auto cell = static_cast<std::size_t>(grid.cells[static_cast<std::size_t>(point)][a]);
      log_power += slopes[a] * grid.axes[a].span * (grid.axes[a].x[cell] - 0.5);
    }
    return {record.seconds * time, record.joules * time * power * std::exp(log_power)};
  }
};

class NodesNight {
 public:
  NodesNight(const Landscape& landscape, const PlayOptions& options, int nodes, const NodeScatter& scatter,
             bool each_node, std::uint64_t seed)
      : landscape_(landscape), plan_(landscape.plan), trials_(landscape, options, seed) {
    plan_.experiment.seed = seed;
    plan_.experiment.search.method = "adaptive";
    if (options.trials > 0) plan_.experiment.search.at_most = options.trials;
    most_ = most_trials_of_scenario(plan_, plan_.points.front().scenario);
    plan_.experiment.search.regret = options.stop_regret;
    plan_.experiment.search.confidence = options.confidence;
    plan_.experiment.search.each_node = each_node;
    question_ = surface_question(plan_);
    boost::random::mt19937_64 engine(seed * 0x9E3779B97F4A7C15ULL + 21);
    boost::random::normal_distribution<double> normal;
    for (int i = 0; i < nodes; ++i) {
      PlayedNode& node = nodes_.emplace_back(PlayedNode{.name = fmt::format("n{:03}", i)});
      node.time = std::exp(scatter.time * normal(engine));
      node.power = std::exp(scatter.power * normal(engine));
      for (std::size_t a = 0; a < question_.grid.axes.size(); ++a)
        node.slopes.push_back(scatter.slope * normal(engine));
    }
  }

  NodesPlay run() {
    double now = 0;
    for (;;) {
      // Who finds it over while others are at work waits for what they find.
      for (PlayedNode& node : nodes_) {
        if (!node.trial) begin(node, now);
      }
      const auto next = std::min_element(nodes_.begin(), nodes_.end(), [](const auto& a, const auto& b) {
        return (a.trial ? a.until_s : INFINITY) < (b.trial ? b.until_s : INFINITY);
      });
      if (!next->trial) break;
      now = next->until_s;
      finished_.push_back(next->outcome);
      next->trial.reset();
    }
    result_.wall_s = now;
    conclude();
    return std::move(result_);
  }

 private:
  // Its next trial, if there is one.
  void begin(PlayedNode& node, double now) {
    History history(finished_);
    std::set<int> run, under_way;
    for (const FinishedTrial& one : finished_) run.insert(one.point);
    for (const PlayedNode& other : nodes_) {
      if (!other.trial) continue;
      history.begin(*other.trial, other.name);
      under_way.insert(other.trial->point);
    }
    for (;;) {
      if (!node.strategy) {
        node.block = ++blocks_;
        node.strategy = make_strategy({.plan = plan_, .only_block = node.block, .node = node.name});
      }
      const PlannedTrial* trial = node.strategy->next(history);
      if (trial == nullptr) {
        if (node.strategy->is_over(history)) {
          if (!result_.reached_s && finished_.size() < static_cast<std::size_t>(most_))
            result_.reached_s = now;
          return;
        }
        node.strategy.reset();
        continue;
      }
      const auto at = static_cast<std::size_t>(trial->point);
      const bool others_left = run.size() + under_way.size() < plan_.points.size();
      if (others_left && under_way.contains(trial->point) && !run.contains(trial->point) &&
          !plan_.points[at].reference)
        ++result_.twice;
      const Landscape::Record record = node.here(trials_.run(trial->point), question_.grid, trial->point);
      FinishedTrial& done = node.outcome = as_planned(*trial);
      done.counts = true;
      done.node = node.name;
      done.objective = objective_value(plan_.experiment.objective, record.joules, record.seconds);
      done.work_energy_j = record.joules;
      done.work_time_s = done.slot_s = record.seconds;
      done.other = {{"time", record.seconds}, {"energy", record.joules}};
      node.trial = *trial;
      node.until_s = now + record.seconds;
      return;
    }
  }

  void conclude() {
    Play& play = result_.play;
    play.trials = static_cast<int>(finished_.size());
    std::set<int> run;
    for (const FinishedTrial& one : finished_) run.insert(one.point);
    play.settings = static_cast<int>(run.size());
    const OptimumModel model(question_, surface_trials(finished_, plan_.experiment.objective.minimise));
    std::vector<int> all(plan_.points.size());
    std::iota(all.begin(), all.end(), 0);
    const auto optimum = model.optimum(all, plan_.experiment.search.confidence);
    if (!optimum) return;
    play.chosen = optimum->point;
    if (play.trials - play.settings >= fewest_repeats) play.bound = optimum->regret_bound;
    play.regret = landscape_.objective(play.chosen) / landscape_.objective(landscape_.constrained_best()) - 1;
    for (const PlayedNode& node : nodes_) {
      const auto objective = [&](int point) {
        const Landscape::Record here =
            node.here({landscape_.seconds(point), landscape_.joules(point)}, question_.grid, point);
        return *objective_value(plan_.experiment.objective, here.joules, here.seconds);
      };
      double least = std::numeric_limits<double>::infinity();
      for (const int point : all) least = std::min(least, objective(point));
      result_.regrets.push_back(objective(play.chosen) / least - 1);
    }
  }

  const Landscape& landscape_;
  Plan plan_;
  LandscapeTrials trials_;
  SurfaceQuestion question_;
  std::vector<PlayedNode> nodes_;
  std::vector<FinishedTrial> finished_;
  NodesPlay result_;
  int blocks_ = 0, most_ = 0;
};

}  // namespace

NodesPlay play_on_nodes(const Landscape& landscape, const PlayOptions& options, int nodes,
                        const NodeScatter& scatter, bool each_node, std::uint64_t seed) {
  return NodesNight(landscape, options, nodes, scatter, each_node, seed).run();
}

}  // namespace dvfs_plan
