// What reports and pages are made from: samples that lose no peak, what a slowdown buys, changes beyond the
// noise.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "results/compare/comparison.hpp"
#include "results/compare/comparison_json.hpp"
#include "results/compare/failures.hpp"
#include "results/compare/worse.hpp"
#include "results/figures/figures.hpp"
#include "results/page/base64.hpp"
#include "results/page/decimate.hpp"
#include "results/report/sparklines.hpp"
#include "results/report/trade_offs.hpp"
#include "results/statistics/between_nights.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

TEST(Decimate, KeepsEveryPeakOfItsStretch) {
  std::vector<TraceSample> samples;
  for (int i = 0; i < 100'000; ++i) samples.push_back({i * 0.01, 300 + std::sin(i * 0.001)});
  samples[43'210].value = 900;  // one reading of 10 ms in 1000 s
  samples[77'777].value = 12;
  const auto kept = min_max_decimated(samples, 400);
  EXPECT_LE(kept.size(), 400u);
  const auto has = [&](double value) {
    return std::any_of(kept.begin(), kept.end(), [&](const TraceSample& s) { return s.value == value; });
  };
  EXPECT_TRUE(has(900));
  EXPECT_TRUE(has(12));
  EXPECT_EQ(kept.front().time, samples.front().time);
  EXPECT_EQ(kept.back().time, samples.back().time);
  EXPECT_TRUE(
      std::is_sorted(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.time < b.time; }));
}

TEST(Decimate, KeepsThatSomethingIsUnknown) {
  std::vector<TraceSample> samples;
  for (int i = 0; i < 10'000; ++i) samples.push_back({i * 0.01, i > 5000 && i < 5100 ? std::nan("") : 1.0});
  const auto kept = min_max_decimated(samples, 100);
  EXPECT_TRUE(
      std::any_of(kept.begin(), kept.end(), [](const TraceSample& s) { return std::isnan(s.value); }));
}

TEST(Decimate, LeavesFewAsTheyAre) {
  const std::vector<TraceSample> samples{{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(min_max_decimated(samples, 48).size(), 3u);
  EXPECT_TRUE(min_max_decimated({}, 48).empty());
}

TEST(Base64, AsInRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

PointSummary point(const char* key, double slowdown, bool accuracy_holds = true) {
  PointSummary p;
  p.point = key;
  p.slowdown = Change{3, slowdown, slowdown, slowdown};
  p.constraints = {{"accuracy", "accuracy >= 0.7", 0.7, accuracy_holds, true},
                   {"slowdown", "slowdown <= 1 %", slowdown, slowdown <= 0.01, true}};
  return p;
}

TEST(BySlowdown, NamesTheLeastEnergyThatHoldsTheOtherConstraints) {
  std::vector<PointSummary> points{point("ref", 0),
                                   point("a", 0.05),
                                   point("cheap but wrong", 0.06, false),
                                   point("b", 0.15),
                                   point("worse and slower", 0.2),
                                   point("faster", -0.02)};
  points[0].is_reference = true;
  points[0].slowdown.reset();
  const auto optima = least_energy_by_slowdown(points, {100, 90, 10, 70, 95, 98});
  ASSERT_EQ(optima.size(), 3u);
  EXPECT_EQ(optima[0].point, 5u);  // the faster one is within 0 %, and takes less than the reference
  EXPECT_EQ(optima[0].limit, 0);
  EXPECT_EQ(optima[1].point, 1u);
  EXPECT_DOUBLE_EQ(optima[1].limit, 0.05);
  EXPECT_EQ(optima[2].point, 3u);
  const auto usual = at_usual_slowdowns(optima);
  std::vector<std::size_t> named;
  for (const auto& one : usual) named.push_back(one.point);
  EXPECT_THAT(named, ElementsAre(5, 5, 5, 1, 1, 3));  // 0, 1, 2, 5, 10, 20 %
}

TEST(BetweenNights, IntervalByHand) {
  // Errors of variance 0.02^2 known by 10 and 0.04^2 by 20 degrees of freedom, no blocks; four and two
  // values: the variance of the difference is 0.0001 + 0.0008; Satterthwaite 0.0009^2 / (0.0001^2 / 10 +
  // 0.0008^2 / 20) = 24.5; t(24.5, 95 %) = 2.0617.
  const NightError a{0.0004, 10, 0, 1}, b{0.0016, 20, 0, 1};
  const auto change = change_between(std::vector<double>{1, 1, 1, 1}, a, std::vector<double>{1.1, 1.1}, b);
  ASSERT_TRUE(change && change->low);
  EXPECT_NEAR(change->value, 0.1, 1e-12);
  EXPECT_EQ(change->pairs, 2);
  EXPECT_NEAR(std::log1p(*change->high) - std::log(1.1), 2.0617 * 0.03, 1e-4);
  EXPECT_NEAR(std::log(1.1) - std::log1p(*change->low), 2.0617 * 0.03, 1e-4);
  // The sensors' part, of 95 %, as the root of the squares; wider with a higher confidence.
  const NightError none{0, 10, 0, 1};
  const auto sensed =
      change_between(std::vector<double>{1, 1}, none, std::vector<double>{1, 1}, none, 0.9973, 0.03, 0.04);
  EXPECT_NEAR(std::log1p(*sensed->high), 0.05 * 3.0 / 1.96, 2e-4);
}

std::vector<BlockedValue> made_up_night(std::mt19937_64& random, int points, int blocks, double error,
                                        double block_sd) {
  std::normal_distribution<double> normal;
  std::vector<BlockedValue> values;
  for (int b = 0; b < blocks; ++b) {
    const double level = block_sd * normal(random);
    for (int p = 0; p < points; ++p)
      values.push_back({p, b, std::exp(0.1 * p + level + error * normal(random))});
  }
  return values;
}

std::vector<double> of_point(const std::vector<BlockedValue>& values, int point) {
  std::vector<double> mine;
  for (const BlockedValue& value : values) {
    if (value.point == point) mine.push_back(value.value);
  }
  return mine;
}

// Nothing changed: how often anything is called changed, all points together, must stay near the level;
// intervals of one point must cover. With blocks that drift together as without, two against ten blocks too.
TEST(BetweenNights, KeepsItsLevel) {
  std::mt19937_64 random(7);
  constexpr int points = 40, nights = 400;
  for (const auto& [blocks_a, blocks_b, block_sd] :
       {std::tuple{3, 3, 0.0}, {2, 10, 0.0}, {3, 3, 0.005}, {3, 6, 0.02}}) {
    int alarms = 0, covered = 0;
    for (int n = 0; n < nights; ++n) {
      const auto a = made_up_night(random, points, blocks_a, 0.003, block_sd),
                 b = made_up_night(random, points, blocks_b, 0.003, block_sd);
      const auto error_a = night_error(a, points), error_b = night_error(b, points);
      bool alarm = false;
      for (int p = 0; p < points; ++p) {
        const auto strict =
            change_between(of_point(a, p), error_a, of_point(b, p), error_b, 1 - 0.05 / points);
        alarm = alarm || *strict->low > 0 || *strict->high < 0;
        const auto one = change_between(of_point(a, p), error_a, of_point(b, p), error_b);
        covered += *one->low <= 0 && *one->high >= 0 ? 1 : 0;
      }
      alarms += alarm ? 1 : 0;
    }
    EXPECT_LE(alarms / static_cast<double>(nights), 0.085) << blocks_a << " " << blocks_b << " " << block_sd;
    EXPECT_GE(covered / static_cast<double>(nights * points), 0.93)
        << blocks_a << " " << blocks_b << " " << block_sd;
  }
}

// Three blocks are enough to find 2 % among 220 points whose trials scatter by 0.3 %.
TEST(BetweenNights, FindsAChangeWithThreeBlocks) {
  std::mt19937_64 random(7);
  constexpr int points = 220;
  const auto a = made_up_night(random, points, 3, 0.003, 0);
  auto b = made_up_night(random, points, 3, 0.003, 0);
  for (BlockedValue& value : b) value.value *= value.point == 17 ? 1.02 : 1;
  const auto change = change_between(of_point(a, 17), night_error(a, points), of_point(b, 17),
                                     night_error(b, points), 1 - 0.05 / (3 * points));
  EXPECT_GT(*change->low, 0);
}

TEST(BetweenNights, SaysWhatItDoesNotKnow) {
  EXPECT_FALSE(change_between(std::vector<double>{}, {}, std::vector<double>{1.0}, {}));
  EXPECT_FALSE(change_between(std::vector{0.0}, {}, std::vector{1.0}, {}));
  EXPECT_FALSE(night_error(std::vector<BlockedValue>{{0, 1, 5}, {1, 1, 6}}, 2));
  const auto one = change_between(std::vector{10.0}, {}, std::vector{11.0, 11.1}, NightError{0.01, 5, 0, 1});
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->value, 0.105, 0.001);
  EXPECT_FALSE(one->low);
}

TEST(Sparkline, EightHeightsAndADotForTheUnknown) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({10.0, std::nullopt, 20.0}), "▁·█");
  EXPECT_EQ(sparkline({5.0, 5.0}), "");
  EXPECT_EQ(sparkline({}), "");
}

Summary two_clocks(const std::string& scenario) {
  Summary summary;
  ScenarioSummary one;
  one.scenario = scenario;
  for (const double ghz : {1.0, 2.0}) {
    PointSummary p;
    p.point = fmt::format("{} GHz", ghz);
    p.settings = {{"cpu.frequency", p.point, ghz * 1e9}};
    p.work_energy = Estimate{3, 50 + ghz, 50 + ghz, 0.1, 0.1, 0.3, {}};
    p.work_time = Estimate{3, 2 / ghz, 2 / ghz, 0.1, 0.1, 0.1, {}};
    p.on_pareto_front = true;
    one.points.push_back(p);
  }
  one.points[1].is_reference = true;
  one.best = 0;
  summary.scenarios.push_back(one);
  return summary;
}

TEST(Figures, AreScriptsInWhichNoNameIsACommand) {
  const auto both = figures(two_clocks("it's `touch /tmp/x` \"$(id)\""), "out", FigureFormat::svg);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].file, "out-settings.svg");
  EXPECT_EQ(both[1].file, "out-trade-off.svg");
  EXPECT_THAT(both[0].script, HasSubstr("set title 'it''s `touch /tmp/x` \"$(id)\"'\n"));
  EXPECT_THAT(both[0].script, HasSubstr("set xlabel 'cpu.frequency (GHz)'\n"));
  EXPECT_THAT(both[0].script, HasSubstr("$line0 << END\n1 51 0.3\n2 52 0.3\nEND\n"));
}

TrialRow trial(const std::string& point, bool reference, double joules, double time) {
  TrialRow t;
  t.scenario = t.workload = "w";
  t.point = point;
  t.is_reference = reference;
  t.verdict = "ok";
  t.energy_j = t.objective_value = joules;
  t.time_s = time;
  t.mean_power_w = joules / time;
  t.settings = {{"cpu.frequency", point, point == "1 GHz" ? 1e9 : 2e9}};
  return t;
}

ComparedResult night(const char* file, double factor_of_slow, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  ComparedResult result;
  result.file = file;
  result.plan_hash = "p";
  for (int block = 1; block <= 4; ++block) {
    for (const bool slow : {true, false}) {
      TrialRow t = trial(slow ? "1 GHz" : "2 GHz", !slow,
                         (slow ? 50 * factor_of_slow : 70) * (1 + 0.003 * normal(random)), slow ? 2 : 1);
      t.block = block;
      t.id = static_cast<std::int64_t>(result.trials.size()) + 1;
      result.trials.push_back(t);
    }
  }
  ExperimentRow experiment;
  experiment.energy_source = "system";
  experiment.axes = {{"cpu.frequency", "knob"}};
  experiment.planned_trials = 8;
  result.summary = summarise(experiment, result.trials);
  return result;
}

TEST(Compare, FindsTheOnePointThatChanged) {
  const Comparison c = compare(night("a.sqlite", 1, 7), night("b.sqlite", 1.1, 8));
  ASSERT_EQ(c.scenarios.size(), 1u);
  ASSERT_EQ(c.scenarios[0].points.size(), 2u);
  EXPECT_TRUE(c.scenarios[0].points[0].energy.beyond_noise);
  EXPECT_NEAR(c.scenarios[0].points[0].energy.change->value, 0.1, 0.01);
  EXPECT_FALSE(c.scenarios[0].points[1].energy.beyond_noise);
  EXPECT_THAT(comparison_sentences(c).at(0), HasSubstr("energy rose at 1 (most at cpu.frequency = 1 GHz, +"));
  EXPECT_THAT(comparison_sentences(c).at(0), HasSubstr("The best is the same: cpu.frequency = 1 GHz."));
}

// Each night of a side is looked at: joules a sample and joules a run have no mean.
TEST(Compare, NightsOfOneSideAskTheSame) {
  const std::vector before{night("a1.sqlite", 1, 7), night("a2.sqlite", 1, 8)};
  const auto per_sample = [](ComparedResult result) {
    result.summary.experiment.objective.per = "samples";
    for (TrialRow& one : result.trials) one.units = 100;
    result.summary = summarise(result.summary.experiment, result.trials);
    return result;
  };
  ComparedResult other_source = night("b2.sqlite", 1, 10), other_work = other_source;
  other_source.summary.experiment.energy_source = "board";
  other_work.commands = {{"w", "twice"}};
  const ComparedResult first = night("b1.sqlite", 1, 9);
  const Comparison units = compare(before, std::vector{first, per_sample(night("b2.sqlite", 1, 10))});
  EXPECT_FALSE(units.energies_compare);
  EXPECT_THAT(units.scenarios, testing::IsEmpty());
  EXPECT_THAT(
      units.warnings,
      testing::Contains("w: energy and time are per run in b1.sqlite, per sample in b2.sqlite: they do "
                        "not compare"));
  const Comparison source = compare(before, std::vector{first, other_source});
  EXPECT_FALSE(source.energies_compare);
  EXPECT_THAT(
      source.warnings,
      testing::Contains("energy source: 'system' in b1.sqlite, 'board' in b2.sqlite; their energies are "
                        "of different things and do not compare"));
  EXPECT_THAT(compare(before, std::vector{first, other_work}).warnings,
              testing::Contains("the workloads' commands differ: their trials may not be the same work"));
  EXPECT_THAT(compare(before, std::vector{first, night("b2.sqlite", 1, 10)}).warnings, testing::IsEmpty());
  // What they are per is said.
  const Comparison per = compare(per_sample(before[0]), per_sample(first));
  EXPECT_THAT(comparison_sentences(per).at(0), HasSubstr("how energy per sample changed"));
  EXPECT_THAT(terminal_comparison(per, {}), HasSubstr("energy per sample before"));
  EXPECT_THAT(json_comparison(per), HasSubstr("\"per\": \"sample\""));
  EXPECT_THAT(json_comparison(units), testing::Not(HasSubstr("\"per\": \"sample\"")));
}

// What nobody can say is no pass.
TEST(Compare, WhatCannotBeJudgedIsNamed) {
  const auto before = night("a.sqlite", 1, 7);
  EXPECT_THAT(not_judged(compare(before, night("b.sqlite", 1, 8))), testing::IsEmpty());
  ComparedResult other_meter = night("b.sqlite", 1, 8);
  other_meter.summary.experiment.energy_source = "wall";
  EXPECT_THAT(not_judged(compare(before, other_meter)),
              ElementsAre("w: of its energy nothing can be said: the two measured different things"));
  ComparedResult one_block = night("b.sqlite", 1, 8);
  std::erase_if(one_block.trials, [](const TrialRow& trial) { return trial.block > 1; });
  one_block.summary = summarise(one_block.summary.experiment, one_block.trials);
  ComparedResult only_one = night("a.sqlite", 1, 7);
  std::erase_if(only_one.trials, [](const TrialRow& trial) { return trial.block > 1; });
  only_one.summary = summarise(only_one.summary.experiment, only_one.trials);
  EXPECT_THAT(not_judged(compare(only_one, one_block)),
              ElementsAre("w: of its energy nothing can be said: no setting counts beside the reference in "
                          "blocks enough of both sides",
                          "w: of its time nothing can be said: no setting counts beside the reference in "
                          "blocks enough of both sides"));
  ComparedResult fewer = night("b.sqlite", 1, 8);
  const std::string left_out = before.summary.scenarios[0].points[0].point;
  std::erase_if(fewer.trials, [&](const TrialRow& trial) { return trial.point == left_out; });
  fewer.summary = summarise(fewer.summary.experiment, fewer.trials);
  EXPECT_THAT(not_run_after(compare(before, fewer)),
              ElementsAre("w, cpu.frequency = 1 GHz: it was not run after; trials of it counted before"));
}

// Those that crash tell no energy: the others' may be what it was.
// Of its trials at `point` the first `most` end with `verdict`.
ComparedResult failing(ComparedResult night, const std::string& point, int most, const char* verdict) {
  int failed = 0;
  for (TrialRow& one : night.trials) {
    if (one.point != point || failed == most) continue;
    ++failed;
    one.verdict = verdict;
    for (auto* value : {&one.energy_j, &one.objective_value, &one.mean_power_w}) value->reset();
    if (one.verdict != "no_metric") one.time_s.reset();
  }
  night.summary = summarise(night.summary.experiment, night.trials);
  return night;
}

TEST(Compare, ASettingThatFailsMoreOftenIsTold) {
  const ComparedResult before = night("a.sqlite", 1, 7), after = night("b.sqlite", 1, 8);
  const std::string best = before.summary.scenarios[0].points[*before.summary.scenarios[0].best].point;
  const auto told = [&](const ComparedResult& one, const ComparedResult& other) {
    return failing_more_often(compare(one, other));
  };
  EXPECT_TRUE(told(before, after).empty());
  const auto two = told(before, failing(after, best, 2, "exited"));
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].text,
            "w, cpu.frequency = 1 GHz: of its 4 trials after, 2 did not run to their end (2 exited), of 4 "
            "before none; what is told of it is of the others");
  EXPECT_FALSE(two[0].beyond_chance);  // Fisher: 3 of 14
  EXPECT_THAT(compare(before, failing(after, best, 2, "exited")).warnings, testing::Contains(two[0].text));
  // It did so before, or others ended it.
  EXPECT_TRUE(told(failing(before, best, 2, "exited"), failing(after, best, 2, "exited")).empty());
  EXPECT_TRUE(told(before, failing(after, best, 2, "foreign_load")).empty());
  const auto silent = told(before, failing(after, best, 1, "no_metric"));
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].text,
            "w, cpu.frequency = 1 GHz: of its 4 trials after, 1 did not tell what was asked for, of 4 before "
            "none; what is told of it is of the others");
}

TEST(Compare, FailuresAreWeighedByFishersExactTest) {
  EXPECT_NEAR(chance_of({0, 4, ""}, {2, 4, ""}), 3.0 / 14, 1e-12);
  EXPECT_NEAR(chance_of({0, 5, ""}, {3, 5, ""}), 1.0 / 12, 1e-12);
  EXPECT_NEAR(chance_of({1, 10, ""}, {1, 10, ""}), 1 - 9.0 / 38, 1e-12);
}

// The former best crashes now, or everything does: that is worse, and not "not known".
TEST(Compare, ASettingOfWhichNoTrialCountsAnyMoreIsWorse) {
  const auto crashing = [](const std::string& point, const char* verdict = "exited") {
    ComparedResult after = night("b.sqlite", 1, 8);
    for (TrialRow& one : after.trials) {
      if (!point.empty() && one.point != point) continue;
      one.verdict = verdict;
      for (auto* value : {&one.energy_j, &one.objective_value, &one.mean_power_w, &one.time_s})
        value->reset();
    }
    after.summary = summarise(after.summary.experiment, after.trials);
    return after;
  };
  const auto before = night("a.sqlite", 1, 7);
  EXPECT_THAT(no_longer_counting(compare(before, night("b.sqlite", 1, 8))), testing::IsEmpty());
  const std::string best = before.summary.scenarios[0].points[*before.summary.scenarios[0].best].point;
  const Comparison one = compare(before, crashing(best)), all = compare(before, crashing({}));
  EXPECT_THAT(
      no_longer_counting(one),
      ElementsAre("w, cpu.frequency = 1 GHz: of its 4 trials none counts after (4 exited); before 4 did"));
  EXPECT_EQ(no_longer_counting(all).size(), 2U);
  // Others, or a meter: that is not of the setting.
  const Comparison disturbed = compare(before, crashing(best, "sensor_gap"));
  EXPECT_THAT(no_longer_counting(disturbed), testing::IsEmpty());
  EXPECT_THAT(
      not_known_after(disturbed),
      ElementsAre(
          "w, cpu.frequency = 1 GHz: of its 4 trials none counts after (4 sensor_gap); before 4 did"));
  EXPECT_THAT(disturbed.warnings, testing::Contains(not_known_after(disturbed).at(0)));
  EXPECT_THAT(not_known_after(one), testing::IsEmpty());
  EXPECT_THAT(one.warnings, testing::Contains(no_longer_counting(one).at(0)));
  EXPECT_THAT(
      comparison_sentences(one).at(0),
      HasSubstr(
          "The best was cpu.frequency = 1 GHz and is cpu.frequency = 2 GHz; after, too little is known of "
          "the former best."));
}

// Three clocks that cost the same in both, at levels that differ from block to block.
ComparedResult night_against(const char* file, const std::string& reference,
                             const std::vector<double>& clocks) {
  ComparedResult result;
  result.file = file;
  result.plan_hash = reference;
  for (int block = 1; block <= 4; ++block) {
    for (const double ghz : clocks) {
      const std::string point = fmt::format("{} GHz", ghz);
      TrialRow t = trial(point, point == reference,
                         (40 + 10 * ghz) * (1 + 0.1 * block) * (1 + 0.001 * (block % 2)), 1);
      t.settings = {{"cpu.frequency", point, ghz * 1e9}};
      t.block = block;
      t.id = static_cast<std::int64_t>(result.trials.size()) + 1;
      result.trials.push_back(t);
    }
  }
  ExperimentRow experiment;
  experiment.energy_source = "system";
  experiment.axes = {{"cpu.frequency", "knob"}};
  result.summary = summarise(experiment, result.trials);
  return result;
}

// What changed is the question alone.
TEST(Compare, TwoWithOtherReferencesAreComparedAgainstOneOfThem) {
  const auto before = night_against("a.sqlite", "3 GHz", {1, 2, 3}),
             after = night_against("b.sqlite", "1 GHz", {1, 2, 3});
  for (const auto& [c, base] :
       {std::pair(compare(before, after), "3 GHz"), {compare(after, before), "1 GHz"}}) {
    ASSERT_EQ(c.scenarios.size(), 1U);
    EXPECT_EQ(c.scenarios[0].base, base);
    for (const ComparedPoint& point : c.scenarios[0].points) {
      EXPECT_FALSE(point.energy.beyond_noise) << point.point;
      if (point.point != base) {
        EXPECT_NEAR(point.energy.change->value, 0, 1e-9) << point.point;
      }
    }
  }
  const Comparison c = compare(before, after);
  EXPECT_THAT(c.warnings,
              testing::Contains(
                  "w: the reference is cpu.frequency = 3 GHz before, cpu.frequency = 1 GHz after; savings "
                  "are against each one's own, changes against cpu.frequency = 3 GHz on both sides"));
  EXPECT_THAT(
      comparison_sentences(c).at(0),
      HasSubstr(
          "Against cpu.frequency = 3 GHz of its own night (beyond the noise, 5 % for all points together) "
          "energy changed at none of the 2 that could be judged"));
  // Neither ran on the other side.
  const Comparison apart =
      compare(night_against("a.sqlite", "3 GHz", {2, 3}), night_against("b.sqlite", "1 GHz", {1, 2}));
  EXPECT_THAT(apart.warnings,
              testing::Contains(
                  "w: the reference is cpu.frequency = 3 GHz before, cpu.frequency = 1 GHz after; savings "
                  "are against each one's own, and no change is judged: neither counts on both sides"));
  EXPECT_FALSE(apart.scenarios[0].points.at(0).energy.change);
  EXPECT_THAT(not_judged(apart),
              ElementsAre("w: of its energy nothing can be said: no reference counts on both sides",
                          "w: of its time nothing can be said: no reference counts on both sides"));
  // The former best against the new one, within the blocks of a night that grew.
  auto grown = night_against("b.sqlite", "3 GHz", {1, 2, 3});
  std::erase_if(grown.trials, [](const TrialRow& t) { return t.point == "1 GHz" && t.block < 3; });
  grown.summary = summarise(grown.summary.experiment, grown.trials);
  const Comparison more = compare(night_against("a.sqlite", "3 GHz", {2, 3}), grown);
  ASSERT_TRUE(more.scenarios[0].cost_of_old_best);
  EXPECT_NEAR(more.scenarios[0].cost_of_old_best->value, 0.2, 1e-9);
  EXPECT_EQ(more.scenarios[0].cost_of_old_best->pairs, 2);
}

// Of several nights a side one lacks the former best, and another says of it what its own best is.
TEST(Compare, TheFormerBestIsJudgedByANightInWhichItCounts) {
  const std::vector before{night("b1.sqlite", 1, 7), night("b2.sqlite", 1, 8)};
  ComparedResult lacks = night("a1.sqlite", 1, 9), fails = lacks;
  std::erase_if(lacks.trials, [](const TrialRow& t) { return t.point == "1 GHz"; });
  lacks.summary = summarise(lacks.summary.experiment, lacks.trials);
  for (TrialRow& one : fails.trials) {
    if (one.point != "1 GHz") continue;
    one.verdict = "exited";
    for (auto* value : {&one.energy_j, &one.objective_value, &one.mean_power_w, &one.time_s}) value->reset();
  }
  fails.summary = summarise(fails.summary.experiment, fails.trials);
  for (const ComparedResult& first : {lacks, fails}) {
    const Comparison c = compare(before, std::vector{first, night("a2.sqlite", 1, 10)});
    ASSERT_EQ(c.scenarios.size(), 1U);
    const ComparedScenario& one = c.scenarios[0];
    ASSERT_NE(one.best_before, one.best_after) << first.trials.size();
    EXPECT_TRUE(one.old_best_known);
    EXPECT_FALSE(one.old_best_not_told_apart);
    ASSERT_TRUE(one.cost_of_old_best);
    EXPECT_NEAR(one.cost_of_old_best->value, 50.0 / 70 - 1, 0.01);
    EXPECT_LT(*one.cost_of_old_best->high, 0);
  }
}

// The same trials under another question: the machine has not changed.
TEST(Compare, ALimitThatWasNotAskedForBeforeIsNoChange) {
  auto before = night("a.sqlite", 1, 7), after = before;
  after.file = "b.sqlite";
  ConstraintSpec limit;
  limit.name = "time";
  limit.relation = ConstraintSpec::Relation::at_most;
  limit.limit = 1.5;
  after.summary.experiment.objective.constraints.push_back(limit);
  after.summary = summarise(after.summary.experiment, after.trials);
  const Comparison c = compare(before, after);
  EXPECT_THAT(c.warnings, testing::Contains(HasSubstr("limits: 'none' before, 'time <= ")));
  EXPECT_THAT(c.warnings, testing::Contains(HasSubstr("the best points answer different questions")));
  EXPECT_THAT(comparison_sentences(c).at(0),
              HasSubstr("; the former best does not hold the constraints that are asked for after."));
  // Asked before too, and held then.
  before.summary.experiment.objective.constraints.push_back(limit);
  for (TrialRow& t : before.trials) t.time_s = t.point == "1 GHz" ? 1.4 : 1;
  before.summary = summarise(before.summary.experiment, before.trials);
  EXPECT_THAT(comparison_sentences(compare(before, after)).at(0),
              HasSubstr("; after, the former best no longer holds the constraints."));
}

// What it saves is another question where its accuracy is gone.
TEST(Compare, ALimitOnAMetricThatBreaksIsTold) {
  ConstraintSpec limit;
  limit.name = "accuracy";
  limit.relation = ConstraintSpec::Relation::at_least;
  limit.limit = 0.7;
  const auto with = [&](const char* file, double accuracy) {
    ComparedResult one = night(file, 1, 7);
    one.summary.experiment.objective.constraints.push_back(limit);
    int n = 0;
    for (TrialRow& t : one.trials) {
      t.metrics["accuracy"] = (t.point == "1 GHz" ? accuracy : 0.8) + 0.001 * (++n % 3);
      t.units_of_metrics["accuracy"] = "";
    }
    one.summary = summarise(one.summary.experiment, one.trials);
    return one;
  };
  const auto before = with("a.sqlite", 0.75);
  const Comparison broken = compare(before, with("b.sqlite", 0.6));
  ASSERT_EQ(limits_broken(broken).size(), 1U);
  EXPECT_THAT(limits_broken(broken)[0].text,
              testing::StartsWith("w, cpu.frequency = 1 GHz: accuracy >= 0.7 held before (0.75"));
  EXPECT_THAT(limits_broken(broken)[0].text,
              testing::EndsWith("; whether that is the setting or the night, several nights a side tell"));
  EXPECT_THAT(broken.warnings, testing::Contains(limits_broken(broken)[0].text));
  EXPECT_THAT(limits_broken(compare(before, with("b.sqlite", 0.7))),
              testing::IsEmpty());  // by a hair: it may hold
  EXPECT_THAT(limits_broken(compare(before, before)), testing::IsEmpty());
  EXPECT_THAT(not_known_after(compare(before, with("b.sqlite", 0.6))), testing::IsEmpty());
  // Not told any more, or in another unit: it is not known, which is no "no".
  for (const bool in_another_unit : {false, true}) {
    ComparedResult silent = with("b.sqlite", 0.75);
    for (TrialRow& t : silent.trials) {
      if (t.point != "1 GHz") continue;
      in_another_unit ? t.units_of_metrics["accuracy"] = "GB" : (t.metrics.erase("accuracy"), "");
    }
    silent.summary = summarise(silent.summary.experiment, silent.trials);
    const Comparison unknown = compare(before, silent);
    EXPECT_THAT(limits_broken(unknown), testing::IsEmpty());
    ASSERT_EQ(not_known_after(unknown).size(), 1U) << in_another_unit;
    EXPECT_THAT(
        not_known_after(unknown)[0],
        testing::HasSubstr(in_another_unit ? "GHz told it in a unit that does not compare with the others'"
                                           : "1 GHz: accuracy >= 0.7 held before (0.75"));
    EXPECT_THAT(unknown.warnings, testing::Contains(not_known_after(unknown)[0]));
    EXPECT_EQ(not_known_after(compare(std::vector{before, before}, {silent, silent})).size(), 1U);
    EXPECT_THAT(not_known_after(compare(std::vector{before, before}, {silent, before})), testing::IsEmpty());
  }
  EXPECT_FALSE(limits_broken(broken)[0].beyond_chance);
  // Of several nights each says so, whatever the order in which they are named.
  const auto nights = [&](const std::vector<double>& accuracies) {
    std::vector<ComparedResult> all;
    for (const double accuracy : accuracies) all.push_back(with("n.sqlite", accuracy));
    return all;
  };
  for (const auto& after : {std::vector{0.6, 0.75, 0.6}, std::vector{0.75, 0.6, 0.6}}) {
    const auto some = limits_broken(compare(nights({0.75, 0.76}), nights(after)));
    ASSERT_EQ(some.size(), 1U);
    EXPECT_EQ(
        some[0].text,
        "w, cpu.frequency = 1 GHz: accuracy >= 0.7 held before in 2 nights (0.756) and does not after in "
        "2 of 3 (0.601); by chance that is 30 %");
    EXPECT_FALSE(some[0].beyond_chance);
  }
  EXPECT_THAT(limits_broken(compare(nights({0.75, 0.6}), nights({0.6, 0.6}))), testing::IsEmpty());
  const auto all = limits_broken(compare(nights({0.75, 0.76, 0.75, 0.74}), nights({0.6, 0.6, 0.6, 0.6})));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].beyond_chance);  // 1 of 70, and two settings
}

// A night that grew by an axis with `was` has the trials of before, under their keys.
TEST(Compare, AnAxisThatOneSideAloneHasIsNoOtherSetting) {
  const auto with = [](const char* file, const char* n) {
    ComparedResult one = night(file, 1, 7);
    for (TrialRow& t : one.trials) t.settings.push_back({"n", n, std::nullopt});
    one.summary = summarise(one.summary.experiment, one.trials);
    return one;
  };
  const ComparedResult before = night("a.sqlite", 1, 7);
  for (const bool after_has_it : {true, false}) {
    const ComparedResult grown = with("b.sqlite", "2");
    const Comparison c = after_has_it ? compare(before, grown) : compare(grown, before);
    EXPECT_EQ(c.scenarios[0].points.size(), before.summary.scenarios[0].points.size());
    EXPECT_THAT(not_run_after(c), testing::IsEmpty());
    EXPECT_THAT(c.warnings, testing::Contains(fmt::format(
                                "w: {} alone has the axis n; what ran at 2 there is compared with what "
                                "ran {}, which is taken to have run at that too",
                                after_has_it ? "after" : "before", after_has_it ? "before" : "after")));
    EXPECT_THAT(c.warnings, testing::Not(testing::Contains(HasSubstr("clocks that were delivered"))));
  }
  // Another value on either side is another setting.
  EXPECT_FALSE(not_run_after(compare(with("a.sqlite", "2"), with("b.sqlite", "3"))).empty());
}

// Keys name the axes in the order of the file.
TEST(Compare, AxesInAnotherOrderAreNoOtherSettings) {
  const auto with = [](const char* file, unsigned seed, bool turned) {
    ComparedResult one = night(file, 1, seed);
    for (TrialRow& t : one.trials) {
      const AxisSetting clock = t.settings.at(0), a{"a", "1", 1}, b{"b", "2", 2};
      t.settings = turned ? std::vector{b, clock, a} : std::vector{clock, a, b};
      t.point = turned ? fmt::format("w b=2 cpu.frequency={} a=1", clock.text)
                       : fmt::format("w cpu.frequency={} a=1 b=2", clock.text);
      t.scenario = turned ? "w b=2 a=1" : "w a=1 b=2";
    }
    one.summary = summarise(one.summary.experiment, one.trials);
    return one;
  };
  const ComparedResult before = with("a.sqlite", 7, false);
  const Comparison same = compare(before, with("b.sqlite", 8, false)),
                   turned = compare(before, with("b.sqlite", 8, true));
  ASSERT_EQ(turned.scenarios.size(), 1U);
  EXPECT_EQ(turned.scenarios[0].points.size(), before.summary.scenarios[0].points.size());
  EXPECT_THAT(not_run_after(turned), testing::IsEmpty());
  EXPECT_EQ(turned.warnings, same.warnings);
  EXPECT_EQ(comparison_sentences(turned), comparison_sentences(same));
  const Comparison several =
      compare({before, with("a2.sqlite", 9, true)}, {with("b.sqlite", 8, true), with("b2.sqlite", 6, false)});
  EXPECT_EQ(several.scenarios.at(0).points.size(), before.summary.scenarios[0].points.size());
  EXPECT_THAT(not_run_after(several), testing::IsEmpty());
}

TEST(Compare, AnAverageSaysOfHowManyPointsItIs) {
  const auto before = night("a.sqlite", 1, 7);
  EXPECT_THAT(comparison_sentences(compare(before, night("b.sqlite", 1.1, 8)))[0],
              HasSubstr(" On average over all points energy changed by +"));
  ComparedResult after = night("b.sqlite", 1.1, 8);
  for (TrialRow& t : after.trials) {
    if (t.point == "1 GHz") t.verdict = "exited";
  }
  after.summary = summarise(after.summary.experiment, after.trials);
  const std::string text = comparison_sentences(compare(before, after))[0];
  EXPECT_THAT(text,
              testing::ContainsRegex(" On average energy changed by [^ ]+ % \\(1 of these points alone has "
                                     "trials that count in both\\), time changed by [^ ]+ % \\(1 of "));
}

TEST(Compare, OtherClocksThatWereDeliveredAreTold) {
  const auto at = [](double hertz) {
    ComparedResult one = night("a.sqlite", 1, 7);
    for (TrialRow& t : one.trials) {
      if (t.point == "2 GHz")
        t.applied = {{"cpu.frequency", "policy0", "2 GHz", "2 GHz", hertz, {}, {}, hertz == 2e9}};
    }
    one.summary = summarise(one.summary.experiment, one.trials);
    return one;
  };
  EXPECT_THAT(compare(at(2e9), at(1.4e9)).warnings,
              testing::Contains("w: clocks that were delivered differ: cpu.frequency = 2 GHz before and "
                                "cpu.frequency = 1.4 GHz delivered (2 GHz requested) after"));
  EXPECT_THAT(compare(at(1.4e9), at(1.4e9)).warnings,
              testing::Not(testing::Contains(HasSubstr("clocks that were delivered"))));
}

TEST(Compare, AResultWithItself) {
  const auto a = night("a.sqlite", 1, 7);
  const Comparison c = compare(a, a);
  EXPECT_FALSE(c.scenarios[0].points[0].energy.beyond_noise);
  EXPECT_EQ(c.scenarios[0].points[0].energy.change->value, 0);
  EXPECT_FALSE(
      c.scenarios[0].points[1].energy.change);  // the reference: of a night's level nothing is claimed
  EXPECT_THAT(comparison_sentences(c).at(0),
              HasSubstr("energy changed at none of the 1 that could be judged, and time changed at none of "
                        "the 1 that could be judged."));
}

// The same machine in two nights, the second lying higher as a whole.
ComparedResult higher_by(ComparedResult night, double share) {
  for (TrialRow& trial : night.trials) {
    for (auto* value : {&trial.energy_j, &trial.objective_value, &trial.mean_power_w})
      *value = **value * (1 + share);
  }
  night.summary = summarise(night.summary.experiment, night.trials);
  return night;
}

TEST(Compare, ANightThatLiesHigherAsAWholeIsNoChange) {
  const auto a = night("a.sqlite", 1, 7), b = night("b.sqlite", 1, 8);
  const Comparison c = compare(a, higher_by(b, 0.05));
  for (const ComparedPoint& point : c.scenarios[0].points)
    EXPECT_FALSE(point.energy.beyond_noise) << point.point;
  EXPECT_NEAR(c.scenarios[0].all_energy.change->value, 0.05, 0.01);
  EXPECT_FALSE(c.scenarios[0].all_energy.change->low);
  EXPECT_FALSE(worse_by_more_than(c, 0));
}

TEST(Compare, LevelsAreJudgedByHowNightsDiffer) {
  const auto nights = [](double more, std::uint64_t seed) {
    std::vector<ComparedResult> several;
    for (std::uint64_t n = 0; n < 4; ++n)
      several.push_back(higher_by(night("n.sqlite", 1, seed + n), more + 0.004 * (n % 2 == 0 ? 1 : -1)));
    return several;
  };
  const Comparison same = compare(nights(0, 1), nights(0.002, 11)),
                   higher = compare(nights(0, 1), nights(0.05, 11));
  EXPECT_TRUE(same.of_levels);
  for (const ComparedPoint& point : same.scenarios[0].points) EXPECT_FALSE(point.energy.beyond_noise);
  for (const ComparedPoint& point : higher.scenarios[0].points) EXPECT_TRUE(point.energy.beyond_noise);
  EXPECT_TRUE(worse_by_more_than(higher, 0.02));
  EXPECT_THAT(perhaps_worse_by_more_than(higher, 0.02), IsEmpty());
  EXPECT_FALSE(worse_by_more_than(higher, 0.05));
  // Beyond the noise, and not by more than this with its whole interval.
  const ComparedPoint& first = higher.scenarios[0].points[0];
  const double within = (*first.energy.change->low + first.energy.change->value) / 2;
  EXPECT_THAT(perhaps_worse_by_more_than(higher, within),
              testing::Contains(HasSubstr(first.called + ": energy is")));
}

// Nights that differ by 8 % among themselves cannot tell a rise of 12 %: that is neither worse nor as before.
TEST(Compare, ARiseThatTheNightsCannotTellIsNeitherWorseNorAsBefore) {
  const auto nights = [](double more, std::uint64_t seed) {
    return std::vector{higher_by(night("n.sqlite", 1, seed), more - 0.08),
                       higher_by(night("n.sqlite", 1, seed + 1), more + 0.08)};
  };
  const Comparison c = compare(nights(0, 1), nights(0.12, 11));
  EXPECT_FALSE(worse_by_more_than(c, 0.05));
  const auto texts = perhaps_worse_by_more_than(c, 0.05);
  ASSERT_EQ(texts.size(), c.scenarios[0].points.size());
  for (const std::string& text : texts)
    EXPECT_THAT(
        text, MatchesRegex(
                  "w, cpu.frequency = .* GHz: energy is 1[0-4]\\.[0-9] % higher \\(95 % interval -[0-9.]+ to "
                  "\\+[0-9.]+ %\\): that it rose by more than 5 % is not shown"));
  EXPECT_THAT(perhaps_worse_by_more_than(c, 0.2), IsEmpty());
}

// Two partitions of one type: what a setting saves differs from node to node, and blocks of one node are no repetitions of that.
TEST(Compare, OfTwoPartitionsNodesAreTheRepetitions) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto partition = [&](const std::string& name, double saves) {
    ComparedResult result;
    result.file = name + ".sqlite";
    for (int node = 0; node < 4; ++node) {
      const double own = saves * (1 + 0.02 * normal(random));
      for (int block = 1; block <= 3; ++block) {
        for (const bool slow : {true, false}) {
          TrialRow t = trial(slow ? "1 GHz" : "2 GHz", !slow,
                             (slow ? 50 * own : 70) * (1 + 0.003 * normal(random)), slow ? 2 : 1);
          t.node = name + std::to_string(node);
          t.block = 3 * node + block;
          t.id = static_cast<std::int64_t>(result.trials.size()) + 1;
          result.trials.push_back(t);
        }
      }
    }
    ExperimentRow experiment;
    experiment.energy_source = "system";
    experiment.axes = {{"cpu.frequency", "knob"}};
    result.summary = summarise(experiment, result.trials);
    return result;
  };
  int alarms = 0;
  constexpr int pairs = 100;
  for (int i = 0; i < pairs; ++i) {
    const Comparison c = compare({partition("a", 1)}, {partition("b", 1)});
    alarms += c.scenarios[0].points[0].energy.beyond_noise ? 1 : 0;
  }
  EXPECT_LE(alarms, pairs * 5 / 100 + 8) << "of two that are alike";
  const Comparison other = compare({partition("a", 1)}, {partition("b", 1.15)});
  EXPECT_TRUE(other.scenarios[0].points[0].energy.beyond_noise);
  ASSERT_FALSE(other.machine.empty());
  EXPECT_EQ(other.machine[0].what, "nodes");
  EXPECT_EQ(other.machine[0].before, "a0, a1, a2, a3");
}

ComparedResult begun(ComparedResult night, const std::string& when) {
  for (TrialRow& trial : night.trials) {
    trial.key = trial.point + " #" + std::to_string(trial.block);
    trial.started_at = when + std::to_string(trial.id);
  }
  return night;
}

TEST(Compare, OneNightNamedTwiceIsFoundByItsTrials) {
  const auto a = begun(night("a.sqlite", 1, 7), "2026-11-24T22:00:0"),
             b = begun(night("b.sqlite", 1, 7), "2026-11-25T22:00:0");
  auto copy = a;
  copy.file = "copy.sqlite";
  EXPECT_EQ(trial_in_both(a, copy), "1 GHz #1");
  EXPECT_EQ(trial_in_both(a, b), std::nullopt) << "the same values on another day";
  EXPECT_THAT(compare(a, copy).warnings,
              ElementsAre("the two have trials in common (the first is 1 GHz #1): they are one night, or one "
                          "grew out of a copy of the other"));
  EXPECT_THAT(compare(a, b).warnings, testing::IsEmpty());
  EXPECT_THAT(not_judged(compare(a, copy)),
              ElementsAre("nothing can be said of a night against itself: the two have trials in common (the "
                          "first is 1 GHz #1): they are one night, or one grew out of a copy of the other"));
  EXPECT_THAT(not_judged(compare(a, b)), testing::IsEmpty());
  // Behind another night's blocks, as in a merged result.
  for (TrialRow& trial : copy.trials) {
    trial.block += 20;
    trial.key = fmt::format("1 GHz #{}", trial.block);
  }
  EXPECT_TRUE(trial_in_both(a, copy) && trial_in_both(copy, a));
}

// What is shown of a side is of all its nights, as the change is.
TEST(Compare, OfSeveralNightsTheMeansAreShown) {
  const std::vector<ComparedResult> before{night("a1", 1, 1), night("a2", 1.5, 2)},
      after{night("b1", 1, 3), night("b2", 2, 4)};
  const Comparison c = compare(before, after);
  const ComparedPoint& slow = c.scenarios[0].points[0];
  EXPECT_NEAR(slow.before.work_energy->mean, 50 * std::sqrt(1.5), 0.3);
  EXPECT_NEAR(slow.after.work_energy->mean, 50 * std::sqrt(2.0), 0.3);
  EXPECT_NEAR(*slow.energy_level, slow.energy.change->value, 1e-4);
  EXPECT_EQ(slow.before.counted, 8);
  EXPECT_THAT(c.warnings, testing::Contains("w: the nights of one side name different settings "
                                            "(cpu.frequency = 1 GHz in a1, cpu.frequency = 2 GHz in a2); "
                                            "the first one's is marked"));
}

// A first night that was interrupted lacks a setting that the others of its side have.
TEST(Compare, OfSeveralNightsWhatOneOfThemLacksIsNotLost) {
  const auto without_slow = [](ComparedResult night) {
    std::erase_if(night.trials, [](const TrialRow& trial) { return trial.point == "1 GHz"; });
    night.summary = summarise(night.summary.experiment, night.trials);
    return night;
  };
  const std::vector<ComparedResult> before{night("a1", 1, 1), night("a2", 1.01, 2)};
  for (const bool first : {true, false}) {
    std::vector<ComparedResult> after{night("b1", 1, 3), night("b2", 1.01, 4), night("b3", 1, 5)};
    after[first ? 0 : 1] = without_slow(after[first ? 0 : 1]);
    const Comparison c = compare(before, after);
    EXPECT_THAT(not_run_after(c), testing::IsEmpty());
    ASSERT_EQ(c.scenarios[0].points.size(), 2U);
    const ComparedPoint& slow = c.scenarios[0].points[0];
    EXPECT_EQ(slow.after.counted, 8);
    EXPECT_NEAR(slow.after.work_energy->mean, 50, 1);
    EXPECT_TRUE(slow.energy.change && slow.energy.change->low);
  }
  EXPECT_THAT(
      not_run_after(compare(before, {without_slow(night("b1", 1, 3)), without_slow(night("b2", 1, 4))})),
      ElementsAre("w, cpu.frequency = 1 GHz: it was not run after; trials of it counted before"));
}

// What became of the trials is of all nights, as the means are.
TEST(Compare, OfSeveralNightsTrialsThatDoNotCountAreAddedUp) {
  const std::string slow = "1 GHz";
  const std::vector<ComparedResult> before{night("a1", 1, 1), night("a2", 1.01, 2)};
  const auto told = failing_more_often(
      compare(before, {night("b1", 1, 3), failing(night("b2", 1, 4), slow, 3, "exited"), night("b3", 1, 5)}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text,
            "w, cpu.frequency = 1 GHz: of its 12 trials after, 3 did not run to their end (3 exited), of 8 "
            "before none; what is told of it is of the others");
  EXPECT_EQ(failing_more_often(
                compare(before, {night("b1", 1, 3), failing(night("b2", 1, 4), slow, 1, "no_metric")}))
                .size(),
            1U);
  const auto none = no_longer_counting(compare(before, {failing(night("b1", 1, 3), slow, 4, "exited"),
                                                        failing(night("b2", 1, 4), slow, 4, "timed_out"),
                                                        failing(night("b3", 1, 5), slow, 4, "exited")}));
  EXPECT_THAT(none, ElementsAre("w, cpu.frequency = 1 GHz: of its 12 trials none counts after (8 exited, 4 "
                                "timed_out); before 8 did"));
}

TEST(Compare, OfSeveralNightsTheClocksOfAllAreTold) {
  const auto at = [](const char* file, double hertz) {
    ComparedResult one = night(file, 1, 7);
    for (TrialRow& t : one.trials) {
      if (t.point == "2 GHz")
        t.applied = {{"cpu.frequency", "policy0", "2 GHz", "2 GHz", hertz, {}, {}, hertz == 2e9}};
    }
    one.summary = summarise(one.summary.experiment, one.trials);
    return one;
  };
  const auto told = compare({at("a1", 2e9), at("a2", 2e9)}, {at("b1", 2e9), at("b2", 1.4e9)}).warnings;
  EXPECT_THAT(told,
              testing::Contains("w: clocks that were delivered differ: cpu.frequency = 2 GHz before and "
                                "cpu.frequency = 2 GHz (1.4 GHz delivered in 4 of 8 trials) after"));
  EXPECT_THAT(told, testing::Not(testing::Contains(HasSubstr("name different settings"))));
}

// 4 J per sample and 4 J per thousand samples are no numbers to set beside each other.
TEST(Compare, AnotherUnitOfWorkIsSaidAndNotCompared) {
  auto a = night("a", 1, 7), b = night("b", 1, 8);
  for (ComparedResult* one : {&a, &b}) {
    for (TrialRow& trial : one->trials) {
      trial.metrics["work"] = one == &a ? 5000 : 5;
      if (one == &b) trial.units_of_metrics["work"] = "k";
    }
    one->summary.experiment.objective.per = "work";
    one->summary = summarise(one->summary.experiment, one->trials);
  }
  const Comparison c = compare(a, b);
  EXPECT_THAT(c.warnings,
              testing::Contains(
                  "w: 'work' is told in no unit before, in 'k' after; what is made of it does not compare"));
  EXPECT_TRUE(c.scenarios.empty());
  // What a limit is about is converted.
  for (const auto& [unit, says] : {std::pair{"s", false}, {"ms", false}, {"GB", true}}) {
    auto x = night("a", 1, 7), y = night("b", 1, 8);
    for (ComparedResult* one : {&x, &y}) {
      for (TrialRow& trial : one->trials) {
        trial.metrics["lat"] = 5;
        trial.units_of_metrics["lat"] = one == &x ? "ms" : unit;
      }
      ConstraintSpec limit;
      limit.name = "lat";
      limit.relation = ConstraintSpec::Relation::at_most;
      limit.limit = 10;
      limit.unit = "s";
      one->summary.experiment.objective.constraints = {limit};
      one->summary = summarise(one->summary.experiment, one->trials);
    }
    const Comparison bounded = compare(x, y);
    EXPECT_EQ(
        std::any_of(bounded.warnings.begin(), bounded.warnings.end(),
                    [](const auto& text) { return text.find("'lat' is told in") != std::string::npos; }),
        says)
        << unit;
  }
}

// Which of two meters of one thing counts hangs on which of them works.
TEST(Compare, EnergiesByOtherMetersAreToldAndAsLevelsNotCompared) {
  const auto by = [](ComparedResult one, const char* sensor) {
    one.sensors = sensor;
    return one;
  };
  const std::string told =
      "sensors of the energy: 'ma:e' before, 'mb:e' after; by how much two meters of one thing differ is in "
      "no "
      "interval";
  const Comparison single = compare(by(night("a", 1, 7), "ma:e"), by(night("b", 1, 8), "mb:e"));
  EXPECT_TRUE(single.energies_compare);
  EXPECT_THAT(single.warnings, testing::Contains(told));
  const Comparison levels = compare({by(night("a1", 1, 1), "ma:e"), by(night("a2", 1, 2), "ma:e")},
                                    {by(night("b1", 1, 3), "mb:e"), by(night("b2", 1, 4), "mb:e")});
  EXPECT_FALSE(levels.energies_compare);
  EXPECT_THAT(levels.warnings, testing::Contains(told));
  EXPECT_TRUE(compare({by(night("a1", 1, 1), "ma:e"), by(night("a2", 1, 2), "ma:e")},
                      {by(night("b1", 1, 3), "ma:e"), by(night("b2", 1, 4), "ma:e")})
                  .energies_compare);
}

TEST(Compare, EnergiesOfDifferentThingsAreNotCompared) {
  auto a = night("a.sqlite", 1, 7), b = night("b.sqlite", 1.5, 8);
  b.summary.experiment.energy_source = "package-0";
  const Comparison c = compare(a, b);
  EXPECT_THAT(c.warnings, ElementsAre("energy source: 'system' before, 'package-0' after; their energies are "
                                      "of different things and do not compare"));
  EXPECT_FALSE(c.scenarios[0].points[0].energy.change);
  EXPECT_TRUE(c.scenarios[0].points[0].time.change);
  EXPECT_THAT(comparison_sentences(c).at(0), testing::Not(HasSubstr("energy")));
}

}  // namespace
}  // namespace dvfs_plan
