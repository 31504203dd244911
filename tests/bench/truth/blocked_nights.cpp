#include "tests/bench/truth/blocked_nights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "experiments/plan/plan.hpp"
#include "results/statistics/blocks.hpp"
#include "results/statistics/winner.hpp"

namespace dvfs_plan::truth {
namespace {

constexpr int reference = 0;

std::vector<std::pair<int, int>> order_of(const BlockConditions& conditions, std::uint64_t seed) {
  std::vector<PlanPoint> points(static_cast<std::size_t>(conditions.points));
  for (std::size_t p = 0; p < points.size(); ++p) {
    points[p].key = std::to_string(p);
    points[p].scenario = "w";
    points[p].reference = p == reference;
  }
  std::vector<std::pair<int, int>> order;
  for (const PlannedTrial& trial : schedule(points, conditions.blocks, {true, seed, true, false}))
    order.emplace_back(trial.point, trial.block);
  return order;
}

}  // namespace

std::string to_string(Drift drift) {
  const char* names[] = {"no drift",
                         "linear in each block",
                         "settles in 3 trials, each block",
                         "settles in 10 trials, each block",
                         "settles in 3 trials, once",
                         "a step",
                         "a random walk"};
  return names[static_cast<int>(drift)];
}

std::string to_string(Noise noise) {
  const char* names[] = {"equal noise", "best 10 x as noisy", "half of them 3 x as noisy"};
  return names[static_cast<int>(noise)];
}

BlockOutcome state_a_night(const BlockConditions& c, std::uint64_t seed, bool with_set) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto points = static_cast<std::size_t>(c.points);
  std::vector<double> truth(points, 0), scatter(points, c.scatter);
  if (!c.alike) {
    const double valley = uniform(random) * static_cast<double>(points - 1);
    for (std::size_t p = 0; p < points; ++p)
      truth[p] = 8 * c.scatter * std::pow((static_cast<double>(p) - valley) / static_cast<double>(points), 2);
  }
  const auto best = static_cast<std::size_t>(
      std::min_element(truth.begin() + (c.alike ? 1 : 0), truth.end()) - truth.begin());
  if (c.noise == Noise::noisy_best) scatter[best] *= 10;
  if (c.noise == Noise::half_noisy) {
    for (std::size_t p = 1; p < points; p += 2) scatter[p] *= 3;
  }
  const auto order = order_of(c, seed);
  const double steps_at = uniform(random) * static_cast<double>(order.size());
  std::vector<BlockedValue> values;
  double walk = 0;
  int in_block = 0, block = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    in_block = order[i].second == block ? in_block + 1 : 0;
    block = order[i].second;
    const double trials_of_a_block = static_cast<double>(order.size()) / c.blocks;
    walk += c.drift_size / std::sqrt(trials_of_a_block) * normal(random);
    double drift = 0;
    switch (c.drift) {
      case Drift::none:
        break;
      case Drift::linear:
        drift = c.drift_size * in_block / trials_of_a_block;
        break;
      case Drift::settles_in_3:
        drift = c.drift_size * std::exp(-in_block / 3.0);
        break;
      case Drift::settles_in_10:
        drift = c.drift_size * std::exp(-in_block / 10.0);
        break;
      case Drift::settles_once:
        drift = c.drift_size * std::exp(-static_cast<double>(i) / 3.0);
        break;
      case Drift::step:
        drift = static_cast<double>(i) > steps_at ? c.drift_size : 0;
        break;
      case Drift::walk:
        drift = walk;
        break;
    }
    const auto p = static_cast<std::size_t>(order[i].first);
    values.push_back(
        {order[i].first, order[i].second, 100 * std::exp(truth[p] + drift + scatter[p] * normal(random))});
  }

  BlockOutcome outcome;
  const auto saving_of = [&](int p) {
    return 1 - std::exp(truth[static_cast<std::size_t>(p)] - truth[reference]);
  };
  const auto holds = [&](const Change& change, int p) {
    return change.low && *change.low <= saving_of(p) && saving_of(p) <= *change.high;
  };
  for (int p = 1; p < c.points; ++p) {
    const auto change = paired_change(values, p, reference, ChangeOf::saving);
    if (!change || !change->low) continue;
    ++outcome.savings;
    outcome.savings_hold += holds(*change, p) ? 1 : 0;
    outcome.savings_width += *change->high - *change->low;
  }
  if (!with_set) return outcome;
  const BlockModel model(values, c.points);
  std::vector<int> all(points);
  std::iota(all.begin(), all.end(), 0);
  const auto set = model.not_worse_than_best(all, 0.05);
  outcome.best_in_set = std::find(set.begin(), set.end(), static_cast<int>(best)) != set.end();
  outcome.set = static_cast<int>(set.size());
  const int named = *std::min_element(all.begin(), all.end(),
                                      [&](int a, int b) { return *model.level(a) < *model.level(b); });
  const auto corrected = winners_saving(values, c.points, named, reference, all);
  const auto plain = paired_change(values, named, reference, ChangeOf::saving);
  if (!corrected || !plain || !plain->low) return outcome;
  outcome.named = true;
  outcome.named_holds = holds(*corrected, named);
  outcome.plain_holds = holds(*plain, named);
  outcome.named_width = *corrected->high - *corrected->low;
  outcome.plain_width = *plain->high - *plain->low;
  return outcome;
}

}  // namespace dvfs_plan::truth
