// The statistics keep their word: 2 000 simulated nights with blocks, drift and noise, in the order that the
// program itself would have run them; beside them the same nights run from high to low, as shell scripts do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "experiments/plan/plan.hpp"
#include "results/statistics/blocks.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

constexpr int points = 6, blocks = 5, reference = 0;

struct Truth {
  std::vector<double> energy;    // of each point
  std::vector<double> of_block;  // logarithm of the level in each part of the night
  double drift = 0;              // of the logarithm, from the night's first trial to its last
  double noise = 0.01;
};

Truth draw(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Truth truth;
  // A valley with its lowest point anywhere, neighbours between 0.2 % and 8 % apart.
  const double valley = uniform(random) * (points - 1);
  for (int p = 0; p < points; ++p)
    truth.energy.push_back(50 * (1 + 0.015 * (0.2 + uniform(random)) * std::pow(p - valley, 2)));
  for (int b = 0; b < blocks; ++b) truth.of_block.push_back(0.02 * normal(random));
  truth.drift = 0.08 * uniform(random);
  truth.noise = 0.005 + 0.01 * uniform(random);
  return truth;
}

struct Night {
  std::vector<BlockedValue> values;
};

// `order`: (point, block as the design has it); what the night does to a trial depends on when it runs.
Night run(const Truth& truth, const std::vector<std::pair<int, int>>& order, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Night night;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double when = static_cast<double>(i) / static_cast<double>(order.size());
    const auto part = static_cast<std::size_t>(when * blocks);
    const double level = truth.of_block[part] + truth.drift * when + truth.noise * normal(random);
    night.values.push_back({order[i].first, order[i].second,
                            truth.energy[static_cast<std::size_t>(order[i].first)] * std::exp(level)});
  }
  return night;
}

struct Score {
  int savings = 0, covered = 0, nights = 0, best_in_set = 0;
  double width = 0, set = 0;
  void print(const char* name) const {
    std::printf(
        "%-22s saving's 95 %% interval covers in %.2f %% (mean width %.2f points), true best in the set in "
        "%.2f %% "
        "(mean size %.2f of %d)\n",
        name, 100.0 * covered / savings, 100 * width / savings, 100.0 * best_in_set / nights, set / nights,
        points);
  }
};

void score(const Truth& truth, const Night& night, Score& into) {
  for (int p = 0; p < points; ++p) {
    if (p == reference) continue;
    const double saving = 1 - truth.energy[static_cast<std::size_t>(p)] / truth.energy[reference];
    // Without blocks this pairs the k-th repetition with the k-th, as one does with a table of repetitions.
    const auto change = paired_change(night.values, p, reference, ChangeOf::saving);
    ++into.savings;
    into.covered += *change->low <= saving && saving <= *change->high ? 1 : 0;
    into.width += *change->high - *change->low;
  }
  std::vector<int> all(points);
  std::iota(all.begin(), all.end(), 0);
  const auto best =
      static_cast<int>(std::min_element(truth.energy.begin(), truth.energy.end()) - truth.energy.begin());
  const auto set = BlockModel(night.values, points).not_worse_than_best(all, 0.05);
  ++into.nights;
  into.best_in_set += std::find(set.begin(), set.end(), best) != set.end() ? 1 : 0;
  into.set += static_cast<double>(set.size());
}

// The program's own schedule: shuffled blocks with two trials of the reference in each.
std::vector<std::pair<int, int>> blocked_order(std::uint64_t seed) {
  std::vector<PlanPoint> plan_points(points);
  for (int p = 0; p < points; ++p) {
    plan_points[static_cast<std::size_t>(p)].key = std::to_string(p);
    plan_points[static_cast<std::size_t>(p)].scenario = "w";
    plan_points[static_cast<std::size_t>(p)].reference = p == reference;
  }
  std::vector<std::pair<int, int>> order;
  for (const PlannedTrial& trial : schedule(plan_points, blocks, {true, seed, true, false}))
    order.emplace_back(trial.point, trial.block);
  return order;
}

// Each point's repetitions in a row, from the highest setting to the lowest.
std::vector<std::pair<int, int>> high_to_low() {
  std::vector<std::pair<int, int>> order;
  for (int p = 0; p < points; ++p) {
    for (int k = 1; k <= blocks; ++k) order.emplace_back(p, k);
  }
  return order;
}

TEST(Coverage, IntervalsAndSetsOfTwoThousandSimulatedNights) {
  Score in_blocks, in_order;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    const Truth truth = draw(random);
    auto same = random;  // the same noise for both
    score(truth, run(truth, blocked_order(seed), random), in_blocks);
    score(truth, run(truth, high_to_low(), same), in_order);
  }
  in_blocks.print("randomised blocks:");
  in_order.print("from high to low:");
  const double covered = static_cast<double>(in_blocks.covered) / in_blocks.savings;
  EXPECT_GE(covered, 0.93);
  EXPECT_LE(covered, 0.97);
  EXPECT_GE(in_blocks.best_in_set, 0.95 * in_blocks.nights);
  // A set of everything would hold the best too.
  EXPECT_LT(in_blocks.set / in_blocks.nights, 0.75 * points);
  EXPECT_LT(static_cast<double>(in_order.covered) / in_order.savings, 0.9);
  EXPECT_LT(in_order.best_in_set, 0.95 * in_order.nights);
}

}  // namespace
}  // namespace dvfs_plan
