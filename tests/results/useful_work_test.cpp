// Works of which what counts is what they did: a trial that did nothing took what it took, wherever trials are looked at.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "results/compare/comparison.hpp"
#include "results/compare/recheck.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/report.hpp"
#include "results/surface/plan_surface.hpp"
#include "results/trial/unequal_work.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FinishedTrial did(int point, int block, double seconds, double units) {
  FinishedTrial one;
  one.point = point;
  one.block = block;
  one.role = TrialRole::point;
  one.counts = true;
  set_work(one, seconds, std::nullopt, 1, units);
  if (units > 0) one.objective = seconds / units;
  return one;
}

TEST(UnequalWork, IsByTheTotalsOfThePoint) {
  // 4 s for 20 units together: 0.2 s each, though half of the trials did none.
  const std::vector<FinishedTrial> history{did(0, 1, 1, 10), did(0, 2, 1, 0),  did(0, 3, 1, 10),
                                           did(0, 4, 1, 0),  did(1, 1, 3, 10), did(1, 2, 5, 10),
                                           did(2, 1, 1, 0)};
  const auto all = by_totals(history, Objective::time);
  double logs = 0;
  for (int i = 0; i < 4; ++i) logs += std::log(*all[static_cast<std::size_t>(i)].work_time_s) / 4;
  EXPECT_NEAR(std::exp(logs), 0.2, 1e-12);
  EXPECT_GT(*all[1].work_time_s, *all[0].work_time_s);
  EXPECT_TRUE(all[1].objective);
  // Where all did the same it is each trial's own; where none did anything it is not known.
  EXPECT_DOUBLE_EQ(*all[4].work_time_s, 0.3);
  EXPECT_DOUBLE_EQ(*all[5].work_time_s, 0.5);
  EXPECT_FALSE(all[6].work_time_s);
}

// As many degrees of freedom as the work is spread over.
TEST(UnequalWork, IntervalsAreWiderWhereAFewDidMostOfIt) {
  const auto wider = [](const std::vector<double>& units) {
    std::vector<UsedForUnits> trials;
    for (const double one : units) trials.push_back({one, one});
    return TotalsRatio::of(trials)->wider();
  };
  EXPECT_NEAR(wider({1, 1, 1, 1, 1, 1}), 1, 1e-9);
  EXPECT_NEAR(wider({3}), 1, 1e-9);
  EXPECT_NEAR(wider({1, 0, 1}), 1, 1e-9) << "who did nothing has no ratio";
  EXPECT_LT(wider({9, 10, 11, 10, 9, 11}), 1.02);
  EXPECT_GT(wider({1, 2, 1, 2, 1, 2}), 1.05);
  EXPECT_GT(wider({200, 500, 12000, 900, 3000, 400}), 3);
  EXPECT_GT(wider({1, 1, 1, 1, 1, 1000}), 100) << "it follows the one, which hardly departs";
  EXPECT_TRUE(std::isfinite(wider({1, 1, 1, 1e-300})));
  EXPECT_TRUE(std::isfinite(wider({1e-9, 1e9})));
}

TEST(UnequalWork, OfASearchIsInItsModelAndNoFailure) {
  const std::vector<FinishedTrial> history{did(0, 1, 1, 10), did(0, 2, 1, 0), did(0, 3, 1, 0),
                                           did(1, 1, 1, 0)};
  EXPECT_EQ(surface_trials(history, Objective::time).size(), 3U);
  EXPECT_THAT(hopeless_points(history, Objective::time), ElementsAre(1));
}

TEST(SurfaceTrials, SensorsOfWhichNothingIsKnownAreAsOfTheOthersOfTheSetting) {
  std::vector<FinishedTrial> history{did(0, 1, 1, 10), did(0, 2, 1, 10), did(0, 3, 1, 10), did(1, 1, 1, 10)};
  history[0].sensor_share = 0.02;
  history[1].sensor_share = 0.04;
  const auto trials = surface_trials(history, Objective::time);
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_NEAR(trials[2].energy_sd, 0.03 / 1.96, 1e-12);
  EXPECT_EQ(trials[3].energy_sd, 0);
}

// A scenario `w` per `ok`, of clocks in GHz; 3 is the reference.
class UsefulWork : public testing::Test {
 protected:
  UsefulWork() {
    experiment_.name = "useful";
    experiment_.objective.minimise = Objective::time;
    experiment_.objective.per = "ok";
    experiment_.drift_limit = 0.01;
  }
  TrialRow& add(std::vector<TrialRow>& into, int ghz, int block, double seconds, double units,
                TrialRole role = TrialRole::point) {
    TrialRow one;
    one.id = static_cast<int>(into.size()) + 1;
    one.workload = one.scenario = "w";
    const std::string clock = fmt::format("{} GHz", ghz);
    one.point = "w cpu.frequency=" + clock;
    one.key = fmt::format("{} #{} {}", one.point, block, one.id);
    one.block = block;
    one.role = role;
    one.is_reference = ghz == 3;
    one.settings = {{"cpu.frequency", clock, ghz * 1e9}};
    one.verdict = "ok";
    one.time_s = seconds;
    one.units = units;
    if (units > 0) one.time_per_unit_s = one.objective_value = seconds / units;
    into.push_back(one);
    return into.back();
  }
  Summary summary(const std::vector<TrialRow>& trials) {
    experiment_.planned_trials = static_cast<int>(trials.size());
    return summarise(experiment_, trials);
  }
  ComparedResult result(const std::string& file, const std::vector<TrialRow>& trials) {
    auto rows = trials;
    set_work_of_totals(rows, experiment_);
    leave_out(rows, bounded_points(rows));
    return {file, "plan", {}, {}, summary(trials), rows};
  }

  ExperimentRow experiment_;
};

TEST_F(UsefulWork, DriftIsOfTheTwoTrialsOwnWork) {
  std::vector<TrialRow> trials;
  for (int block = 1; block <= 3; ++block) {
    add(trials, 3, block, 1, 10, TrialRole::reference_first);
    add(trials, 2, block, 1, 20);
    add(trials, 3, block, 1.2, block == 2 ? 0 : 12, TrialRole::reference_last);
  }
  const auto drift = summary(trials).scenarios.at(0).drift;
  ASSERT_EQ(drift.size(), 3U);
  EXPECT_NEAR(*drift[0].change, 0, 1e-12);  // 0.1 s a unit, both
  EXPECT_FALSE(drift[0].flagged);
  EXPECT_FALSE(drift[1].change);  // of a unit nothing is known at its end
  EXPECT_NEAR(*drift[2].last_value, 0.1, 1e-12);
}

TEST_F(UsefulWork, FreshBlocksWithoutWorkConfirmNothing) {
  std::vector<TrialRow> trials;
  for (int block = 1; block <= 7; ++block) {
    const bool fresh = block > 3;
    const double noise = 1 + 0.002 * (block % 3);
    add(trials, 3, block, 1, fresh ? 0 : 10).confirms = fresh;
    add(trials, 2, block, 0.7 * noise, 10).confirms = fresh;
    if (!fresh) add(trials, 1, block, 0.9 * noise, 10);
  }
  const Summary is = summary(trials);
  EXPECT_FALSE(is.scenarios.at(0).from_fresh_blocks);
  for (const std::string& sentence : answer_sentences(is))
    EXPECT_THAT(sentence, testing::Not(testing::HasSubstr("fresh blocks")));
}

TEST_F(UsefulWork, ARecheckSeesThatHalfOfTheTrialsDoNothingNow) {
  std::vector<TrialRow> trials, again;
  for (int block = 1; block <= 6; ++block) {
    const double noise = 1 + 0.002 * (block % 3);
    add(trials, 3, block, 1, 10);
    add(trials, 2, block, 0.6 * noise, 10);
    add(again, 3, block, 1, 10);
    add(again, 2, block, 0.6 * noise, block % 2 == 0 ? 10 : 0);
  }
  const auto rows = judge_recheck(summary(trials), trials, again);
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_TRUE(rows[0].saving.value && rows[0].change.value);
  // Twice as much a unit.
  EXPECT_NEAR(*rows[0].saving.value, -0.2, 0.05);
  EXPECT_NEAR(*rows[0].change.value, 1, 0.05);
}

// `measure: {at least: ...}` ends a trial at the first run that makes it long enough: fewer runs where they happen to be long. What a run takes is
// what all of them took together. Runs of 10 ms and of 100 ms, and twice as quick ones at the reference.
TEST_F(UsefulWork, ARunTakesWhatAllRunsTookThatCameUntilItWasLongEnough) {
  experiment_.objective.per.clear();
  experiment_.objective.minimise = Objective::energy;
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr double at_least = 0.07, mean = 0.7 * 0.01 + 0.3 * 0.1, watts = 40, idle = 10;
  int nights = 0, time_held = 0, energy_held = 0, above_held = 0, slowdown_held = 0;
  double times = 0;
  const auto run_until_long_enough = [&](std::vector<TrialRow>& trials, int ghz, int block) {
    double all = 0;
    int runs = 0;
    for (; all < at_least; ++runs) all += (uniform(random) < 0.7 ? 0.01 : 0.1) * (ghz == 3 ? 0.5 : 1);
    TrialRow& one = add(trials, ghz, block, all / runs, 1);
    one.units.reset();
    one.time_per_unit_s.reset();
    one.runs = runs;
    one.energy_j = one.objective_value = watts * *one.time_s;
    one.above_idle_j = (watts - idle) * *one.time_s;
    one.mean_power_w = watts;
  };
  for (int night = 0; night < 200; ++night) {
    std::vector<TrialRow> trials;
    for (int block = 1; block <= 24; ++block) {
      for (const int ghz : {3, 1}) run_until_long_enough(trials, ghz, block);
    }
    const ScenarioSummary is = summary(trials).scenarios.at(0);
    for (const PointSummary& point : is.points) {
      if (point.is_reference) continue;
      ++nights;
      const auto holds = [](const std::optional<Estimate>& e, double truth) {
        return std::abs(e.value().mean - truth) <= e->half_width.value() ? 1 : 0;
      };
      times += point.time->mean / mean;
      time_held += holds(point.time, mean);
      energy_held += holds(point.energy, watts * mean);
      above_held += holds(point.above_idle, (watts - idle) * mean);
      EXPECT_NEAR(point.objective->mean, point.energy->mean, 1e-9 * point.energy->mean);
      slowdown_held += point.slowdown->low <= 1.0 && point.slowdown->high >= 1.0 ? 1 : 0;
    }
  }
  ASSERT_EQ(nights, 200);
  // The mean of each trial's own time of a run is 1.5 times as much, and its interval holds none.
  EXPECT_NEAR(times / nights, 1, 0.03);
  EXPECT_GE(time_held, 180);
  EXPECT_GE(energy_held, 180);
  EXPECT_GE(above_held, 180);
  EXPECT_GE(slowdown_held, 180);
}

// Under a gauge of 100 ms trials of 20 ms are run again until one is long: the mean of those is not what the setting takes.
TEST_F(UsefulWork, OfTrialsThatWereChosenByTheirLengthNoMeanIsMade) {
  experiment_.objective.per.clear();
  experiment_.objective.minimise = Objective::energy;
  std::vector<TrialRow> trials;
  const auto one = [&](int ghz, int block, double seconds, const char* verdict) {
    TrialRow& trial = add(trials, ghz, block, seconds, 1);
    trial.units.reset();
    trial.time_per_unit_s.reset();
    trial.verdict = verdict;
    trial.objective_value.reset();
    if (trial.counts()) trial.energy_j = trial.objective_value = 60 * seconds;
  };
  for (int block = 1; block <= 4; ++block) {
    one(3, block, 0.45 + 0.001 * block, "ok");
    one(2, block, 0.44 + 0.002 * block, "ok");
    if (block == 2) one(1, block, 0.02, "sensor_gap");
    one(1, block, 0.6 - 0.001 * block, "ok");
  }
  // A reader that was held up: as long as the others.
  one(2, 5, 0.443, "sensor_gap");
  const Summary is = summary(trials);
  for (const PointSummary& point : is.scenarios.at(0).points) {
    const bool chosen = point.point == "w cpu.frequency=1 GHz";
    EXPECT_EQ(point.objective.has_value(), !chosen) << point.point;
    EXPECT_EQ(point.counted, chosen ? 0 : 4) << point.point;
  }
  EXPECT_THAT(
      is.warnings,
      ElementsAre(
          "w: cpu.frequency = 1 GHz: 1 trial of about 0.02 s was too short for the sensor, and it "
          "told 4 that lasted 0.598 s: the longer ones alone are not what the setting takes, and "
          "none of them counts; have the command run again within a trial (measure: {at least: ..})"));
  for (const std::string& sentence : answer_sentences(is))
    EXPECT_THAT(sentence, testing::Not(testing::HasSubstr("Every other point is")));
}

// Where time is asked for all of them count, and of the longer ones' energy nothing is stated.
TEST_F(UsefulWork, WhereNoEnergyIsAskedForTheShortOnesCount) {
  experiment_.objective.per.clear();
  std::vector<TrialRow> trials;
  const auto one = [&](int ghz, int block, double seconds, bool told) {
    TrialRow& trial = add(trials, ghz, block, seconds, 1);
    trial.units.reset();
    trial.time_per_unit_s.reset();
    trial.objective_value = seconds;
    if (!told) return;
    trial.energy_j = 60 * seconds;
    trial.mean_power_w = 60;
  };
  for (int block = 1; block <= 4; ++block) {
    one(3, block, 0.45 + 0.001 * block, true);
    one(1, block, block % 2 == 0 ? 0.02 : 0.6, block % 2 != 0);
  }
  const Summary is = summary(trials);
  for (const PointSummary& point : is.scenarios.at(0).points) {
    const bool chosen = point.point == "w cpu.frequency=1 GHz";
    EXPECT_EQ(point.counted, 4);
    EXPECT_EQ(point.energy.has_value(), !chosen);
    EXPECT_EQ(point.power.has_value(), !chosen);
    if (chosen) {
      EXPECT_NEAR(point.time->mean, 0.31, 1e-9);
      EXPECT_FALSE(point.saving);
    }
  }
  EXPECT_THAT(is.warnings,
              ElementsAre(testing::HasSubstr("and no energy is stated of it; have the command")));
}

TEST_F(UsefulWork, WhatMissedItsTargetIsComparedByNoMeanAndTold) {
  experiment_.objective.per.clear();
  std::vector<TrialRow> before, after;
  for (int block = 1; block <= 3; ++block) {
    for (auto* night : {&before, &after}) {
      const double noise = 1 + 0.001 * block;
      for (const int ghz : {3, 2, 1}) {
        TrialRow& one = add(*night, ghz, block, ghz * noise, 1);
        one.objective_value = one.time_s;
        one.units.reset();
      }
    }
  }
  for (TrialRow& one : after) {
    if (one.point != "w cpu.frequency=2 GHz") continue;
    one.time_s = one.objective_value = 1.4;
    if (one.block == 3) {
      one.verdict = "censored";
      one.more_than = 5;
      one.objective_value.reset();
    }
  }
  const Comparison comparison = compare(result("a", before), result("b", after));
  for (const ComparedPoint& point : comparison.scenarios.at(0).points) {
    if (point.point == "w cpu.frequency=3 GHz") continue;
    EXPECT_EQ(point.time.change.has_value(), point.point == "w cpu.frequency=1 GHz") << point.point;
  }
  const auto missing = failing_more_often(comparison);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(
      missing[0].text,
      "w, cpu.frequency = 2 GHz: of its 3 trials after, 1 did not reach the target, of 3 before none; what "
      "it takes is known from below alone");
  EXPECT_FALSE(missing[0].beyond_chance);  // Fisher: 1 of 2
  EXPECT_TRUE(failing_more_often(compare(result("a", before), result("b", before))).empty());
}

}  // namespace
}  // namespace dvfs_plan
