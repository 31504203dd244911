// What each axis is worth, on nights whose truth is known.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "results/report/summary.hpp"

namespace dvfs_plan {
namespace {

constexpr std::array core_values{"1 GHz", "2 GHz", "3 GHz"};
constexpr std::array memory_values{"low", "mid", "high"};

// Energies of a 3 x 3 grid; the reference is the highest of both.
struct GridTruth {
  std::array<std::array<double, 3>, 3> joules;
  double gain(int c, int m, int c0, int m0) const { return 1 - joules[c][m] / joules[c0][m0]; }
};

std::vector<TrialRow> night_of(const GridTruth& truth, int blocks, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  std::vector<TrialRow> trials;
  for (int block = 1; block <= blocks; ++block) {
    const double level = std::exp(0.05 * normal(random));
    for (int c = 0; c < 3; ++c) {
      for (int m = 0; m < 3; ++m) {
        TrialRow& r = trials.emplace_back();
        r.id = static_cast<std::int64_t>(trials.size());
        r.scenario = r.workload = "w";
        r.point = std::string("w core=") + core_values[c] + " memory=" + memory_values[m];
        r.key = r.point + " #" + std::to_string(block);
        r.is_reference = c == 2 && m == 2;
        r.settings = {{"core", core_values[c], c + 1.0}, {"memory", memory_values[m], std::nullopt}};
        r.block = block;
        r.attempt = 1;
        r.runs = 1;
        r.role = TrialRole::point;
        r.outcome = "completed";
        r.verdict = "ok";
        r.time_s = 1;
        r.energy_j = truth.joules[c][m] * level * std::exp(noise * normal(random));
        r.objective_value = r.energy_j;
      }
    }
  }
  return trials;
}

ScenarioSummary scenario_of(const std::vector<TrialRow>& trials) {
  ExperimentRow experiment;
  experiment.planned_trials = static_cast<int>(trials.size());
  return summarise(experiment, trials).scenarios.front();
}

TEST(AxisEffects, AreNamedWhereBestAndReferenceDifferOnSeveralAxes) {
  std::mt19937_64 random(1);
  const GridTruth truth{{{{100, 80, 90}, {70, 50, 60}, {110, 95, 100}}}};
  const ScenarioSummary scenario = scenario_of(night_of(truth, 6, 0.002, random));
  ASSERT_EQ(scenario.points[*scenario.best].point, "w core=2 GHz memory=mid");
  ASSERT_EQ(scenario.axis_effects.size(), 2);
  const AxisEffect& clock = scenario.axis_effects[0];
  EXPECT_EQ(clock.axis, "core");
  EXPECT_EQ(clock.best, "2 GHz");
  EXPECT_EQ(clock.reference, "3 GHz");
  EXPECT_EQ(scenario.points[*clock.alone].point, "w core=2 GHz memory=high");
  EXPECT_EQ(scenario.points[*clock.without].point, "w core=3 GHz memory=mid");
  EXPECT_NEAR(clock.gain_alone->value, 0.4, 0.01);
  EXPECT_NEAR(clock.gain_on_top->value, 1 - 50.0 / 95, 0.01);
  EXPECT_NEAR(scenario.axis_effects[1].gain_alone->value, 0.05, 0.01);
  EXPECT_NEAR(scenario.axis_effects[1].gain_on_top->value, 1 - 50.0 / 60, 0.01);
  EXPECT_NE(axis_effects_table(scenario, {}).find("core "), std::string::npos);
}

TEST(AxisEffects, OfOneAxisAreTheAnswerItself) {
  std::mt19937_64 random(1);
  const GridTruth truth{{{{100, 90, 80}, {70, 60, 50}, {110, 105, 100}}}};
  EXPECT_TRUE(scenario_of(night_of(truth, 6, 0.002, random)).axis_effects.empty());
}

// Landscapes drawn at random, flat ones among them, where the best is chosen by luck: intervals of what is stated of the setting that
// was chosen hold in 95 % of the nights.
TEST(AxisEffects, IntervalsHold) {
  std::mt19937_64 random(20261124);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  int on_top = 0, on_top_held = 0, alone = 0, alone_held = 0;
  for (int i = 0; i < 500; ++i) {
    GridTruth truth;
    const double spread = i % 2 == 0 ? 0.01 : 0.1;
    for (auto& row : truth.joules) {
      for (double& joules : row) joules = 100 * std::exp(spread * normal(random));
    }
    const double noise = 0.005 + 0.02 * uniform(random);
    const ScenarioSummary scenario = scenario_of(night_of(truth, 5, noise, random));
    for (const AxisEffect& effect : scenario.axis_effects) {
      const auto place = [&](std::size_t point) {
        const auto& settings = scenario.points[point].settings;
        int c = 0, m = 0;
        while (settings[0].text != core_values[c]) ++c;
        while (settings[1].text != memory_values[m]) ++m;
        return truth.joules[c][m];
      };
      const double best = place(*scenario.best), reference = place(*scenario.reference);
      const auto holds = [](const Change& change, double true_value) {
        return *change.low <= true_value && true_value <= *change.high;
      };
      ASSERT_TRUE(effect.gain_alone && effect.gain_on_top);
      ++alone, ++on_top;
      alone_held += holds(*effect.gain_alone, 1 - place(*effect.alone) / reference) ? 1 : 0;
      on_top_held += holds(*effect.gain_on_top, 1 - best / place(*effect.without)) ? 1 : 0;
    }
  }
  ASSERT_GT(on_top, 300);
  // Four standard deviations of a count below 95 %.
  const auto least = [](int n) { return 0.95 * n - 4 * std::sqrt(0.05 * 0.95 * n); };
  EXPECT_GE(on_top_held, least(on_top)) << "of " << on_top;
  EXPECT_GE(alone_held, least(alone)) << "of " << alone;
}

}  // namespace
}  // namespace dvfs_plan
