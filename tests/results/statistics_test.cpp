// Statistics by hand-computed values.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "results/statistics/blocks.hpp"
#include "results/statistics/estimate.hpp"
#include "results/statistics/noise_model.hpp"
#include "results/statistics/winner.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Estimate, OfNothingOneAndTwo) {
  EXPECT_FALSE(estimate({}));
  const auto one = estimate({5});
  EXPECT_EQ(one->n, 1);
  EXPECT_DOUBLE_EQ(one->mean, 5);
  EXPECT_DOUBLE_EQ(one->median, 5);
  EXPECT_FALSE(one->standard_deviation);
  EXPECT_FALSE(one->half_width);
  const auto two = estimate({4, 6});
  EXPECT_DOUBLE_EQ(two->mean, 5);
  EXPECT_DOUBLE_EQ(*two->standard_deviation, std::sqrt(2.0));
  EXPECT_NEAR(*two->half_width, 12.7062047, 1e-6);  // t(1) = 12.706, times sqrt 2 / sqrt 2
}

TEST(Estimate, TheMedianOfAnEvenNumberLiesBetweenTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(estimate({0.8, 0.2, 0.6, 0.4})->median, 0.5);
  EXPECT_DOUBLE_EQ(estimate({3, 1, 2})->median, 2);
  EXPECT_DOUBLE_EQ(estimate({7})->median, 7);
}

TEST(Estimate, OfFour) {
  // 10 12 14 20: mean 14, squares 16 + 4 + 0 + 36 = 56, sd sqrt(56/3), t(3) = 3.18245.
  const auto four = estimate({10, 12, 14, 20});
  EXPECT_DOUBLE_EQ(four->mean, 14);
  EXPECT_DOUBLE_EQ(four->median, 13);
  EXPECT_DOUBLE_EQ(*four->standard_deviation, std::sqrt(56.0 / 3));
  EXPECT_NEAR(*four->half_width, 3.182446305 * std::sqrt(56.0 / 3) / 2, 1e-8);
  EXPECT_DOUBLE_EQ(*four->mad, 2);  // distances from 13: 3 1 1 7
}

TEST(Estimate, ALargeOffsetDoesNotEatASmallSpread) {
  const auto offset = estimate({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16});
  EXPECT_DOUBLE_EQ(offset->mean, 1e9 + 10);
  EXPECT_NEAR(*offset->standard_deviation, std::sqrt(30.0), 1e-9);
}

TEST(Estimate, AllEqualHasNoSpreadButTheSensorsPart) {
  const auto equal = estimate({7, 7, 7});
  EXPECT_DOUBLE_EQ(*equal->standard_deviation, 0);
  EXPECT_DOUBLE_EQ(*equal->half_width, 0);
  EXPECT_DOUBLE_EQ(*equal->mad, 0);
  const auto with_sensor =
      estimate({7, 7, 7, 7}, std::vector<std::optional<SensorPart>>(4, SensorPart{0.2, 0}));
  EXPECT_DOUBLE_EQ(*with_sensor->half_width, 0.1);  // independent from trial to trial: 0.2 / sqrt 4
  EXPECT_DOUBLE_EQ(*with_sensor->sensor_half_width, 0.1);
  // What is the same in each of them does not shrink: hypot(0.12 / sqrt 4, 0.16).
  const auto lagging =
      estimate({7, 7, 7, 7}, std::vector<std::optional<SensorPart>>(4, SensorPart{0.2, 0.16}));
  EXPECT_NEAR(*lagging->sensor_half_width, std::hypot(0.06, 0.16), 1e-12);
  EXPECT_NEAR(lagging->systematic_half_width, 0.16, 1e-12);
}

// Against Brown, Cai and DasGupta 2001, table of examples by hand: k = 8 of 10 and the ends.
TEST(WilsonInterval, OfAFewAllAndNone) {
  const auto some = wilson_interval(8, 10);
  EXPECT_NEAR(some.low, 0.49016, 1e-5);
  EXPECT_NEAR(some.high, 0.94330, 1e-4);
  const auto all = wilson_interval(100, 100);
  EXPECT_NEAR(all.low, 0.96300, 1e-5);
  EXPECT_DOUBLE_EQ(all.high, 1);
  const auto none = wilson_interval(0, 100);
  EXPECT_NEAR(none.low, 0, 1e-15);
  EXPECT_NEAR(none.high, 0.03700, 1e-5);
  EXPECT_DOUBLE_EQ(wilson_interval(0, 0).low, 0);
}

// What a 95 % interval promises: it holds the truth that often, near 0 and 1 too, on the average of shares drawn at random.
TEST(WilsonInterval, HoldsTheTruthAsOftenAsItSays) {
  std::mt19937 random(1927);
  int held = 0;
  constexpr int nights = 20000;
  for (int night = 0; night < nights; ++night) {
    const double share = std::uniform_real_distribution<double>(0.001, 0.999)(random);
    const int of = 50 + static_cast<int>(random() % 2000);
    const int count = std::binomial_distribution<int>(of, share)(random);
    const auto interval = wilson_interval(count, of);
    held += interval.low <= share && share <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / nights, 0.95, 0.006);
}

TEST(Outliers, AreFlaggedByTheMedianAbsoluteDeviation) {
  // Median 10.5, deviations 1.5 0.5 0.5 1.5 0.5 29.5: MAD 1; 0.6745 x 29.5 is beyond 3.5, 0.6745 x 1.5 is
  // not.
  EXPECT_THAT(outliers({9, 10, 11, 12, 10, 40}), ElementsAre(5));
  EXPECT_THAT(outliers({10, 10, 10, 10, 99}), IsEmpty());  // no deviation to measure by
  EXPECT_THAT(outliers({1, 2, 100}), IsEmpty());           // too few
  EXPECT_THAT(outliers({}), IsEmpty());
}

TEST(PairedChange, ByHand) {
  // Ratios 0.8 and 0.8 in blocks whose level differs threefold: exactly 20 % less, no spread.
  const std::vector<BlockedValue> values{{0, 1, 100}, {1, 1, 80}, {0, 2, 300}, {1, 2, 240}};
  const auto saving = paired_change(values, 1, 0, ChangeOf::saving);
  EXPECT_EQ(saving->pairs, 2);
  EXPECT_NEAR(saving->value, 0.2, 1e-12);
  EXPECT_NEAR(*saving->low, 0.2, 1e-9);
  EXPECT_NEAR(*saving->high, 0.2, 1e-9);
  const auto slower = paired_change(values, 0, 1, ChangeOf::increase);
  EXPECT_NEAR(slower->value, 0.25, 1e-12);
}

TEST(PairedChange, TheIntervalIsStudentsOverTheLogRatios) {
  // Log ratios ln 0.8 and ln 0.9: half the difference is d = ln(9/8)/2, sd = d sqrt 2, half-width t(1) d.
  const std::vector<BlockedValue> values{{0, 1, 1}, {1, 1, 0.8}, {0, 2, 1}, {1, 2, 0.9}};
  const auto saving = paired_change(values, 1, 0, ChangeOf::saving);
  const double middle = std::log(0.72) / 2, half = 12.70620474 * std::log(9.0 / 8) / 2;
  EXPECT_NEAR(saving->value, 1 - std::sqrt(0.72), 1e-12);
  EXPECT_NEAR(*saving->low, 1 - std::exp(middle + half), 1e-7);
  EXPECT_NEAR(*saving->high, 1 - std::exp(middle - half), 1e-7);
}

TEST(PairedChange, ReferencesFirstAndLastCountAsTheirGeometricMean) {
  const std::vector<BlockedValue> values{{0, 1, 90}, {1, 1, 50}, {0, 1, 1000.0 / 9}};
  const auto saving = paired_change(values, 1, 0, ChangeOf::saving);
  EXPECT_NEAR(saving->value, 0.5, 1e-12);
  EXPECT_EQ(saving->pairs, 1);
  EXPECT_FALSE(saving->low);  // one pair: no interval
}

TEST(PairedChange, WithoutAPairThereIsNone) {
  EXPECT_FALSE(paired_change(std::vector<BlockedValue>{{0, 1, 90}, {1, 2, 50}}, 1, 0, ChangeOf::saving));
  EXPECT_FALSE(paired_change(std::vector<BlockedValue>{}, 1, 0, ChangeOf::saving));
}

TEST(BlockModel, TakesBlocksOutOfTheLevels) {
  // Points at e^0, e^1; blocks shifted by 0 and 1; point 1 only in the higher block.
  const std::vector<BlockedValue> values{{0, 1, 1}, {0, 2, std::exp(1.0)}, {1, 2, std::exp(2.0)}};
  const BlockModel model(values, 2);
  EXPECT_NEAR(*model.level(1) / *model.level(0), std::exp(1.0), 1e-12);
  EXPECT_EQ(model.degrees_of_freedom(), 0);
  EXPECT_THAT(model.not_worse_than_best(std::vector{0, 1}, 0.05), ElementsAre(0, 1));  // nothing to judge by
}

TEST(BlockModel, TellsApartWhatLiesFurtherThanTheMargin) {
  // Two points, four blocks, differences -1 -1.2 -0.8 -1 on the logarithm: mean -1, residual variance
  // sum of (0 .2 -.2 0)^2 / 2 over 3 degrees = 0.04/3; se of the difference sqrt(0.04/3 x 2/4); t(3, 0.95)
  // = 2.353.
  std::vector<BlockedValue> values;
  const double differences[] = {-1, -1.2, -0.8, -1};
  for (int block = 0; block < 4; ++block) {
    values.push_back({0, block, std::exp(0.5 * block)});
    values.push_back({1, block, std::exp(0.5 * block + differences[block])});
  }
  const BlockModel model(values, 2);
  EXPECT_EQ(model.degrees_of_freedom(), 3);
  EXPECT_NEAR(*model.level(1) / *model.level(0), std::exp(-1.0), 1e-12);
  EXPECT_THAT(model.not_worse_than_best(std::vector{0, 1}, 0.05), ElementsAre(1));
  for (BlockedValue& value : values) {
    if (value.point == 1) value.value *= std::exp(0.9);  // now 0.1 apart, margin 2.353 x 0.0816 = 0.19
  }
  EXPECT_THAT(BlockModel(values, 2).not_worse_than_best(std::vector{0, 1}, 0.05), ElementsAre(0, 1));
}

// A work that repeats to the last digit (a simulator's) in two blocks: where the scatter is nothing at all it was taken for unknown, beside an
// interval of no width.
TEST(BlockModel, WhatRepeatsToTheLastPlaceIsToldApart) {
  for (const int blocks : {2, 3, 5}) {
    std::vector<BlockedValue> values;
    for (int block = 1; block <= blocks; ++block) {
      for (const auto& [point, value] : {std::pair{0, 18.0}, {1, 20.0}, {2, 18.0}})
        values.push_back({point, block, value});
    }
    EXPECT_THAT(BlockModel(values, 3).not_worse_than_best(std::vector{0, 1, 2}, 0.05), ElementsAre(0, 2))
        << blocks;
  }
}

TEST(BlockModel, PointsThatNeverMetCannotBeToldApart) {
  const std::vector<BlockedValue> values{{0, 1, 1}, {0, 1, 1.01}, {1, 2, 50}, {1, 2, 51}};
  EXPECT_THAT(BlockModel(values, 2).not_worse_than_best(std::vector{0, 1}, 0.05), ElementsAre(0, 1));
}

// Found on a made-up night: with rounding taken for information, whatever missed a block could not be told
// from anything.
TEST(BlockModel, APointThatMissedABlockIsToldApartAmongHundreds) {
  constexpr int points = 221, blocks = 3;
  for (const int each : {23, 31, 53}) {
    std::vector<BlockedValue> values;
    int present = 0;
    for (int point = 0; point < points; ++point) {
      for (int block = 0; block < blocks; ++block) {
        if ((point * blocks + block) % each == 13) continue;  // a trial that failed
        const double noise = 0.01 * std::sin(7.0 * point + 3.0 * block);
        values.push_back({point, block, std::exp(0.01 * point + 0.1 * block + noise)});
        ++present;
      }
    }
    const BlockModel model(values, points);
    EXPECT_EQ(model.degrees_of_freedom(), present - points - (blocks - 1)) << each;
    std::vector<int> all(points);
    std::iota(all.begin(), all.end(), 0);
    const auto kept = model.not_worse_than_best(all, 0.05);
    EXPECT_LT(kept.back(), 10) << each;  // those above lie 10 % and more higher, ten times the noise
  }
}

// Of many blocks the points' system is solved, of few the blocks': it is one model. Random designs with trials missing, and some whose points
// fall into groups that never met.
TEST(BlockModel, OfManyBlocksItSaysWhatItSaysOfFew) {
  std::mt19937 random(8);
  std::normal_distribution<double> noise(0, 0.05);
  for (int round = 0; round < 40; ++round) {
    const int points = 2 + round % 6, blocks = 150;
    const bool apart = round % 3 == 2;
    std::vector<BlockedValue> values;
    for (int block = 0; block < blocks; ++block) {
      const double level = noise(random);
      for (int point = 0; point < points; ++point) {
        const bool missing = random() % 4 == 0 || (apart && block % 2 != point % 2);
        for (int twice = 0; !missing && twice <= static_cast<int>(random() % 5 == 0); ++twice)
          values.push_back({point, block, std::exp(1 + 0.02 * point + level + noise(random))});
      }
    }
    const BlockModel few(values, points);
    // A point that was run in blocks of its own alone makes them many, and changes nothing for the others.
    auto more = values;
    for (int block = 0; block < 100; ++block) more.push_back({points, 1000 + block, std::exp(noise(random))});
    const BlockModel many(more, points + 1);
    std::vector<int> all(static_cast<std::size_t>(points));
    std::iota(all.begin(), all.end(), 0);
    for (const int point : all) EXPECT_NEAR(*few.level(point), *many.level(point), 1e-9) << round;
    // The other point's 99 degrees of freedom are of its own scatter between blocks: none, as each has a block's level to take it.
    EXPECT_EQ(few.degrees_of_freedom(), many.degrees_of_freedom()) << round;
    EXPECT_NEAR(few.error_variance(), many.error_variance(), 1e-9);
  }
}

TEST(BlockModel, TenThousandBlocksAreNoTrouble) {
  std::mt19937 random(9);
  std::normal_distribution<double> noise(0, 0.05);
  std::vector<BlockedValue> values;
  for (int block = 0; block < 10'000; ++block) {
    const double level = noise(random);
    for (int point = 0; point < 3; ++point)
      values.push_back({point, block, std::exp(1 + 0.01 * point + level + noise(random))});
  }
  values.pop_back();
  const BlockModel model(values, 3);
  EXPECT_EQ(model.degrees_of_freedom(), 29'999 - 10'000 - 2);
  EXPECT_NEAR(*model.level(1) / *model.level(0), std::exp(0.01), 0.003);
  EXPECT_THAT(model.not_worse_than_best(std::vector{0, 1, 2}, 0.05), ElementsAre(0));
}

TEST(BlockModel, OnePointAndNone) {
  const std::vector<BlockedValue> values{{0, 1, 3}, {0, 2, 4}};
  EXPECT_THAT(BlockModel(values, 2).not_worse_than_best(std::vector{0, 1}, 0.05), ElementsAre(0));
  EXPECT_FALSE(BlockModel(values, 2).level(1));
  EXPECT_THAT(BlockModel({}, 2).not_worse_than_best(std::vector{0, 1}, 0.05), IsEmpty());
}

// A cost of 0 everywhere has no logarithm: nothing is known, and nothing falls over.
TEST(WinnersSaving, OfNoValuesAtAllNothingIsSaid) {
  EXPECT_FALSE(winners_saving({}, 2, 1, 0, std::vector{0, 1}));
  EXPECT_FALSE(named_saving({}, {}, 2, 1, 0, std::vector{0, 1}));
  EXPECT_FALSE(NoiseModel({}, 2).known());
}

// Of the points from `from` on, the one with the least level, and all of them.
std::pair<int, std::vector<int>> least_of(const BlockModel& model, int from, int points) {
  int best = from;
  std::vector<int> among;
  for (int point = from; point < points; ++point) {
    among.push_back(point);
    if (*model.level(point) < *model.level(best)) best = point;
  }
  return {best, among};
}

// Two blocks of wild noise: the middle of an interval from -8000 % to 90 % is no estimate that anybody believes.
TEST(WinnersSaving, TheValueLiesInItsIntervalAndIsNotBelowNothingWhereThatHoldsZero) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  int held = 0, at_nothing = 0;
  for (int night = 0; night < 300; ++night) {
    const int points = 2 + night % 5;
    const double scatter = std::exp(-5 + 5 * (night % 7) / 6.0);
    std::vector<BlockedValue> values;
    for (int block = 1; block <= 2 + night % 2; ++block) {
      for (int point = 0; point < points; ++point)
        values.push_back({point, block, std::exp((point > 0 ? 3 : 1) * scatter * normal(random))});
      values.push_back({0, block, std::exp(scatter * normal(random))});
    }
    const auto [best, among] = least_of(BlockModel(values, points), 0, points);
    if (best == 0) continue;
    const auto said = winners_saving(values, points, best, 0, among);
    if (!said || !said->low) continue;
    EXPECT_LE(*said->low, said->value) << night;
    EXPECT_GE(*said->high, said->value) << night;
    if (*said->low > 0 || *said->high < 0) continue;
    ++held;
    EXPECT_GE(said->value, 0) << night;
    at_nothing += said->value == 0 ? 1 : 0;
  }
  EXPECT_GT(held, 50);
  EXPECT_GT(at_nothing, 5);
}

// The value is what readers print. The interval's median-unbiased point was, among tied points, twice as far off as the plain mean, and often at the
// interval's own end.
TEST(WinnersSaving, ItsValueIsNoFurtherOffThanThePlainMean) {
  std::mt19937_64 random(20261126);
  std::normal_distribution<double> normal;
  for (const int points : {3, 5, 9, 13}) {
    for (const int blocks : {3, 4, 8}) {
      for (const double apart : {0.0, 0.005, 0.02, 0.1}) {  // how far the points' true levels lie apart
        constexpr double scatter = 0.03;
        double of_said = 0, of_plain = 0, bias = 0;
        int nights = 0;
        for (int i = 0; i < 60; ++i) {
          std::vector<double> truth{0};
          for (int point = 1; point < points; ++point) truth.push_back(-0.1 + apart * normal(random));
          std::vector<BlockedValue> values;
          for (int block = 1; block <= blocks; ++block) {
            const double level = 0.02 * normal(random);
            for (int point = 0; point < points; ++point) {
              for (int trial = 0; trial < (point == 0 ? 2 : 1); ++trial)
                values.push_back({point, block,
                                  100 * std::exp(truth[static_cast<std::size_t>(point)] + level +
                                                 scatter * normal(random))});
            }
          }
          const BlockModel model(values, points);
          const auto [best, among] = least_of(model, 1, points);
          const auto said = winners_saving(values, points, best, 0, among);
          if (!said) continue;
          ++nights;
          const double true_saving = -std::expm1(truth[static_cast<std::size_t>(best)]);
          const double plain = 1 - *model.level(best) / *model.level(0);
          of_said += (said->value - true_saving) * (said->value - true_saving);
          of_plain += (plain - true_saving) * (plain - true_saving);
          bias += (said->value - true_saving) / 60;
        }
        const std::string where = fmt::format("{} points {} apart, {} blocks", points, apart, blocks);
        ASSERT_GT(nights, 50) << where;
        // Where they truly lie apart, and few trials do not show it, it errs to the careful side.
        EXPECT_LT(std::sqrt(of_said / nights), (apart < 0.01 ? 1.0 : 1.25) * std::sqrt(of_plain / nights))
            << where;
        EXPECT_LT(std::abs(bias), 0.02) << where;
        if (points == 9 || apart == 0)
          std::printf("best's saving, %s: off by %.2f %% (plain mean %.2f %%), bias %+.2f %%\n",
                      where.c_str(), 100 * std::sqrt(of_said / nights), 100 * std::sqrt(of_plain / nights),
                      100 * bias);
      }
    }
  }
}

// ------------------------------------------------------------------ fresh blocks

// Points 0 (the reference) to 11, every other one `noisier` times as noisy; 1 draws a tenth less. Then blocks
// of 0, 1 and 2 alone.
struct ConfirmedNight {
  std::vector<BlockedValue> values, fresh;
  std::vector<int> among;
};
ConfirmedNight confirmed_night(double noisier, int fresh_blocks, int screening_favours = 1) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  ConfirmedNight night;
  const auto add = [&](int point, int block, double level) {
    night.values.push_back(
        {point, block, level * std::exp(0.002 * (point % 2 == 1 ? noisier : 1) * normal(random))});
  };
  for (int block = 1; block <= 6; ++block) {
    for (int point = 0; point < 12; ++point)
      add(point, block, point == screening_favours ? 85 : point == 1 ? 90 : 100);
    add(0, block, 100);
  }
  for (int block = 7; block < 7 + fresh_blocks; ++block) {
    for (const int point : {0, 0, 1, 2}) {
      add(point, block, point == 1 ? 90 : 100);
      night.fresh.push_back(night.values.back());
    }
  }
  for (int point = 0; point < 12; ++point) night.among.push_back(point);
  return night;
}
std::optional<NamedSaving> said_of(const ConfirmedNight& night) {
  return named_saving(night.values, night.fresh, 12, 1, 0, night.among);
}

TEST(NamedSaving, FreshPairsAreTakenWherePointsScatterDifferently) {
  const auto night = confirmed_night(10, 5);
  const auto said = said_of(night);
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->fresh);
  const auto pairs = paired_change(night.fresh, 1, 0, ChangeOf::saving);
  EXPECT_EQ(said->change.pairs, 5);
  EXPECT_DOUBLE_EQ(said->change.value, pairs->value);
  EXPECT_DOUBLE_EQ(*said->change.low, *pairs->low);
}

TEST(NamedSaving, ElseTheCorrectionOverAllBlocksIs) {
  EXPECT_FALSE(said_of(confirmed_night(1, 5))->fresh);   // all scatter alike
  EXPECT_FALSE(said_of(confirmed_night(10, 3))->fresh);  // too few
  EXPECT_FALSE(said_of(confirmed_night(10, 0))->fresh);
  EXPECT_FALSE(said_of(confirmed_night(10, 5, 3))->fresh);  // it was not the one named before
}

}  // namespace
}  // namespace dvfs_plan
