// Measured amounts as reports write them, and what a saving is in joules.
#include <gtest/gtest.h>

#include <cmath>

#include "results/report/amounts.hpp"
#include "results/report/saved_joules.hpp"

namespace dvfs_plan {
namespace {

Estimate with_half(double mean, std::optional<double> half) {
  Estimate one;
  one.n = 3;
  one.mean = one.median = mean;
  one.half_width = half;
  return one;
}

TEST(Amounts, TakeThePrefixThatLeavesANumberToRead) {
  EXPECT_EQ(amount(4.642e-5, "s"), "46.42 us");
  EXPECT_EQ(amount(2.53e-7, "J"), "253.0 nJ");
  EXPECT_EQ(amount(0.02174, "J"), "21.74 mJ");
  EXPECT_EQ(amount(0.5, "s"), "0.5000 s");
  EXPECT_EQ(amount(4749, "J"), "4749 J");
  EXPECT_EQ(amount(12345, "J"), "12.35 kJ");
  EXPECT_EQ(amount(7.2e6, "J"), "7.200 MJ");
  EXPECT_EQ(amount(36000, "s"), "36000 s");  // nobody says kiloseconds
  EXPECT_EQ(amount(0, "J"), "0 J");
  EXPECT_EQ(amount(-0.05, "J"), "-50.00 mJ");
  EXPECT_EQ(amount(12.5, "tokens/s"), "12.50 tokens/s");
  EXPECT_EQ(amount(0.0125, "ms"), "0.01250 ms");  // another unit's own prefix
  EXPECT_EQ(amount(9.9996, "J"), "10.00 J");
  EXPECT_EQ(amount(1.25, ""), "1.250");
}

TEST(Amounts, HaveAsManyDigitsAsTheIntervalKnows) {
  EXPECT_EQ(amount(with_half(52.8437, 0.158), "J"), "52.84 ± 0.16 J");
  EXPECT_EQ(amount(with_half(4749, 902), "J"), "4750 ± 900 J");
  EXPECT_EQ(amount(with_half(0.02174, 0.000363), "J"), "21.74 ± 0.36 mJ");
  EXPECT_EQ(amount(with_half(10.094, 0.99951), "s"), "10.1 ± 1.0 s");
  EXPECT_EQ(amount(with_half(100, 0), "%"), "100.0 ± 0.0 %");
  EXPECT_EQ(amount(with_half(1.5, 980), "J"), "0 ± 980 J");
  EXPECT_EQ(amount(with_half(-1.5, 980), "J"), "0 ± 980 J");
  EXPECT_EQ(amount(with_half(131072, 0), "tokens"), "131072 ± 0 tokens");
  EXPECT_EQ(amount(with_half(52.8437, 1e-9), "J"), "52.8437 ± <0.0001 J");
  EXPECT_EQ(amount(with_half(52.8437, std::nullopt), "J"), "52.84 J");
  EXPECT_EQ(amount(with_half(0, 0.02), "J"), "0 ± 20 mJ");
  EXPECT_EQ(amount(with_half(-0.0009, 0.035), "J"), "-1 ± 35 mJ");
  EXPECT_EQ(amount(with_half(21500, 12), "samples/s"), "21500 ± 12 samples/s");
}

TEST(Amounts, OfTwoEndsHaveOneUnit) {
  EXPECT_EQ(amounts_from_to(0.0213, 0.0221, "J"), "21.30 to 22.10 mJ");
  EXPECT_EQ(amounts_from_to(950, 12000, "J"), "0.9500 to 12.00 kJ");
}

TEST(Amounts, OneOfWhatIsCounted) {
  EXPECT_EQ(one_of("samples"), "sample");
  EXPECT_EQ(one_of("queries"), "query");
  EXPECT_EQ(one_of("batches"), "batch");
  EXPECT_EQ(one_of("passes"), "pass");
  EXPECT_EQ(one_of("images"), "image");
  EXPECT_EQ(one_of("work"), "work");
  EXPECT_EQ(one_of("class"), "class");
  EXPECT_EQ(one_of(""), "unit");
}

TEST(SavedJoules, AreTheSavingOfTheReferencesEnergyWithBothIntervals) {
  ScenarioSummary scenario;
  scenario.points.resize(2);
  scenario.reference = 0;
  scenario.points[0].is_reference = true;
  scenario.points[0].work_energy = with_half(200, 6);
  scenario.points[1].saving = Change{3, 0.25, 0.21, 0.29};
  const auto saved = saved_joules(scenario, scenario.points[1]);
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->value, 50);
  EXPECT_NEAR(*saved->low, 50 - std::hypot(8, 1.5), 1e-9);
  EXPECT_NEAR(*saved->high, 50 + std::hypot(8, 1.5), 1e-9);
  EXPECT_FALSE(saved_joules(scenario, scenario.points[0]));
  // Of the best as it is stated: what it owes to having been chosen is taken out.
  scenario.best = 1;
  scenario.gain_of_best = Change{3, 0.2, 0.1, 0.3};
  EXPECT_DOUBLE_EQ(saved_joules(scenario, scenario.points[1])->value, 40);
  scenario.points[0].work_energy->half_width.reset();
  EXPECT_FALSE(saved_joules(scenario, scenario.points[1])->low);
}

}  // namespace
}  // namespace dvfs_plan
