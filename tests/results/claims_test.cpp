// What is claimed is what is known: of points that nothing is known of, of trials that are missing here and there, of limits that intervals
// straddle, of points that scatter more than others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/text.hpp"
#include "results/compare/comparison.hpp"
#include "results/compare/recheck.hpp"
#include "results/report/against_meter.hpp"
#include "results/report/json_report.hpp"
#include "results/report/nodes.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/overview.hpp"
#include "results/report/report.hpp"
#include "results/report/side_by_side.hpp"
#include "results/report/sparklines.hpp"
#include "results/report/summary.hpp"
#include "results/statistics/winner.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A trial of setting `at` (the highest is the reference) in a block.
TrialRow trial_at(int at, int of, int block, double joules, double seconds = 1) {
  TrialRow trial;
  trial.settings = {{"clock", std::to_string(at), static_cast<double>(at)}};
  trial.point = fmt::format("w clock={:02}", at);
  trial.workload = trial.scenario = "w";
  trial.is_reference = at == of;
  trial.block = block;
  trial.verdict = trial.outcome = "ok";
  trial.time_s = seconds;
  trial.energy_j = trial.objective_value = joules;
  trial.mean_power_w = joules / seconds;
  return trial;
}

// How many random nights: each takes 10 ms.
int nights_of(int few, int many) {
  const char* thorough = std::getenv("DVFS_PLAN_LONG");
  return thorough != nullptr && *thorough != '\0' ? many : few;
}
// Of `of` that hold with probability `share` each, at least so many: less three standard deviations.
double at_least(double share, int of) {
  return share * of - 3 * std::sqrt(share * (1 - share) * of);
}

struct Night {
  ExperimentRow experiment;
  std::vector<TrialRow> trials;
  // Numbers the trials and sums them up.
  Summary summary() {
    experiment.axes = {{"clock", "knob"}};
    std::map<std::pair<std::string, int>, int> nth;
    std::int64_t id = 0;
    for (TrialRow& trial : trials) {
      trial.id = ++id;
      trial.key = fmt::format("{} #{} {}", trial.point, trial.block, ++nth[{trial.point, trial.block}]);
    }
    experiment.planned_trials = static_cast<int>(trials.size());
    return summarise(experiment, trials);
  }
};

TEST(HowSure, WhatIsNotKnownIsNotWorse) {
  Night night;
  for (int block = 1; block <= 3; ++block) {
    for (int at = 1; at <= 3; ++at) {
      night.trials.push_back(trial_at(at, 3, block, 100 + 0.1 * block));
      if (at < 3) {
        night.trials.back().verdict = "knob_refused";
        night.trials.back().objective_value.reset();
      } else {
        night.trials.push_back(trial_at(at, 3, block, 100.2));
      }
    }
  }
  EXPECT_EQ(how_sure(night.summary().scenarios[0]), "2 not known");
  // One that breaks a limit is not worse either.
  Night limited;
  limited.experiment.objective.constraints = {{.name = "slowdown", .mark = {}, .limit = 0.05, .unit = {}}};
  for (int block = 1; block <= 3; ++block) {
    limited.trials.push_back(trial_at(1, 3, block, 70 + 0.1 * block, 1.5 + 0.001 * block));
    limited.trials.push_back(trial_at(2, 3, block, 95 + 0.05 * block, 1.02 + 0.001 * block));
    for (int i = 0; i < 2; ++i)
      limited.trials.push_back(trial_at(3, 3, block, 100 + 0.1 * i, 1 + 0.0005 * i));
  }
  const Summary summary = limited.summary();
  ASSERT_TRUE(summary.scenarios[0].best);
  EXPECT_EQ(how_sure(summary.scenarios[0]), "1 other is worse, 1 breaks the constraints");
  limited.experiment.objective.constraints = {{.name = "p99", .mark = {}, .limit = 40, .unit = {}}};
  EXPECT_EQ(how_sure(limited.summary().scenarios[0]), "none is known to hold the constraints");
}

// Blocks at other levels: whoever lost one trial of a dear block would win by that alone.
TEST(Balance, AMissingTrialOfTheReferenceMovesNoAnswer) {
  Night night;
  for (int block = 1; block <= 2; ++block) {
    const double level = block == 1 ? 100 : 120;
    night.trials.push_back(trial_at(1, 2, block, 0.995 * level));
    for (int i = 0; i < (block == 1 ? 2 : 1); ++i) night.trials.push_back(trial_at(2, 2, block, level));
  }
  const Summary summary = night.summary();
  EXPECT_FALSE(summary.scenarios[0].balanced);
  ASSERT_TRUE(summary.scenarios[0].best);
  EXPECT_EQ(summary.scenarios[0].points[*summary.scenarios[0].best].settings[0].text, "1");
  EXPECT_THAT(answer_sentences(summary).at(0),
              HasSubstr("Not all points count in the same blocks, and as often in each"));
}

TEST(Reference, ItsIntervalIsOfBlocksNotOfTrials) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const double within : {0.0, 0.3, 1.0}) {
    for (const int blocks : {2, 3, 5}) {
      int covered = 0;
      const int nights = nights_of(40, 400);
      for (int i = 0; i < nights; ++i) {
        Night night;
        for (int block = 1; block <= blocks; ++block) {
          const double level = 100 + normal(random);
          night.trials.push_back(trial_at(1, 2, block, 50 + normal(random)));
          for (int k = 0; k < 2; ++k)
            night.trials.push_back(trial_at(2, 2, block, level + within * normal(random)));
        }
        const Summary summary = night.summary();
        const Estimate& energy = *summary.scenarios[0].points[1].energy;
        ASSERT_TRUE(energy.half_width);
        EXPECT_EQ(energy.n, 2 * blocks);
        covered += std::abs(energy.mean - 100) <= *energy.half_width ? 1 : 0;
      }
      EXPECT_GE(covered, at_least(0.95, nights)) << blocks << " blocks, within " << within;
    }
  }
  // Of one block nothing tells how blocks differ.
  Night one;
  one.trials = {trial_at(1, 2, 1, 50), trial_at(2, 2, 1, 100), trial_at(2, 2, 1, 101)};
  const Summary summary = one.summary();
  EXPECT_FALSE(summary.scenarios[0].points[1].energy->half_width);
}

// A cluster's night of which one node's blocks are there is a night of one machine; where several count, a point that one of them ran
// alone tells nothing of how machines differ.
TEST(Reference, OfNodesItsIntervalIsOfBlocksOfOneOrOfSeveral) {
  const auto on = [](TrialRow trial, const char* node) {
    trial.node = node;
    trial.joules_of_boards["gpu-0"] = *trial.energy_j / 2;
    return trial;
  };
  Night one;
  one.trials = {on(trial_at(1, 2, 1, 50), "n1"), on(trial_at(2, 2, 1, 100), "n1"),
                on(trial_at(2, 2, 1, 101), "n1")};
  const PointSummary of_one_block = one.summary().scenarios[0].points[1];
  EXPECT_FALSE(of_one_block.energy->half_width);
  EXPECT_FALSE(of_one_block.joules_of_boards.at("gpu-0").half_width);
  for (TrialRow trial : std::vector<TrialRow>(one.trials)) {
    trial.block = 2;
    *trial.energy_j += 4;
    trial.joules_of_boards["gpu-0"] += 2;
    one.trials.push_back(trial);
  }
  // Blocks' means are 100.5 and 104.5 J: t(1) 12.706 times 2 J.
  const PointSummary of_two = one.summary().scenarios[0].points[1];
  EXPECT_NEAR(*of_two.energy->half_width, 12.706 * 2, 0.01);
  EXPECT_NEAR(*of_two.joules_of_boards.at("gpu-0").half_width, 12.706, 0.01);
  Night several = one;
  std::erase_if(several.trials,
                [](const TrialRow& trial) { return trial.block == 2 && !trial.is_reference; });
  for (int block = 3; block <= 4; ++block)
    for (int i = 0; i < 2; ++i) several.trials.push_back(on(trial_at(2, 2, block, 110 + i), "n2"));
  const Summary summary = several.summary();
  EXPECT_FALSE(summary.scenarios[0].points[0].energy->half_width) << "n1 alone";
  EXPECT_NEAR(*summary.scenarios[0].points[1].energy->half_width, 12.706 * (110.5 - 102.5) / 2, 0.01);
}

// The reference is seldom very high: mostly it takes less than the other, on the average more. Where its means do not tell the two apart
// nobody is "worse".
TEST(HowSure, WhoIsSeldomVeryHighIsNotBetterByWhatItMostlyTakes) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> chance;
  const int nights = nights_of(60, 400);
  int wrong = 0, told = 0;
  for (int i = 0; i < nights; ++i) {
    Night night;
    for (int block = 1; block <= 30; ++block) {
      night.trials.push_back(trial_at(1, 2, block, 2.3 + 0.05 * normal(random)));
      for (int k = 0; k < 2; ++k)
        night.trials.push_back(
            trial_at(2, 2, block, (chance(random) < 0.1 ? 6.9 : 1.9) + 0.05 * normal(random)));
    }
    const Summary summary = night.summary();
    const ScenarioSummary& scenario = summary.scenarios[0];
    const bool other_is_worse = scenario.best == scenario.reference && !scenario.points[0].not_told_apart;
    wrong += other_is_worse ? 1 : 0;
    if (scenario.points[0].gain_of_means) ++told;
  }
  EXPECT_LE(wrong, nights / 20) << "2.3 J are less than 2.4 J";
  EXPECT_GT(told, nights / 3);
}

// No trial of the best counts on n2: whether it is the best there is not known, which is no "no".
TEST(Nodes, WhereTheBestDoesNotCountNothingIsSaidOfIt) {
  Night night;
  int block = 0;
  for (const char* node : {"n1", "n2"}) {
    for (int i = 0; i < 3; ++i) {
      ++block;
      const double noise = 0.1 * i;
      for (const auto& [at, joules] : {std::pair{1, 80.0}, {2, 90.0}, {3, 100.0}}) {
        for (int n = 0; n < (at == 3 ? 2 : 1); ++n) {
          night.trials.push_back(trial_at(at, 3, block, joules + noise));
          night.trials.back().node = node;
          if (at != 1 || std::string(node) == "n1") continue;
          night.trials.back().verdict = "knob_refused";
          night.trials.back().objective_value.reset();
        }
      }
    }
  }
  const auto answer_of = [](const Summary& summary) {
    const NodeSummary& there = summary.scenarios.at(0).nodes->nodes.at(1);
    EXPECT_TRUE(there.not_known);
    EXPECT_FALSE(there.agrees);
    EXPECT_FALSE(summary.scenarios[0].nodes->nodes[0].not_known);
    EXPECT_TRUE(summary.scenarios[0].nodes->nodes[0].agrees);
    return node_sentence(summary.scenarios[0]);
  };
  EXPECT_THAT(answer_of(night.summary()),
              HasSubstr("not told apart from it, on 1 of 2 nodes (of 1 it is not known)"));
  // Worse there is a "no".
  for (TrialRow& trial : night.trials) {
    if (trial.verdict == "ok") continue;
    trial = trial_at(1, 3, trial.block, 95 + 0.1 * (trial.block % 3));
    trial.node = "n2";
  }
  const Summary worse = night.summary();
  ASSERT_EQ(worse.scenarios[0].points[*worse.scenarios[0].best].point, "w clock=01");
  EXPECT_FALSE(worse.scenarios[0].nodes->nodes.at(1).not_known);
  EXPECT_THAT(node_sentence(worse.scenarios[0]), HasSubstr("not told apart from it, on 1 of 2 nodes;"));
}

TEST(Limits, WhatMayHoldThemIsNamed) {
  Night night;
  night.experiment.objective.constraints = {{.name = "slowdown", .mark = {}, .limit = 0.05, .unit = {}}};
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int block = 1; block <= 4; ++block) {
    night.trials.push_back(trial_at(1, 3, block, 80 * (1 + 0.001 * normal(random)),
                                    1.0505 + 0.01 * (block % 2 == 0 ? 1 : -0.9)));
    night.trials.push_back(trial_at(2, 3, block, 95 * (1 + 0.001 * normal(random)), 1.01));
    for (int i = 0; i < 2; ++i)
      night.trials.push_back(trial_at(3, 3, block, 100 * (1 + 0.001 * normal(random)), 1));
  }
  const Summary summary = night.summary();
  const PointSummary& close = summary.scenarios[0].points[0];
  ASSERT_EQ(close.constraints.at(0).holds, false);
  ASSERT_TRUE(close.constraints.at(0).may_hold());
  const std::string answer = answer_sentences(summary).at(0);
  EXPECT_THAT(answer,
              HasSubstr("That clock = 1 breaks the constraints is not shown, and it would be better."));
  EXPECT_THAT(answer, Not(HasSubstr("Every other point that holds")));
  std::string notes;
  for (const std::string& note : further_sentences(summary)) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("without the constraints the least would be at clock = 1, whose mean is"));
  EXPECT_THAT(notes, HasSubstr("(which by its estimate does not hold, though its interval does not show it, "
                               "slowdown <= 5 %: it has"));
}

ConstraintSpec at_most_ms(const char* metric, double limit) {
  ConstraintSpec spec;
  spec.name = metric;
  spec.limit = limit;
  spec.unit = "ms";
  return spec;
}

// "1.3 s" among "990 ms", an n/a, one of two copies that is silent: such trials do not count, and are those that break a limit or miss a target. What
// the others say is nothing of the setting; one that was run again and told it, is as any other.
TEST(Limits, WhatIsLeftOfTrialsThatDidNotTellIsNotKnownToHoldOrToReach) {
  for (const bool to_target : {false, true}) {
    for (const bool run_again : {false, true}) {
      Night night;
      if (to_target) {
        night.experiment.targets["w"] = "loss <= 0.2";
      } else {
        night.experiment.objective.constraints = {at_most_ms("lat", 1000)};
      }
      for (int block = 1; block <= 5; ++block) {
        for (const int at : {1, 2, 3, 3}) {
          TrialRow trial = trial_at(at, 3, block, 70 + 10 * at + 0.1 * block);
          trial.metrics["lat"] = 990 - 20 * at;
          trial.units_of_metrics["lat"] = "ms";
          const bool untold = at == 1 && block > 2;
          if (untold) {
            TrialRow failed = trial;
            failed.verdict = "no_metric";
            failed.metrics.clear();
            night.trials.push_back(failed);
          }
          if (!untold || run_again) night.trials.push_back(trial);
        }
      }
      const Summary summary = night.summary();
      const ScenarioSummary& scenario = summary.scenarios[0];
      ASSERT_TRUE(scenario.best);
      EXPECT_EQ(*scenario.best, run_again ? 0U : 1U) << to_target;
      if (run_again) continue;
      if (to_target) {
        EXPECT_FALSE(scenario.points[0].objective || scenario.points[0].energy || scenario.points[0].saving);
        continue;
      }
      EXPECT_EQ(scenario.points[0].constraints.at(0).holds, std::nullopt);
      EXPECT_EQ(scenario.points[1].constraints.at(0).holds, true);
      EXPECT_THAT(answer_sentences(summary).at(0),
                  HasSubstr("3 of the 5 trials of w clock=01 are left out for want of what they were to tell "
                            "(no_metric), and may be those that break it"));
      EXPECT_EQ(unfinished_text(scenario.points[0]),
                "3 of its 5 trials did not tell what was asked for (3 no_metric) and are in no mean: what is "
                "said of it is of those that did");
    }
  }
}

// A client states no p99 where too many requests were not answered: the trials that state it are the better ones.
TEST(Limits, WhatSomeTrialsDidNotTellIsNotKnownToHold) {
  Night night;
  night.experiment.objective.constraints = {at_most_ms("p99_latency", 200)};
  for (int block = 1; block <= 5; ++block) {
    for (const int at : {1, 2, 3, 3}) {
      TrialRow trial = trial_at(at, 3, block, 70 + 10 * at + 0.1 * block);
      if (at != 1 || block > 2) {
        trial.metrics["p99_latency"] = 190 - 20 * at;
        trial.units_of_metrics["p99_latency"] = "ms";
      }
      night.trials.push_back(trial);
    }
  }
  const Summary summary = night.summary();
  const ScenarioSummary& scenario = summary.scenarios[0];
  EXPECT_EQ(scenario.points[0].constraints.at(0).holds, std::nullopt);
  EXPECT_EQ(scenario.points[1].constraints.at(0).holds, true);
  ASSERT_TRUE(scenario.best);
  EXPECT_EQ(*scenario.best, 1U);
  EXPECT_THAT(answer_sentences(summary).at(0), HasSubstr("2 of the 5 trials of w clock=01 told none"));
  EXPECT_THAT(beside_lines(scenario),
              HasSubstr("clock = 1: p99_latency 170.0 ± 0.0 ms (told in 3 of 5 trials only, and so not "
                        "known of this setting)\n"));
  EXPECT_THAT(beside_lines(scenario), HasSubstr("clock = 2: p99_latency 150.0 ± 0.0 ms\n"));
}

TEST(Savings, OfPointsThatShareNoBlockNoneIsStated) {
  EXPECT_THAT(reached_by_blocks({{0, {1}}, {1, {1, 2}}, {2, {2}}}, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(reached_by_blocks({{0, {1}}, {1, {1, 3}}, {2, {2}}}, 0), ElementsAre(0, 1));
  Night night;
  for (const int block : {1, 3}) {
    night.trials.push_back(trial_at(1, 4, block, 100 + 0.1 * block));
    night.trials.push_back(trial_at(2, 4, block, 101));
  }
  for (const int block : {2, 4}) {
    night.trials.push_back(trial_at(3, 4, block, 121));
    for (int i = 0; i < 2; ++i) night.trials.push_back(trial_at(4, 4, block, 120 + 0.1 * i + 0.05 * block));
  }
  const Summary summary = night.summary();
  EXPECT_FALSE(summary.scenarios[0].gain_of_best) << summary.scenarios[0].gain_of_best->value;
  EXPECT_THAT(answer_sentences(summary).at(0),
              HasSubstr("Some points have no block in common, nor through others"));
}

ComparedResult compared(const char* file, Night& night) {
  ComparedResult result;
  result.file = file;
  result.plan_hash = "p";
  result.summary = night.summary();
  result.summary.experiment.energy_source = "system";
  result.trials = night.trials;
  return result;
}

// Pairs of nights between which nothing changed: how often the change of one point's energy is told with an interval, and that holds it; and in
// how many pairs something is called beyond the noise.
struct NightsCompared {
  int known = 0, covered = 0, alarms = 0;
  void add(const ComparedResult& before, ComparedResult after, const std::string& of_point) {
    for (TrialRow& trial : after.trials) trial.started_at = "later";
    const Comparison c = compare(before, after);
    bool alarm = false;
    for (const ComparedPoint& point : c.scenarios.at(0).points) {
      alarm = alarm || point.energy.beyond_noise;
      if (point.point != of_point || !point.energy.change || !point.energy.change->low) continue;
      ++known;
      covered += *point.energy.change->low <= 0 && *point.energy.change->high >= 0 ? 1 : 0;
    }
    alarms += alarm ? 1 : 0;
  }
};

// Two nights of one machine on which a point scatters more than the others: it has not changed.
TEST(Compare, APointThatScattersMoreThanTheOthersIsNotCalledChanged) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (const auto& [blocks, noisier] :
       {std::pair(3, 1.0), std::pair(5, 3.0), std::pair(3, 5.0), std::pair(5, 10.0)}) {
    constexpr int settings = 20;
    const int pairs = nights_of(40, 200);
    NightsCompared counted;
    const auto night = [&, blocks = blocks, noisier = noisier](const char* file) {
      Night one;
      for (int block = 1; block <= blocks; ++block) {
        const double level = 1 + 0.01 * normal(random);
        for (int at = 1; at <= settings; ++at) {
          for (int i = 0; i < (at == settings ? 2 : 1); ++i)
            one.trials.push_back(trial_at(
                at, settings, block, 100 * level * (1 + 0.005 * (at == 7 ? noisier : 1) * normal(random))));
        }
      }
      return compared(file, one);
    };
    for (int i = 0; i < pairs; ++i) {
      counted.add(night("a.sqlite"), night("b.sqlite"), "w clock=07");
    }
    std::printf(
        "compare: %d blocks, one point %g times as noisy: alarms in %d of %d, its interval holds in %d of "
        "%d\n",
        blocks, noisier, counted.alarms, pairs, counted.covered, counted.known);
    EXPECT_LE(counted.alarms, 0.05 * pairs + 3 * std::sqrt(0.05 * 0.95 * pairs))
        << blocks << " blocks, " << noisier;
    EXPECT_GE(counted.covered, at_least(0.95, counted.known)) << blocks << " blocks, " << noisier;
  }
}

// What a night's meter may be off by in all trials of the reference alike, as where a gauge's one reading is of a short region: two nights of the same
// machine differ by that in each point's ratio to it. It was left out.
TEST(Compare, WhatTheSensorsAddToTheReferenceIsInEachChange) {
  std::mt19937_64 random(29);
  std::normal_distribution<double> normal;
  constexpr double half_width = 0.04, sd = half_width / 1.96;
  const int pairs = nights_of(40, 400);
  NightsCompared counted;
  const auto night = [&](const char* file, double off) {
    Night one;
    for (int block = 1; block <= 5; ++block) {
      for (const int at : {1, 2, 3, 3}) {
        TrialRow& trial = one.trials.emplace_back(
            trial_at(at, 3, block, (70 + 10 * at) * (1 + 0.002 * normal(random)) * (at == 3 ? off : 1)));
        trial.energy_half_width_j = (at == 3 ? half_width : 1e-6) * *trial.energy_j;
        trial.energy_systematic_j = *trial.energy_half_width_j;
      }
    }
    return compared(file, one);
  };
  for (int i = 0; i < pairs; ++i) {
    const ComparedResult before = night("a.sqlite", 1 + sd * normal(random));
    counted.add(before, night("b.sqlite", 1 + sd * normal(random)), "w clock=01");
  }
  ASSERT_EQ(counted.known, pairs);
  EXPECT_GE(counted.covered, at_least(0.95, pairs));
  EXPECT_LE(counted.alarms, pairs - at_least(0.95, pairs));
}

// Nights of one machine in which a few trials did most of the work, the same amounts at all settings or by chance: what so few tell of the scatter is
// in each night's savings, and so in what is said of two nights, and of one that is looked at again.
TEST(Compare, ChangesHoldWhereAFewTrialsDidMostOfTheWork) {
  std::mt19937_64 random(20261201);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  std::normal_distribution<double> normal;
  const int pairs = nights_of(60, 400);
  NightsCompared counted;
  int rechecked = 0, changed = 0;
  for (int i = 0; i < pairs; ++i) {
    const double noise = between(0.01, 0.1), spread = between(0.5, 2), larger_by = between(1.3, 3);
    const bool by_block = i % 2 == 0;
    const auto night = [&](int blocks) {
      Night one;
      one.experiment.objective.minimise = Objective::energy;
      one.experiment.objective.per = "correct";
      std::vector<int> order(static_cast<std::size_t>(blocks));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (int block = 1; block <= blocks; ++block) {
        for (const int at : {1, 2, 3, 3}) {
          const double units =
              100 * (by_block ? std::pow(larger_by, order[static_cast<std::size_t>(block - 1)])
                              : std::exp(spread * normal(random)));
          TrialRow& trial = one.trials.emplace_back(
              trial_at(at, 3, block, (70 + 10 * at) * units * std::exp(noise * normal(random)), units));
          trial.units = units;
          trial.energy_per_unit_j = trial.objective_value = *trial.energy_j / units;
          trial.time_per_unit_s = 1;
        }
      }
      return one;
    };
    const auto taken_up = [&](const char* file, Night one) {
      ComparedResult result = compared(file, one);
      set_work_of_totals(result.trials, result.summary.experiment);
      return result;
    };
    Night first = night(3 + static_cast<int>(random() % 8)),
          second = night(3 + static_cast<int>(random() % 8));
    const ComparedResult before = taken_up("a.sqlite", first);
    counted.add(before, taken_up("b.sqlite", second), "w clock=01");
    Night again = night(5);
    again.summary();
    for (const RecheckRow& row : judge_recheck(before.summary, first.trials, again.trials)) {
      ++rechecked;
      changed += row.verdict == has_changed ? 1 : 0;
    }
  }
  std::printf(
      "compare, most of the work in a few trials: intervals hold in %d of %d, alarms in %d of %d; recheck: "
      "%d of %d changed\n",
      counted.covered, counted.known, counted.alarms, pairs, changed, rechecked);
  EXPECT_GE(counted.covered, at_least(0.95, counted.known));
  EXPECT_LE(counted.alarms, pairs - at_least(0.95, pairs));
  EXPECT_LE(changed, rechecked - at_least(0.99, rechecked));
}

// Three nights a side whose former best costs more by other amounts, and whose meters are known otherwise: what is told is of all of them.
TEST(Comparison, OfSeveralNightsTheirOrderDecidesNothing) {
  const auto night = [](const char* file, double best, double shift, double sensor) {
    Night one;
    for (int block = 1; block <= 4; ++block) {
      const double level = 1 + 0.01 * shift + 0.001 * block;
      one.trials.push_back(trial_at(1, 3, block, best * level));
      one.trials.push_back(trial_at(2, 3, block, 80 * level));
      for (int i = 0; i < 2; ++i) one.trials.push_back(trial_at(3, 3, block, 100 * level));
    }
    for (TrialRow& trial : one.trials) {
      trial.energy_half_width_j = sensor * *trial.energy_j;
      trial.energy_systematic_j = *trial.energy_half_width_j;
      trial.started_at = file;
    }
    return compared(file, one);
  };
  std::vector<ComparedResult> before{night("a", 70, 0, 0.01), night("b", 71, 1, 0.02),
                                     night("c", 72, 2, 0.03)},
      after{night("d", 110, 0, 0.01), night("e", 120, 1, 0.02), night("f", 130, 2, 0.04)};
  std::optional<Comparison> first;
  for (int order = 0; order < 6; ++order) {
    std::rotate(before.begin(), before.begin() + order % 2, before.end());
    std::next_permutation(after.begin(), after.end(),
                          [](const auto& a, const auto& b) { return a.file < b.file; });
    const Comparison now = compare(before, after);
    const ComparedScenario& scenario = now.scenarios.at(0);
    ASSERT_TRUE(scenario.cost_of_old_best && scenario.cost_of_old_best->low);
    EXPECT_NEAR(scenario.cost_of_old_best->value, std::cbrt(110.0 * 120 * 130) / 80 - 1, 1e-9);
    EXPECT_EQ(scenario.cost_of_old_best->pairs, 3);
    if (!first) {
      first = now;
      continue;
    }
    const ComparedScenario& other = first->scenarios.at(0);
    EXPECT_NEAR(*scenario.cost_of_old_best->low, *other.cost_of_old_best->low, 1e-9);
    EXPECT_NEAR(*scenario.cost_of_old_best->high, *other.cost_of_old_best->high, 1e-9);
    for (std::size_t i = 0; i < scenario.points.size(); ++i) {
      ASSERT_TRUE(scenario.points[i].energy.change && scenario.points[i].energy.change->low);
      EXPECT_NEAR(*scenario.points[i].energy.change->low, *other.points[i].energy.change->low, 1e-9) << i;
      EXPECT_NEAR(*scenario.points[i].energy.change->high, *other.points[i].energy.change->high, 1e-9) << i;
    }
  }
}

// ---------------------------------------------------------------- what is said in words

TEST(Words, WhereNoOtherPointCountsNoneIsCalledWorse) {
  Night night;
  for (int block = 1; block <= 3; ++block) {
    for (int at = 1; at <= 3; ++at) {
      night.trials.push_back(trial_at(at, 3, block, 100 + 0.1 * block));
      if (at == 3) continue;
      night.trials.back().verdict = "exited";
      night.trials.back().objective_value.reset();
    }
    night.trials.push_back(trial_at(3, 3, block, 100.2));
  }
  const auto sentences = answer_sentences(night.summary());
  EXPECT_THAT(sentences.at(0),
              HasSubstr(" No other point counts. Of 2 other points too little is known to say."));
  EXPECT_THAT(sentences.at(0), Not(HasSubstr("is worse")));
}

// `exclude` took settings away: each line says what it is over, and one of two values none.
TEST(Words, EachCurveSaysWhatItIsOver) {
  Night night;
  const auto add = [&](int at, const char* batch, int block, double joules) {
    TrialRow trial = trial_at(at, 4, block, joules);
    trial.settings.push_back({"batch", batch, {}});
    trial.point += std::string(" batch=") + batch;
    trial.is_reference = at == 4 && std::string(batch) == "1";
    night.trials.push_back(trial);
  };
  for (int block = 1; block <= 3; ++block) {
    for (int at = 1; at <= 4; ++at) add(at, "1", block, 100 + at + 0.1 * block);
    for (int at = 2; at <= 4; ++at) add(at, "2", block, 90 + at + 0.1 * block);
    for (int at = 3; at <= 4; ++at) add(at, "3", block, 80 + at + 0.1 * block);
  }
  const std::string shape = sparkline_table(night.summary().scenarios[0]);
  EXPECT_THAT(shape, HasSubstr("Over clock; 2 of 3 settings of the others:\n"));
  EXPECT_THAT(shape, HasSubstr("batch = 2, from 2 to 4\n"));
  EXPECT_THAT(shape, HasSubstr("batch = 1, from 1 to 4\n"));
}

// A night grows on another day, on which all draws 0.6 of it: means of points that ran on different days do not compare.
TEST(Balance, TheShapeOverAnAxisHasTheBlocksLevelTakenOut) {
  Night night;
  for (int block = 1; block <= 6; ++block) {
    const double level = block <= 3 ? 1 : 0.6;
    for (const auto& [at, joules] :
         {std::pair(1, 75.0), std::pair(2, 90.0), std::pair(4, 100.0), std::pair(4, 100.0)}) {
      if (at == 2 && block <= 3) continue;
      if (at == 1 && block > 3) continue;
      night.trials.push_back(trial_at(at, 4, block, level * joules * (1 + 0.001 * block), 1.0 + 0.01 * at));
    }
  }
  const Summary summary = night.summary();
  ASSERT_FALSE(summary.scenarios[0].balanced);
  const auto& points = summary.scenarios[0].points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_LT(points[1].energy->mean, points[0].energy->mean);  // of other days
  EXPECT_NEAR(*points[1].energy_level / *points[2].energy_level, 0.9, 0.01);
  EXPECT_NEAR(*points[0].energy_level / *points[2].energy_level, 0.75, 0.01);
  const std::string shape = sparkline_table(summary.scenarios[0]);
  EXPECT_THAT(shape, HasSubstr("with the blocks' level taken out"));
  EXPECT_THAT(shape, HasSubstr("▁▅█"));
}

TEST(Words, TheTimeBesideWhatAUnitCostsIsAUnits) {
  Night night;
  night.experiment.objective.minimise = Objective::time;
  night.experiment.objective.per = "samples";
  for (int block = 1; block <= 3; ++block) {
    for (const int at : {1, 2, 2}) {
      TrialRow trial = trial_at(at, 2, block, 100, at == 1 ? 4 : 5);
      trial.units = at == 1 ? 200 : 100;
      trial.time_per_unit_s = *trial.time_s / *trial.units;
      trial.energy_per_unit_j = *trial.energy_j / *trial.units;
      trial.objective_value = trial.time_per_unit_s;
      night.trials.push_back(trial);
    }
  }
  const std::string said = join(answer_sentences(night.summary()), " ");
  EXPECT_THAT(said, HasSubstr("in 20.0")) << said;  // ms a sample; the run took 4 s
  EXPECT_THAT(said, Not(HasSubstr("in 4.0"))) << said;
}

// With one setting beside the reference nothing was chosen: what is said of it is what its own row says.
TEST(Words, OfOneSettingNothingIsCorrected) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  Night night;
  for (int block = 1; block <= 3; ++block) {
    for (const int at : {1, 2, 2})
      night.trials.push_back(trial_at(at, 2, block, (at == 1 ? 80 : 100) * (1 + 0.01 * normal(random)), 1));
  }
  const Summary summary = night.summary();
  const ScenarioSummary& scenario = summary.scenarios[0];
  EXPECT_FALSE(scenario.gain_corrected);
  ASSERT_TRUE(scenario.gain_of_best && scenario.points[0].saving);
  EXPECT_EQ(scenario.gain_of_best->low, scenario.points[0].saving->low);
  EXPECT_EQ(scenario.gain_of_best->high, scenario.points[0].saving->high);
}

// ---------------------------------------------------------------- a meter beside on-board sensors

struct Metered {
  Night night;
  std::vector<Channel> channels;
  std::vector<ChannelEnergies> energies;
};
// The wall draws 20 W and 1.25 times what the package draws; `noise`: of the package's watts, a share; `of_sensors`: of what its sensors tell of
// them.
Metered metered(int blocks, double noise, std::mt19937_64& random,
                const std::vector<std::pair<double, double>>& settings, double of_sensors = 0) {
  std::normal_distribution<double> normal;
  Metered metered;
  for (const auto& [name, domain] :
       {std::pair("rapl:package-0", "package-0"), std::pair("wall:power", "system")}) {
    Channel channel;
    channel.name = name;
    channel.unit = channel.domain == "system" ? "W" : "J";
    channel.domain = domain;
    channel.unit = channel.domain == "system" ? "W" : "J";
    channel.kind = channel.unit == "J" ? ChannelKind::counter : ChannelKind::gauge;
    metered.channels.push_back(channel);
  }
  metered.night.experiment.energy_source = "system";
  const auto of = static_cast<int>(settings.size());
  std::int64_t id = 0;
  for (int block = 1; block <= blocks; ++block) {
    // The wall's own offset drifts from block to block.
    const double offset = 20 + 0.3 * normal(random);
    for (int at = 1; at <= of; ++at) {
      const auto [watts, seconds] = settings[static_cast<std::size_t>(at - 1)];
      for (int i = 0; i < (at == of ? 2 : 1); ++i) {
        const double theirs = watts * (1 + noise * normal(random)), meters = offset + 1.25 * theirs;
        metered.night.trials.push_back(trial_at(at, of, block, meters * seconds, seconds));
        metered.energies.push_back({++id,
                                    block,
                                    TrialRole::point,
                                    true,
                                    seconds,
                                    {{"rapl:package-0", theirs * seconds * (1 + of_sensors * normal(random))},
                                     {"wall:power", meters * seconds}}});
      }
    }
  }
  metered.night.summary();
  // Idle windows have ids of their own.
  for (int block = 1; block <= blocks; ++block) {
    const double theirs = 5 * (1 + noise * normal(random));
    metered.energies.push_back({1000 + block,
                                block,
                                TrialRole::idle_before,
                                true,
                                10,
                                {{"rapl:package-0", 10 * theirs * (1 + of_sensors * normal(random))},
                                 {"wall:power", 10 * (20 + 1.25 * theirs)}}});
  }
  for (ChannelEnergies& one : metered.energies) {
    for (const auto& [name, joules] : one.joules) one.systematic_j[name] = 0;
  }
  return metered;
}

TEST(AgainstMeter, GainAndOffsetLieInTheirIntervals) {
  std::mt19937_64 random(20261125);
  int gains = 0, offsets = 0;
  const int nights = nights_of(60, 600);
  for (int i = 0; i < nights; ++i) {
    Metered one = metered(3 + i % 4, 0.02, random, {{15, 2}, {25, 1.4}, {40, 1.1}, {60, 1}});
    const auto against = against_meter(one.night.summary(), one.channels, one.energies, one.night.trials);
    ASSERT_TRUE(against);
    ASSERT_EQ(against->fits.size(), 1U);
    const MeterFit& fit = against->fits[0];
    ASSERT_TRUE(fit.gain && fit.gain->half_width);
    gains += std::abs(fit.gain->mean - 1.25) <= *fit.gain->half_width ? 1 : 0;
    offsets += std::abs(fit.offset_w->mean - 20) <= *fit.offset_w->half_width ? 1 : 0;
  }
  EXPECT_GE(gains, at_least(0.95, nights));
  EXPECT_GE(offsets, at_least(0.95, nights));
}

// What the meter reads too low in all trials alike (its windows lose something at the edges, it cuts off at a whole watt) no block shows.
TEST(AgainstMeter, WhatTheMeterIsOffByInAllTrialsIsInTheIntervals) {
  std::mt19937_64 random(20261130);
  const int nights = nights_of(60, 600);
  int gains = 0, offsets = 0, shares = 0, without = 0;
  for (int i = 0; i < nights; ++i) {
    Metered one = metered(4 + i % 3, 0.001, random, {{15, 2}, {25, 1.4}, {40, 1.1}, {60, 1}});
    std::map<int, std::pair<double, double>> truth;  // by block, of trials
    for (ChannelEnergies& of : one.energies) {
      double &meters = of.joules.at("wall:power"), most = 0.01 * meters + 0.5 * of.seconds;
      if (of.role == TrialRole::point) {
        truth[of.block].first += of.joules.at("rapl:package-0");
        truth[of.block].second += meters;
      }
      of.systematic_j = {{"rapl:package-0", 0}, {"wall:power", most}};
      // All of it where the power is high, half of it where it is low.
      meters -= (of.role == TrialRole::point && of.seconds < 1.2 ? 1 : 0.5) * most;
    }
    double share = 0;
    for (const auto& [block, both] : truth)
      share += both.first / both.second / static_cast<double>(truth.size());
    const auto against = against_meter(one.night.summary(), one.channels, one.energies, one.night.trials);
    ASSERT_TRUE(against && against->fits.size() == 1);
    const MeterFit& fit = against->fits[0];
    ASSERT_TRUE(fit.own_parts_known && fit.gain && fit.gain->half_width && fit.share &&
                fit.share->half_width);
    const auto holds = [](const Estimate& value, double true_value) {
      return std::abs(value.mean - true_value) <= *value.half_width;
    };
    gains += holds(*fit.gain, 1.25) ? 1 : 0;
    offsets += holds(*fit.offset_w, 20) ? 1 : 0;
    shares += holds(*fit.share, share) ? 1 : 0;
    const double of_blocks = *fit.gain->half_width - fit.gain->systematic_half_width;
    without += std::abs(fit.gain->mean - 1.25) <= of_blocks ? 1 : 0;
  }
  EXPECT_GE(gains, at_least(0.95, nights));
  EXPECT_GE(offsets, at_least(0.95, nights));
  EXPECT_GE(shares, at_least(0.95, nights));
  EXPECT_LT(without, nights / 2) << "then this test would tell nothing";
}

TEST(AgainstMeter, WhereItIsNotKnownWhatTheyAreOffByThatIsSaid) {
  std::mt19937_64 random(20261131);
  Metered one = metered(4, 0.001, random, {{15, 2}, {25, 1.4}, {40, 1.1}, {60, 1}});
  for (ChannelEnergies& of : one.energies) of.systematic_j = {{"rapl:package-0", 0}};
  const auto against = against_meter(one.night.summary(), one.channels, one.energies, one.night.trials);
  ASSERT_TRUE(against);
  EXPECT_FALSE(against->fits.at(0).own_parts_known);
  EXPECT_THAT(
      fit_lines(*against).at(0),
      testing::EndsWith(
          "; by what the meter or the sensors are off by themselves is not known, and in none of this"));
}

// A second block that has hardly begun takes nothing from what the first one tells.
TEST(AgainstMeter, OfOneBlockAndAPieceTheLineIsOfTheOne) {
  std::mt19937_64 random(20261129);
  Metered one = metered(2, 0.0005, random, {{15, 2}, {25, 1.4}, {40, 1.1}, {60, 1}});
  std::erase_if(one.energies, [](const ChannelEnergies& of) {
    return of.role == TrialRole::idle_before || (of.block == 2 && of.trial > 6);
  });
  const auto against = against_meter(one.night.summary(), one.channels, one.energies, one.night.trials);
  ASSERT_TRUE(against && against->fits.size() == 1 && against->fits[0].gain);
  const MeterFit& fit = against->fits[0];
  EXPECT_NEAR(fit.gain->mean, 1.25, 0.01);
  EXPECT_FALSE(fit.gain->half_width);
  EXPECT_EQ(fit.trials, 6);
  EXPECT_THAT(fit_lines(*against).at(0), HasSubstr("times theirs (5 trials and 0 idle windows, in blocks; "));
}

// Sensors that scatter over a narrow range: a line by least squares is too flat in each block, and more blocks hold it the worse.
TEST(AgainstMeter, TheSensorsOwnScatterDoesNotFlattenTheLine) {
  std::mt19937_64 random(20261128);
  int gains = 0;
  double sum = 0;
  const int nights = nights_of(120, 600);
  for (int i = 0; i < nights; ++i) {
    Metered one =
        metered(10 + i % 4, 0.002, random, {{42, 2}, {45, 1.7}, {48, 1.4}, {52, 1.1}, {56, 1}}, 0.04);
    std::erase_if(one.energies, [](const ChannelEnergies& of) { return of.role == TrialRole::idle_before; });
    const auto against = against_meter(one.night.summary(), one.channels, one.energies, one.night.trials);
    ASSERT_TRUE(against && against->fits.size() == 1 && against->fits[0].gain &&
                against->fits[0].gain->half_width);
    const Estimate& gain = *against->fits[0].gain;
    gains += std::abs(gain.mean - 1.25) <= *gain.half_width ? 1 : 0;
    sum += gain.mean;
  }
  EXPECT_GE(gains, at_least(0.95, nights));
  EXPECT_NEAR(sum / nights, 1.25, 0.04);  // by least squares: 1.17
}

// What the board does not see, it does not save: its own least lies at a lower clock than the machine's.
TEST(AgainstMeter, SaysWhetherTheSensorsWouldHaveNamedAnotherSetting) {
  std::mt19937_64 random(1);
  // Package: 30, 28, 33.75 J; wall: 77.5, 63, 62.19 J.
  Metered other = metered(5, 0.002, random, {{15, 2}, {20, 1.4}, {33.75, 1}, {60, 0.9}});
  Summary summary = other.night.summary();
  summary.against_meter = against_meter(summary, other.channels, other.energies, other.night.trials);
  ASSERT_TRUE(summary.against_meter);
  ASSERT_EQ(summary.against_meter->answers.size(), 1U);
  EXPECT_FALSE(summary.against_meter->answers[0].same);
  const auto sentences = meter_sentences(*summary.against_meter);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_THAT(
      sentences[0],
      testing::StartsWith(
          "w: by package-0 alone, without the meter, clock = 2 would be named; by the meter its own is "));
  const auto lines = fit_lines(*summary.against_meter);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::MatchesRegex(
                            "package-0 against the meter of system: [0-9.]+ ± [0-9.]+ % of its joules over "
                            "25 trials; its watts are [0-9.]+ ± [0-9.]+ W \\+ 1\\.2[0-9]+ ± "
                            "[0-9.]+ times theirs \\(25 trials and 5 idle windows, in blocks; a single one "
                            "is up to [0-9.]+ % off that\\)"));
  // What it gains is against that setting, among those that hold the limits.
  const auto answer_of = [](Metered& metered, std::vector<ConstraintSpec> limits) {
    metered.night.experiment.objective.constraints = std::move(limits);
    const Summary asked = metered.night.summary();
    return against_meter(asked, metered.channels, metered.energies, metered.night.trials)->answers.at(0);
  };
  // Package: 21, 29.75, 30.25, 60, 42 J; wall: 54.25, 60.99, 59.81, 95, 72.5 J. The first breaks the limit, and would hold it against the
  // second.
  Metered limited = metered(5, 0.0005, random, {{15, 1.4}, {25, 1.19}, {27.5, 1.1}, {60, 1.0}, {42, 1.0}});
  const MeterAnswer within = answer_of(limited, {{.name = "slowdown", .mark = {}, .limit = 0.2, .unit = {}}});
  ASSERT_FALSE(within.same);
  EXPECT_EQ(within.by_sensors[0].text, "2");
  EXPECT_THAT(within.breaks, testing::IsEmpty());
  ASSERT_TRUE(within.gain);
  EXPECT_NEAR(within.gain->value, 1 - 59.81 / 60.99, 0.005);
  // 50 W by the sensors are 82.5 W by the meter.
  Metered powerful = metered(5, 0.0005, random, {{15, 2.2}, {50, 0.6}, {70, 1.0}});
  const MeterAnswer broken = answer_of(powerful, {{.name = "power", .mark = {}, .limit = 60, .unit = "W"}});
  EXPECT_EQ(broken.by_sensors[0].text, "2");
  ASSERT_EQ(broken.breaks.size(), 1U);
  EXPECT_THAT(broken.breaks[0], testing::MatchesRegex("power <= 60 W \\(it has 8[0-9.]+ W\\)"));
  EXPECT_FALSE(broken.gain);
  EXPECT_FALSE(broken.told_apart);
  // A plug on one of two power supplies: the package takes more than the machine that holds it.
  Metered half = metered(5, 0.002, random, {{15, 2}, {20, 1.1}, {60, 1}});
  for (ChannelEnergies& one : half.energies) one.joules["wall:power"] *= 0.4;
  const auto impossible =
      against_meter(half.night.summary(), half.channels, half.energies, half.night.trials);
  EXPECT_THAT(warnings_of_meter(*impossible).at(0),
              testing::MatchesRegex(
                  "WARNING: package-0 took 1[0-9][0-9].[0-9] % of what the meter of system counted, which "
                  "holds it: one of them is wrong .*"));
  // Where both agree, that is said; one meter alone has nothing to be compared with.
  Metered same = metered(5, 0.002, random, {{15, 2}, {20, 1.1}, {60, 1}});
  const auto agreed = against_meter(same.night.summary(), same.channels, same.energies, same.night.trials);
  EXPECT_THAT(meter_sentences(*agreed),
              ElementsAre("w: by package-0 alone, without the meter, the answer is the same setting"));
  same.channels.erase(same.channels.begin());
  EXPECT_FALSE(against_meter(same.night.summary(), same.channels, same.energies, same.night.trials));
  // Powers that are alike tell no slope.
  Metered flat = metered(3, 0.001, random, {{15, 2}, {15.2, 1}});
  std::erase_if(flat.energies, [](const ChannelEnergies& one) { return one.role == TrialRole::idle_before; });
  const auto alike = against_meter(flat.night.summary(), flat.channels, flat.energies, flat.night.trials);
  ASSERT_TRUE(alike);
  EXPECT_FALSE(alike->fits[0].gain);
  EXPECT_THAT(fit_lines(*alike)[0],
              HasSubstr("; their powers differ too little to tell an offset from a gain"));
}

}  // namespace
}  // namespace dvfs_plan
