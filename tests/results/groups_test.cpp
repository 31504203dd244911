// Statements of a type of machine keep their word: simulated nights on 3 to 64 nodes.
#include "results/statistics/groups.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dvfs_plan {
namespace {

TEST(Groups, OneGroupIsNone) {
  const std::vector<double> values{1, 2, 4};
  EXPECT_EQ(estimate_of_groups(values, {"a", "a", "a"})->half_width, estimate(values)->half_width);
  EXPECT_EQ(estimate_of_groups(values, {})->half_width, estimate(values)->half_width);
  EXPECT_FALSE(spread_between({{1, 2}}));
  EXPECT_TRUE(departures({{1, 2}}).empty());
}

TEST(Groups, TheMeansOfGroupsAreTheValues) {
  const auto both = estimate_of_groups({1, 3, 10}, {"a", "a", "b"});
  EXPECT_DOUBLE_EQ(both->mean, 6);  // of 2 and 10, not of three
  EXPECT_DOUBLE_EQ(*both->half_width, *estimate({2, 10})->half_width);
  EXPECT_EQ(both->n, 3);
}

// What is not known of some values is taken to be as what is known of others, and is not none.
TEST(Groups, SensorsThatAreNotKnownOfEachValue) {
  const std::vector<double> values{100, 101, 102, 103, 100, 101, 102, 103};
  const std::vector<std::string> blocks{"1", "2", "3", "4", "5", "6", "7", "8"};
  const std::vector<std::optional<SensorPart>> all(values.size(), SensorPart{6, 5});
  const double known = *estimate_of_values_in_groups(values, blocks, all)->sensor_half_width;
  EXPECT_NEAR(known, std::hypot(5, std::sqrt(36.0 - 25) / std::sqrt(8)), 1e-12);
  for (std::size_t without = 1; without < values.size(); ++without) {
    auto some = all;
    for (std::size_t i = 0; i < without; ++i) some[i].reset();
    const auto one = estimate_of_values_in_groups(values, blocks, some);
    EXPECT_NEAR(*one->sensor_half_width, known, 1e-12) << without;
    EXPECT_NEAR(*one->half_width, *estimate(values, all)->half_width, 1e-12) << without;
  }
  const std::vector<std::optional<SensorPart>> none(values.size());
  EXPECT_FALSE(estimate_of_values_in_groups(values, blocks, none)->sensor_half_width);
  // Each stays with its value: the second block's is the large one, of two values.
  const auto one =
      estimate_of_groups({1, 1, 1}, {"a", "b", "b"}, {SensorPart{1, 1}, std::nullopt, SensorPart{5, 5}});
  EXPECT_DOUBLE_EQ(*one->sensor_half_width, 3);
}

// Of uneven blocks the mean is the values' own, with an interval that has each block's weight in it.
TEST(Groups, TheMeanOfValuesInUnevenGroups) {
  const auto both = estimate_of_values_in_groups({1, 3, 10}, {"a", "a", "b"});
  EXPECT_DOUBLE_EQ(both->mean, 14.0 / 3);
  EXPECT_DOUBLE_EQ(*both->half_width, *estimate({2, 10})->half_width * std::sqrt(2 * (4.0 / 9 + 1.0 / 9)));
  EXPECT_DOUBLE_EQ(*estimate_of_values_in_groups({1, 3, 9, 11}, {"a", "a", "b", "b"})->half_width,
                   *estimate({2, 10})->half_width);
  // It holds the truth as often as it says, block by block at another level.
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int held = 0;
  constexpr int nights = 2000;
  for (int i = 0; i < nights; ++i) {
    std::vector<double> values;
    std::vector<std::string> groups;
    for (const int block : {1, 2, 3, 4}) {
      const double level = normal(random);
      for (int k = 0; k < (block == 1 ? 1 : 2); ++k) {
        values.push_back(level + 0.2 * normal(random));
        groups.push_back(std::to_string(block));
      }
    }
    const auto one = estimate_of_values_in_groups(values, groups);
    held += std::abs(one->mean) <= *one->half_width ? 1 : 0;
  }
  EXPECT_GE(held, nights * 94 / 100);
}

TEST(Groups, SpreadOfOneValueEachHasNoInterval) {
  const auto spread = spread_between({{1}, {2}, {3}});
  EXPECT_DOUBLE_EQ(spread->deviation, 1);
  EXPECT_FALSE(spread->low);
}

TEST(Groups, ASpreadThatSingleValuesHideIsNotKnownToBeNone) {
  // Means that are far more alike than values scatter: an interval of 0 to 0 would claim that machines are all the same.
  const auto spread = spread_between({{1.0, 1.2}, {1.2, 1.0}, {1.1001, 1.0999}});
  EXPECT_EQ(spread->deviation, 0);
  EXPECT_TRUE(spread->buried);
  EXPECT_FALSE(spread->low || spread->high);
  EXPECT_FALSE(spread_between({{1.0, 1.2}, {1.4, 1.6}, {1.1, 1.3}})->buried);
}

TEST(Groups, OneFarFromTheOthersIsNamed) {
  std::vector<std::vector<double>> groups(8, {0.0, 0.001});
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i][0] += 0.002 * static_cast<double>(i % 3);
  groups[5] = {0.09, 0.091};
  const auto apart = departures(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) EXPECT_EQ(apart[i].outlying, i == 5) << i;
  EXPECT_NEAR(apart[5].value, 0.09, 0.003);
}

TEST(Groups, BalanceIsOfBlocksAndOfHowOftenInEach) {
  const std::vector<BlockedValue> both{{0, 1, 1}, {1, 1, 1}, {0, 2, 1}, {1, 2, 1}};
  EXPECT_TRUE(is_balanced(both));
  EXPECT_TRUE(is_balanced({}));
  auto twice_each = both;
  twice_each.push_back({0, 1, 1});
  EXPECT_FALSE(is_balanced(twice_each));
  twice_each.push_back({0, 2, 1});
  EXPECT_TRUE(is_balanced(twice_each));
  EXPECT_FALSE(is_balanced(std::span(both).first(3)));
  // Each machine has its own blocks, and as many as it likes.
  const std::vector<GroupedValue> two{{0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 2, 1},
                                      {1, 1, 2, 1}, {0, 1, 3, 1}, {1, 1, 3, 1}};
  EXPECT_TRUE(is_balanced_within_groups(two));
  EXPECT_FALSE(is_balanced_within_groups(std::span(two).first(5)));
}

// A night that grew on each machine: later blocks hold another setting beside the reference, at whatever level the machine has by then.
TEST(Groups, OfANightThatGrewTheBlocksLevelIsTakenOut) {
  std::mt19937_64 random(20261126);
  std::normal_distribution<double> normal;
  int held = 0;
  constexpr int nights = 400, nodes = 4;
  for (int night = 0; night < nights; ++night) {
    std::vector<GroupedValue> values;
    const double saving = 0.05 + 0.2 * std::uniform_real_distribution<double>()(random);
    int block = 0;
    for (int node = 0; node < nodes; ++node) {
      const double mine = std::log(1 - saving) + 0.01 * normal(random);
      for (const bool later : {false, true}) {
        for (int b = 0; b < 3; ++b, ++block) {
          const double level = 0.5 * normal(random);
          values.push_back({0, node, block, std::exp(level + 0.002 * normal(random))});
          values.push_back({later ? 2 : 1, node, block, std::exp(level + mine + 0.002 * normal(random))});
        }
      }
    }
    const auto means = means_of_groups(values, 3);
    ASSERT_EQ(means.size(), 3U * nodes);
    const auto change = paired_change(means, 2, 0, ChangeOf::saving);
    ASSERT_TRUE(change && change->low);
    EXPECT_NEAR(change->value, saving, 0.03);
    held += *change->low <= saving && saving <= *change->high ? 1 : 0;
  }
  EXPECT_GE(held, nights * 92 / 100);
  EXPECT_LE(held, nights * 98 / 100);
}

// A machine whose setting was changed between its blocks: what never met there, nor by way of others, is not compared by it.
TEST(Groups, WhatNeverMetInABlockOfAGroupIsNoneOfItsComparisons) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> uniform(0.5, 2);
  for (int night = 0; night < 200; ++night) {
    const double of_point[] = {uniform(random), uniform(random), uniform(random)};
    std::vector<GroupedValue> values;
    const auto ran = [&](int group, int block, std::initializer_list<int> points) {
      const double level = uniform(random);
      for (const int point : points) values.push_back({point, group, block, level * of_point[point]});
    };
    ran(0, 1, {1, 2});
    ran(0, 2, {0, 0});
    ran(1, 4, {0, 1, 2});
    ran(2, 5, {0, 1});
    ran(2, 6, {1, 2});
    const auto means = means_of_groups(values, 3);
    EXPECT_EQ(replicates_of(values), (std::vector<int>{0, 0, 3, 3, 1, 1, 1, 2, 2, 2, 2}));
    for (const int point : {1, 2}) {
      const auto change = paired_change(means, point, 0, ChangeOf::saving);
      ASSERT_TRUE(change);
      EXPECT_NEAR(change->value, 1 - of_point[point] / of_point[0], 1e-9);
      EXPECT_NEAR(*BlockModel(means, 3).level(point) / *BlockModel(means, 3).level(0),
                  of_point[point] / of_point[0], 1e-9);
    }
  }
}

struct Held {
  int saving = 0, spread = 0, departure = 0, departures = 0, outlying = 0, nights = 0;
};

// Nodes differ in their level and in how much a setting saves; blocks scatter within them.
Held nights_of(int nodes, int least_blocks, int most_blocks, int nights, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Held held;
  for (int night = 0; night < nights; ++night) {
    const double saving = 0.05 + 0.2 * std::uniform_real_distribution<double>()(random);
    const double of_level = 0.03, of_saving = 0.01, of_block = 0.005, of_trial = 0.01;
    std::vector<GroupedValue> values;
    std::vector<std::vector<double>> at_best;
    std::vector<double> levels;
    std::vector<std::vector<double>> of_blocks;
    int block = 0;
    for (int node = 0; node < nodes; ++node) {
      const double level = of_level * normal(random),
                   mine = std::log(1 - saving) + of_saving * normal(random);
      const int blocks = std::uniform_int_distribution<int>(least_blocks, most_blocks)(random);
      auto& best = at_best.emplace_back();
      auto& all = of_blocks.emplace_back();
      levels.push_back(level + mine / 2);
      for (int b = 0; b < blocks; ++b, ++block) {
        const double common = level + of_block * normal(random);
        const double a = common + of_trial * normal(random), c = common + mine + of_trial * normal(random);
        values.push_back({0, node, block, std::exp(a)});
        values.push_back({1, node, block, std::exp(c)});
        best.push_back(c);
        all.push_back((a + c) / 2);
      }
    }
    const auto change = paired_change(means_of_groups(values, 2), 1, 0, ChangeOf::saving);
    held.saving += change && change->low && *change->low <= saving && saving <= *change->high ? 1 : 0;
    const auto spread = spread_between(at_best);
    const double truth = std::hypot(of_level, of_saving);
    held.spread += spread && spread->low && *spread->low <= truth && truth <= *spread->high ? 1 : 0;
    const auto apart = departures(of_blocks);
    double sum = 0;
    for (const double level : levels) sum += level;
    for (std::size_t i = 0; i < apart.size(); ++i) {
      const double wanted = levels[i] - (sum - levels[i]) / (nodes - 1);
      ++held.departures;
      held.departure += apart[i].low && *apart[i].low <= wanted && wanted <= *apart[i].high ? 1 : 0;
      held.outlying += apart[i].outlying ? 1 : 0;
    }
    ++held.nights;
  }
  return held;
}

TEST(Groups, IntervalsHoldOnThreeToSixtyFourNodes) {
  for (const auto& [nodes, least, most] :
       {std::tuple{3, 2, 2}, {3, 2, 6}, {5, 2, 4}, {8, 3, 3}, {16, 1, 4}, {64, 2, 3}}) {
    const Held held = nights_of(nodes, least, most, 1000, static_cast<std::uint64_t>(nodes));
    const auto share = [&](int count, int of) { return static_cast<double>(count) / of; };
    SCOPED_TRACE(nodes);
    // 95 % of 1000: 93 to 97 %. Unequal numbers of blocks make means of unequal worth.
    EXPECT_GE(share(held.saving, held.nights), 0.93);
    EXPECT_LE(share(held.saving, held.nights), 0.975);
    EXPECT_GE(share(held.spread, held.nights), 0.93);
    EXPECT_LE(share(held.spread, held.nights), 0.985);
    EXPECT_GE(share(held.departure, held.departures), 0.93);
    // Grubbs' test: in 5 % of nights of alike nodes one is named.
    EXPECT_LE(share(held.outlying, held.nights), 0.08);
    std::printf(
        "%d nodes, %d to %d blocks each: saving %.1f %%, spread %.1f %%, against the others %.1f %%, "
        "outlying in %.1f %% of nights\n",
        nodes, least, most, 100 * share(held.saving, held.nights), 100 * share(held.spread, held.nights),
        100 * share(held.departure, held.departures), 100 * share(held.outlying, held.nights));
  }
}

}  // namespace
}  // namespace dvfs_plan
