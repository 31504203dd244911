// Readings into joules, trials into an answer, and the file that keeps them.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "results/energy/energy_source.hpp"
#include "results/export/table.hpp"
#include "results/report/finalists.hpp"
#include "results/report/report.hpp"
#include "results/store/migrate.hpp"
#include "results/store/parts.hpp"
#include "results/store/store.hpp"
#include "results/store/writer_lock.hpp"
#include "tests/support/parse.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// NVML's counter of a GH200 covers the module (github.com/ml-energy/zeus issue 172): with Grace's meter it would count Grace twice.
TEST(EnergySource, OfAModulesBoardNothingIsAddedToGrace) {
  const std::vector<Channel> superchip{gauge("module-0", "system"), gauge("grace-0", "module-0"),
                                       counter("gpu-0", {}, "module-0")};
  EXPECT_EQ(energy_sources(superchip, {}).at(0).name, "module-0");
  const std::vector<std::uint32_t> dead{0};
  EXPECT_EQ(energy_sources(superchip, dead).at(0).name, "gpu-0");
  // A board of its own beside Grace is another matter.
  const std::vector<Channel> beside{gauge("grace-0", "system"), counter("gpu-0", {}, "system")};
  EXPECT_EQ(energy_sources(beside, {}).at(0).name, "grace-0 + gpu-0");
}

TEST(EnergySource, TakesTheWidestAndNeverSumsAPartWithItsWhole) {
  const std::vector<Channel> channels{counter("package-0", {}, "psys"),
                                      counter("core-0", {}, "package-0"),
                                      counter("dram-0", {}, "psys"),
                                      counter("package-1", {}, "psys"),
                                      counter("psys"),
                                      gauge("ina/rail", "system")};
  auto sources = energy_sources(channels, {});
  EXPECT_EQ(sources.at(0).name, "psys");
  EXPECT_EQ(sources.at(1).name, "package-0 + dram-0 + package-1");
  const std::vector<std::uint32_t> dead{4};
  EXPECT_EQ(energy_sources(channels, dead).at(0).name, "package-0 + dram-0 + package-1");
  // One dead package of two is no smaller machine, and a rail is no answer to what the machine draws.
  const std::vector<std::uint32_t> one_package{3, 4};
  EXPECT_TRUE(energy_sources(channels, one_package).empty());
  const std::vector<std::uint32_t> dram_dead{2, 4};
  EXPECT_EQ(energy_sources(channels, dram_dead).at(0).name, "package-0 + package-1");
  EXPECT_EQ(energy_source_of("package", channels)->name, "package-0 + package-1");
  EXPECT_EQ(energy_source_of("core-0", channels)->channels, std::vector<std::uint32_t>{1});
  EXPECT_FALSE(energy_source_of("gpu", channels));
}

TEST(EnergySource, BoardsBelongToWhateverIsSummed) {
  const std::vector<Channel> channels{counter("package-0"),
                                      counter("dram-0"),
                                      counter("gpu-0", {}, "system"),
                                      gauge("gpu-0", "system"),
                                      counter("gpu-1", {}, "system"),
                                      counter("gpu-1/pkg", {}, "gpu-1"),
                                      counter("psys")};
  const auto names = [&](const std::vector<std::uint32_t>& dead) {
    std::vector<std::string> found;
    for (const EnergySource& source : energy_sources(channels, dead)) found.push_back(source.name);
    return found;
  };
  EXPECT_THAT(names({}), testing::ElementsAre("gpu-0 + gpu-1 + psys", "package-0 + dram-0 + gpu-0 + gpu-1",
                                              "package-0 + gpu-0 + gpu-1", "gpu-0 + gpu-1"));
  // A virtual machine: RAPL is there and dead.
  EXPECT_THAT(names({0, 1, 6}), testing::ElementsAre("gpu-0 + gpu-1"));
  // A board whose counter is dead is measured by its gauge, and one that is dead altogether by nothing else.
  EXPECT_EQ(energy_sources(channels, std::vector<std::uint32_t>{2})[0].channels,
            (std::vector<std::uint32_t>{3, 4, 6}));
  EXPECT_THAT(names({4}), testing::IsEmpty());
  // "gpu" is the boards, not what lies inside one of them as well.
  EXPECT_EQ(energy_source_of("gpu", channels)->name, "gpu-0 + gpu-1");
  EXPECT_EQ(energy_source_of("gpu-1", channels)->channels, std::vector<std::uint32_t>{4});
}

TEST(EnergySource, TakesTheGaugeWhereTheCounterOfTheSameDomainIsDead) {
  const std::vector<Channel> channels{counter("system"), gauge("system")};
  EXPECT_EQ(energy_sources(channels, {}).at(0).channels, std::vector<std::uint32_t>{0});
  const std::vector<std::uint32_t> dead{0};
  EXPECT_EQ(energy_sources(channels, dead).at(0).channels, std::vector<std::uint32_t>{1});
}

// ------------------------------------------------------------------ statistics

TrialRow row(const std::string& clock, double ghz, int block, double energy, double time,
             const std::string& verdict = "ok") {
  TrialRow r;
  r.scenario = r.workload = "w";
  r.point = "w cpu.frequency=" + clock;
  r.key = r.point + " #" + std::to_string(block);
  r.is_reference = ghz == 3.0;
  r.block = block;
  r.verdict = verdict;
  r.verdict_text = verdict == "ok" ? "" : "because";
  if (verdict == "ok") {
    r.energy_j = energy;
    r.time_s = time;
    r.mean_power_w = energy / time;
    r.objective_value = energy;
  }
  r.settings = {{"cpu.frequency", clock, ghz * 1e9}};
  return r;
}

ExperimentRow experiment(int planned) {
  ExperimentRow e;
  e.name = "sweep";
  e.energy_source = "system";
  e.planned_trials = planned;
  e.axes = {{"cpu.frequency", "knob"}};
  return e;
}

TEST(Summary, PairsSavingsWithinBlocks) {
  // Block 2 is 10 % hotter in everything; the ratio within a block is always 0.8.
  const auto summary =
      summarise(experiment(4), {row("3 GHz", 3, 1, 100, 1), row("1.8 GHz", 1.8, 1, 80, 1.5),
                                row("3 GHz", 3, 2, 110, 1), row("1.8 GHz", 1.8, 2, 88, 1.5)});
  const auto& points = summary.scenarios.at(0).points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].point, "w cpu.frequency=1.8 GHz");  // ascending
  EXPECT_NEAR(points[0].saving->value, 0.2, 1e-12);
  EXPECT_NEAR(*points[0].saving->low, 0.2, 1e-9);
  EXPECT_NEAR(points[0].slowdown->value, 0.5, 1e-12);
  EXPECT_FALSE(points[1].saving);
  EXPECT_EQ(answer_sentences(summary).at(0),
            "w: the least energy at cpu.frequency = 1.8 GHz, 84 ± 51 J in 1.500 ± 0.000 s (2 trials count). "
            "Against the "
            "reference (cpu.frequency = 3 GHz): 20.0 % less energy "
            "(95 % interval 20.0 to 20.0 %), 50.0 % slower (95 % interval 50.0 to 50.0 %). Every other "
            "point is worse, at the 5 % level. The best lies at the edge of what was swept on cpu.frequency; "
            "the optimum "
            "may lie beyond. 4 trials stand behind this; none was excluded.");
}

// A against A: at no drift at all, with no least size of one, it may be said once in twenty nights; whatever the starts of a service, one a
// block, differ by, and however many metrics are looked at.
TEST(Summary, LatenciesThatDoNotDriftAreSaidToAboutOnceInTwenty) {
  std::mt19937 random(20261123);
  int told = 0;
  constexpr int nights = 600;
  for (int night = 0; night < nights; ++night) {
    std::lognormal_distribution<double> noise(0,
                                              0.01 + 0.2 * std::uniform_real_distribution<double>()(random));
    const int points = 4 + static_cast<int>(random() % 8), blocks = 4 + static_cast<int>(random() % 6);
    std::lognormal_distribution<double> start(0, 0.01 + 0.03 * static_cast<double>(night % 4));
    std::vector<TrialRow> rows;
    for (int block = 1; block <= blocks; ++block) {
      const double of_block = start(random), of_another = start(random);
      for (int p = 1; p <= points; ++p) {
        rows.push_back(row(fmt::format("{} GHz", p), p, block, 100, 1));
        rows.back().metrics["p99_latency"] = 10.0 * p * of_block * noise(random);
        rows.back().metrics["p50_ttft"] = 4.0 * p * of_another * noise(random);
      }
    }
    ExperimentRow e = experiment(points * blocks);
    e.drift_limit = 0;
    told += summarise(e, rows).scenarios.at(0).metric_drift.empty() ? 0 : 1;
  }
  EXPECT_NEAR(static_cast<double>(told) / nights, 0.05, 0.02);
}

// Among those of a point that did not reach the target, a lower bound is the mean of what they used and of what the others took.
TEST(Summary, APointOfWhichTrialsDidNotReachTheTargetIsABoundAndNeverTheBest) {
  std::vector<TrialRow> rows{row("3 GHz", 3, 1, 100, 1), row("3 GHz", 3, 2, 102, 1),
                             row("1 GHz", 1, 1, 20, 1), row("1 GHz", 1, 2, 0, 1, "censored")};
  rows.back().more_than = 90;
  ExperimentRow e = experiment(4);
  e.targets["w"] = "loss <= 1";
  const auto summary = summarise(e, rows);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  EXPECT_EQ(scenario.points[*scenario.best].point, "w cpu.frequency=3 GHz");
  const PointSummary& slow = scenario.points[0];
  EXPECT_EQ(slow.censored, 1);
  EXPECT_DOUBLE_EQ(*slow.more_than, 55);
  EXPECT_FALSE(slow.objective);
  EXPECT_EQ(summary.unmended, 0);
  EXPECT_THAT(
      answer_sentences(summary).at(0),
      testing::HasSubstr(" At cpu.frequency = 1 GHz 1 of 2 trials did not reach loss <= 1: more than "
                         "55.00 J there in the mean of them all, so that it is not shown to be worse."));
}

// What trials used that did not reach the target scatters as others' does: to take as much as the best is no proof of taking more.
TEST(Summary, ABoundIsBeyondTheBestOnlyWhereScatterAndSensorsDoNotExplainIt) {
  std::mt19937 random(20261130);
  std::normal_distribution<double> noise(0, 0.03);
  const auto nights_called_worse = [&](double times, double sensor) {
    int told = 0;
    for (int night = 0; night < 400; ++night) {
      std::vector<TrialRow> rows;
      const int blocks = 2 + night % 4;
      for (int block = 1; block <= blocks; ++block) {
        rows.push_back(row("3 GHz", 3, block, 50 * std::exp(noise(random)), 1));
        rows.push_back(row("2 GHz", 2, block, 60 * std::exp(noise(random)), 1));
        rows.push_back(row("1 GHz", 1, block, 0, 1, "censored"));
        rows.back().more_than = rows.back().energy_j = 50 * times * std::exp(noise(random));
        for (TrialRow& one : rows) {
          one.energy_half_width_j = sensor * *one.energy_j;
          one.energy_systematic_j = one.energy_half_width_j;
        }
      }
      ExperimentRow e = experiment(3 * blocks);
      e.targets["w"] = "loss <= 1";
      const auto summary = summarise(e, rows);
      const PointSummary& bound = summary.scenarios.at(0).points[0];
      told += bound.worse_by_bound ? 1 : 0;
      double mean = 0;
      for (const TrialRow& one : rows) mean += one.more_than.value_or(0) / blocks;
      EXPECT_NEAR(*bound.more_than, mean * (1 - sensor), 1e-9);
    }
    return told;
  };
  EXPECT_LE(nights_called_worse(1, 0), 20);  // 10 of 400 by chance
  EXPECT_LE(nights_called_worse(1, 0.08), 4);
  EXPECT_GE(nights_called_worse(1.5, 0.08), 340);  // of two blocks little is known
}

// A trial that did `units` of work, in all for this energy and time.
TrialRow work_row(const std::string& clock, double ghz, int block, double units, double joules,
                  double seconds) {
  TrialRow one = row(clock, ghz, block, joules, seconds);
  one.units = units;
  if (units > 0) {
    one.energy_per_unit_j = joules / units;
    one.time_per_unit_s = seconds / units;
    one.objective_value = joules / units;
  } else {
    one.objective_value.reset();
  }
  return one;
}

ExperimentRow per_correct(int planned) {
  ExperimentRow e = experiment(planned);
  e.objective.minimise = Objective::energy;
  e.objective.per = "correct";
  return e;
}

// 500 or 1500 by turns for the same energy are 1000 on the average, and not what the mean of 1/500 and 1/1500 says.
TEST(Summary, UnequalWorkIsDividedAsAWhole) {
  std::vector<TrialRow> rows;
  for (int block = 1; block <= 30; ++block) {
    rows.push_back(work_row("3 GHz", 3, block, 800, 100, 1));
    rows.push_back(work_row("1 GHz", 1, block, block % 2 == 0 ? 500 : 1500, 100, 1));
  }
  const auto summary = summarise(per_correct(60), rows);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  const PointSummary &varied = scenario.points[0], &steady = scenario.points[1];
  EXPECT_NEAR(varied.work_energy->mean, 0.1, 1e-12);
  EXPECT_NEAR(varied.energy_per_unit->mean, 0.1, 1e-12);
  EXPECT_NEAR(varied.work_time->mean, 0.001, 1e-12);
  EXPECT_NEAR(varied.edp->mean, 0.1 * 0.001, 1e-12);
  EXPECT_DOUBLE_EQ(steady.work_energy->mean, 0.125);
  EXPECT_GT(*varied.work_energy->half_width, 0.01);
  EXPECT_NEAR(varied.saving->value, 0.2, 1e-9) << "1 - 0.1 / 0.125";
  EXPECT_EQ(*scenario.best, 0U);
}

// One of five brings nothing: that is used all the same.
TEST(Summary, ATrialThatDidNoWorkIsPartOfTheAverage) {
  std::vector<TrialRow> rows;
  for (int block = 1; block <= 10; ++block) {
    rows.push_back(work_row("3 GHz", 3, block, 600, 100, 1));
    rows.push_back(work_row("1 GHz", 1, block, block % 5 == 0 ? 0 : 650, 100, 1));
  }
  const auto summary = summarise(per_correct(20), rows);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  EXPECT_NEAR(scenario.points[0].work_energy->mean, 10 * 100 / (8 * 650.0), 1e-12);
  EXPECT_EQ(scenario.points[0].counted, 10);
  EXPECT_EQ(*scenario.best, 1U) << "0.167 J against 0.192 J";
  // None did any: nothing is known of it.
  rows.clear();
  for (int block = 1; block <= 3; ++block) {
    rows.push_back(work_row("3 GHz", 3, block, 600, 100, 1));
    rows.push_back(work_row("1 GHz", 1, block, 0, 100, 1));
  }
  const auto none = summarise(per_correct(6), rows);
  EXPECT_FALSE(none.scenarios.at(0).points[0].work_energy);
  EXPECT_EQ(*none.scenarios.at(0).best, 1U);
}

// How often the interval of an amount per unit holds what it is, over random families of work and of what it takes.
TEST(Summary, IntervalsOfUnequalWorkHoldTheTruth) {
  std::mt19937 random(20261126);
  int means = 0, mean_holds = 0, savings = 0, saving_holds = 0;
  for (int night = 0; night < 400; ++night) {
    const double spread = 0.05 + 0.5 * std::uniform_real_distribution<double>()(random);
    const double truth = 1 + std::uniform_real_distribution<double>()(random);
    const int blocks = 5 + static_cast<int>(random() % 15);
    const bool fixed_time = random() % 2 == 0;  // else what it takes goes with the work
    std::lognormal_distribution<double> work(-spread * spread / 2, spread);
    std::normal_distribution<double> noise(1, 0.02);
    std::vector<TrialRow> rows;
    for (int block = 1; block <= blocks; ++block) {
      rows.push_back(work_row("3 GHz", 3, block, 100, 100 * noise(random), 1));
      const double units = 100 * work(random);
      rows.push_back(
          work_row("1 GHz", 1, block, units, (fixed_time ? 100 : units) * truth * noise(random), 1));
    }
    const auto summary = summarise(per_correct(2 * blocks), rows);
    const PointSummary& varied = summary.scenarios.at(0).points[0];
    ++means;
    mean_holds += std::abs(varied.work_energy->mean - truth) <= *varied.work_energy->half_width ? 1 : 0;
    ++savings;
    saving_holds += *varied.saving->low <= 1 - truth && 1 - truth <= *varied.saving->high ? 1 : 0;
  }
  EXPECT_GE(static_cast<double>(mean_holds) / means, 0.90);
  EXPECT_GE(static_cast<double>(saving_holds) / savings, 0.90);
}

// Nights in which a few trials did most of the work: the same amounts at both settings, or by chance. They rule what is told, and tell of the
// scatter what so few do.
TEST(Summary, IntervalsHoldWhereAFewTrialsDidMostOfTheWork) {
  std::mt19937 random(20261130);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int means = 0, mean_holds = 0, savings = 0, saving_holds = 0;
  for (int night = 0; night < 400; ++night) {
    const int blocks = 3 + static_cast<int>(random() % 10);
    const double truth = between(0.8, 1.2), noise = between(0.01, 0.1), spread = between(0.5, 2);
    const double larger_by = between(1.3, 3);  // from block to block
    const bool by_block = night % 2 == 0;
    std::normal_distribution<double> normal;
    std::vector<TrialRow> rows;
    std::vector<int> order(static_cast<std::size_t>(blocks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int block = 1; block <= blocks; ++block) {
      const auto units = [&] {
        return 100 * (by_block ? std::pow(larger_by, order[static_cast<std::size_t>(block - 1)])
                               : std::exp(spread * normal(random)));
      };
      const auto took = [&](double all) { return all * std::exp(noise * normal(random)); };
      const double one = units(), other = units();
      rows.push_back(work_row("3 GHz", 3, block, one, took(one), 1));
      rows.push_back(work_row("1 GHz", 1, block, other, took(other * truth), 1));
    }
    const auto summary = summarise(per_correct(2 * blocks), rows);
    const PointSummary& varied = summary.scenarios.at(0).points[0];
    const double mean = truth * std::exp(noise * noise / 2);
    ++means;
    mean_holds += std::abs(varied.work_energy->mean - mean) <= *varied.work_energy->half_width ? 1 : 0;
    ++savings;
    saving_holds += *varied.saving->low <= 1 - truth && 1 - truth <= *varied.saving->high ? 1 : 0;
  }
  std::printf(
      "unequal work, most of it in a few trials: the interval of a mean holds in %d of %d nights, that of "
      "a saving in %d of %d\n",
      mean_holds, means, saving_holds, savings);
  EXPECT_GE(static_cast<double>(mean_holds) / means, 0.93);
  EXPECT_GE(static_cast<double>(saving_holds) / savings, 0.93);
}

// Mostly 54 J, now and then 218 J, 103 J on the average; the other takes 100 J each time.
TEST(Summary, WhereTheMeansSayAnotherThingThanTheBlocksRatiosBothAreSaid) {
  std::vector<TrialRow> rows;
  for (int block = 1; block <= 60; ++block) {
    rows.push_back(row("3 GHz", 3, block, 100 + 0.01 * (block % 3), 1));
    rows.push_back(row("1 GHz", 1, block, block % 10 < 3 ? 218.4 : 53.6, 1));
  }
  const auto summary = summarise(experiment(120), rows);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  EXPECT_EQ(*scenario.best, 1U);
  EXPECT_GT(*scenario.points[0].gain->low, 0) << "by ratios it saves";
  ASSERT_TRUE(scenario.points[0].gain_of_means);
  EXPECT_NEAR(*scenario.points[0].gain_of_means, -0.03, 0.01);
  EXPECT_TRUE(scenario.points[0].not_told_apart);
  EXPECT_THAT(further_sentences(summary),
              testing::Contains(HasSubstr("are not those of the means at cpu.frequency = 1 GHz (3.")));
  for (TrialRow& one : rows) one.is_reference = one.settings.at(0).text == "1 GHz";
  EXPECT_THAT(answer_sentences(summarise(experiment(120), rows)).at(0),
              testing::AllOf(HasSubstr("% more energy"), HasSubstr(" By the two means it is 2."),
                             HasSubstr("that this point is better on the average is not shown."),
                             HasSubstr("At the 5 % level it cannot be told from cpu.frequency = 1 GHz")));
}

TEST(Summary, WhatDoesNotCountCannotWin) {
  const auto summary = summarise(experiment(3), {row("1 GHz", 1, 1, 1, 1, "not_delivered"),
                                                 row("2 GHz", 2, 1, 50, 1), row("3 GHz", 3, 1, 60, 1)});
  EXPECT_EQ(*summary.scenarios.at(0).best, 1U);
  EXPECT_EQ(summary.not_counted.at("not_delivered"), 1);
  EXPECT_THAT(terminal_report(summary, {}, {}), HasSubstr("0 of 1"));
}

TEST(Summary, ATrialThatARerunMendedLeavesNothingToReport) {
  auto disturbed = row("1 GHz", 1, 1, 50, 1, "foreign_load"), again = row("1 GHz", 1, 1, 51, 1);
  again.attempt = 2;
  const auto other = row("3 GHz", 3, 1, 60, 1);
  EXPECT_EQ(summarise(experiment(2), {disturbed, other}).unmended, 1);
  const auto mended = summarise(experiment(2), {disturbed, other, again});
  EXPECT_EQ(mended.unmended, 0);
  EXPECT_EQ(mended.not_counted.at("foreign_load"), 1);  // told all the same
  EXPECT_EQ(mended.left, 0);
}

// "10 of 10 trials" beside "1 of 10 trials are still to be run" would count the trial that was run again in the place of the one that is left.
TEST(Summary, ARerunTakesNoPlannedTrialsPlace) {
  auto disturbed = row("1 GHz", 1, 1, 50, 1, "foreign_load"), again = row("1 GHz", 1, 1, 51, 1);
  again.attempt = 2;
  const std::vector<TrialRow> trials{disturbed, row("3 GHz", 3, 1, 60, 1), again};
  const auto summary = summarise(experiment(3), trials);
  EXPECT_EQ(summary.attempts, 3);
  EXPECT_EQ(summary.finished, 2);
  EXPECT_EQ(summary.left, 1);
  const std::string text = terminal_report(summary, trials, {});
  EXPECT_THAT(text, HasSubstr(": 2 of 3 trials, objective"));
  EXPECT_THAT(text, HasSubstr("Not counted: 1 of 3 trials."));
  EXPECT_THAT(text, HasSubstr("1 of 3 trials are still to be run"));
}

ExperimentRow of_slowdown_10_percent(int planned) {
  ExperimentRow constrained = experiment(planned);
  ConstraintSpec slowdown;
  slowdown.name = "slowdown";
  slowdown.limit = 0.1;
  constrained.objective.constraints = {slowdown};
  return constrained;
}

TEST(Summary, OfPointsThatBreakAConstraintNothingIsSaid) {
  const auto constrained = of_slowdown_10_percent(4);
  std::vector<TrialRow> trials;
  for (const int block : {1, 2}) {
    trials.push_back(row("1 GHz", 1, block, 50, 2));
    trials.push_back(row("3 GHz", 3, block, 60, 1));
    trials.back().is_reference = true;
  }
  const auto sentence = answer_sentences(summarise(constrained, trials)).at(0);
  EXPECT_THAT(sentence, testing::StartsWith("w: the least energy with slowdown <= 10 % at cpu.frequency = 3 "
                                            "GHz, 60.00 ± 0.00 J in 1.000 ± 0.000 s"));
  EXPECT_THAT(sentence,
              HasSubstr("This is the reference point itself. No other point holds the constraints."));
}

// By its mean 1 GHz is 11 % slower, and its interval reaches below 10 %; or 9 %, and reaches beyond. It takes more energy, or less.
TEST(Summary, WhatOnlyAnEstimateSaysOfALimitIsToldSo) {
  const auto constrained = of_slowdown_10_percent(6);
  const auto night = [&](double seconds, double joules) {
    std::vector<TrialRow> trials;
    for (const int block : {1, 2, 3}) {
      trials.push_back(row("1 GHz", 1, block, joules, seconds + 0.03 * (block - 2)));
      trials.push_back(row("3 GHz", 3, block, 60, 1));
      trials.back().is_reference = true;
    }
    return trials;
  };
  EXPECT_THAT(
      answer_sentences(summarise(constrained, night(1.11, 70))).at(0),
      HasSubstr("This is the reference point itself. No other point is known to hold the constraints."));
  EXPECT_THAT(answer_sentences(summarise(constrained, night(1.5, 70))).at(0),
              HasSubstr("This is the reference point itself. No other point holds the constraints."));
  EXPECT_THAT(further_sentences(summarise(experiment(6), night(1.09, 40))),
              testing::Contains(testing::AllOf(
                  testing::StartsWith("w: least energy within a slowdown of 0 %: cpu.frequency = 3 GHz; 10 "
                                      "%: cpu.frequency = 1 GHz (saves 33.3 % ["),
                  testing::EndsWith("; its slowdown is within that by the estimate alone: cpu.frequency = 1 "
                                    "GHz (95 % interval up to 16.7 %)"))));
  EXPECT_THAT(
      further_sentences(summarise(experiment(6), night(1.09, 40))),
      testing::Contains(
          "w: least energy-delay product at cpu.frequency = 1 GHz, least energy-delay-squared product at "
          "cpu.frequency = 1 GHz, by the means alone"));
}

TEST(Summary, ATieGoesToTheFaster) {
  const auto summary = summarise(experiment(2), {row("1 GHz", 1, 1, 50, 2), row("2 GHz", 2, 1, 50, 1)});
  EXPECT_EQ(summary.scenarios.at(0).points[*summary.scenarios[0].best].point, "w cpu.frequency=2 GHz");
}

TEST(Summary, APointGoesByWhatItsBoardsDelivered) {
  const auto capped = [](int block, double first_board, double second_board) {
    TrialRow r = row("1980 MHz", 3, block, 100, 1);
    const auto board = [](const char* name, double hertz) {
      return TrialRow::Applied{"cpu.frequency", name, "1980 MHz", "1980 MHz", hertz, {}, {}, hertz == 1980e6};
    };
    r.applied = {board("gpu-0", first_board), board("gpu-1", second_board)};
    r.power_cap_share = 0.92;
    r.power_limit_w = 700;
    return r;
  };
  const auto words = [](const std::vector<TrialRow>& trials) {
    const auto summary = summarise(experiment(2), trials);
    return std::pair(settings_text(summary.scenarios.at(0).points.at(0)), further_sentences(summary));
  };
  // One board of two in one trial of two: never a mean that nobody ran at.
  auto [text, sentences] = words({capped(1, 1980e6, 1400e6), capped(2, 1980e6, 1980e6)});
  EXPECT_EQ(text, "cpu.frequency = 1980 MHz (1400 MHz delivered in 1 of 2 trials)");
  EXPECT_THAT(sentences, testing::Contains(
                             "w: cpu.frequency: 1980 MHz requested, 1400 MHz delivered in 1 of 2 trials, 92 "
                             "% of the region at the 700 W limit"));
  std::tie(text, sentences) = words({capped(1, 1200e6, 1400e6), capped(2, 1210e6, 1395e6)});
  EXPECT_EQ(text, "cpu.frequency = 1200 MHz to 1400 MHz delivered (1980 MHz requested)");
  std::tie(text, sentences) = words({capped(1, 1980e6, 1980e6)});
  EXPECT_EQ(text, "cpu.frequency = 1980 MHz");
}

TEST(Summary, NothingCountsAndNothingRan) {
  EXPECT_EQ(answer_sentences(summarise(experiment(1), {row("1 GHz", 1, 1, 1, 1, "exited")})).at(0),
            "w: no trial counts, so there is no best point. Excluded: 1 exited.");
  EXPECT_TRUE(summarise(experiment(1), {}).scenarios.empty());
}

// A limit is about each of several at once: pooled, a good one's 300 of 300 would stand for another's 288 of 300.
TEST(Summary, ACountLimitIsCertainOnlyWhereEachCopysCountSaysSo) {
  const auto certain = [](std::pair<double, double> one, std::pair<double, double> other) {
    std::vector<TrialRow> rows;
    for (int block = 1; block <= 3; ++block) {
      TrialRow trial = row("1 GHz", 1, block, 50, 2);
      trial.metrics["ok"] = 50 * (one.first / one.second + other.first / other.second);
      trial.units_of_metrics["ok"] = "%";
      trial.extremes_of_metrics["ok"] =
          std::minmax(100 * one.first / one.second, 100 * other.first / other.second);
      trial.counts_of_metrics["ok"] = {one.first + other.first, one.second + other.second};
      trial.counts_of_copies["ok"] = {one, other};
      rows.push_back(trial);
    }
    ExperimentRow asked = experiment(1);
    asked.objective.constraints = {
        {.name = "ok", .mark = {}, .relation = ConstraintSpec::Relation::at_least, .limit = 95, .unit = "%"}};
    const ConstraintCheck check = summarise(asked, rows).scenarios.at(0).points.at(0).constraints.at(0);
    return std::pair(check.holds, check.certain);
  };
  EXPECT_EQ(certain({100, 100}, {96, 100}), std::pair(std::optional(true), std::optional(false)));
  EXPECT_EQ(certain({1000, 1000}, {10, 10}), std::pair(std::optional(true), std::optional(false)));
  EXPECT_EQ(certain({1000, 1000}, {990, 1000}), std::pair(std::optional(true), std::optional(true)));
  EXPECT_EQ(certain({100, 100}, {80, 100}), std::pair(std::optional(false), std::optional(true)));
}

TEST(Summary, WithoutAReferenceNoSavingIsClaimed) {
  const auto summary = summarise(experiment(2), {row("1 GHz", 1, 1, 50, 2), row("2 GHz", 2, 1, 55, 1)});
  EXPECT_THAT(answer_sentences(summary).at(0),
              HasSubstr("None of its points is the experiment's reference, so no "
                        "saving can be stated"));
}

// Trials that are alike to the last place: the interval has no width, and what rounding leaves outside of it is no other mean.
TEST(Summary, WhatRoundingMakesOfMeansIsNotSaid) {
  for (int i = 1; i < 200; ++i) {
    std::vector<TrialRow> trials;
    for (int block = 1; block <= 4; ++block) {
      trials.push_back(row("1 GHz", 1, block, 0.0048 * i, 1));
      trials.push_back(row("3 GHz", 3, block, 0.006 * i, 1));
    }
    const auto summary = summarise(experiment(8), trials);
    EXPECT_FALSE(summary.scenarios.at(0).points.at(0).gain_of_means) << i;
    EXPECT_THAT(answer_sentences(summary).at(0), testing::Not(HasSubstr("By the two means"))) << i;
  }
}

// The best and what is asked as the reference never met: who is best follows from what each has in common with a third, and of a saving nothing is
// said, in any output.
TEST(Summary, OfTwoThatNeverMetNoSavingIsStated) {
  std::vector<TrialRow> trials;
  for (int block = 1; block <= 6; ++block) {
    const double level = 1 + 0.2 * block, noise = 1 + 0.001 * (block % 3);
    trials.push_back(row("2 GHz", 2, block, 90 * level, 1));
    trials.push_back(block <= 3 ? row("3 GHz", 3, block, 100 * level * noise, 1)
                                : row("1 GHz", 1, block, 45 * level * noise, 1));
  }
  const auto summary = summarise(experiment(12), trials);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  ASSERT_TRUE(scenario.best);
  EXPECT_EQ(scenario.points[*scenario.best].point, "w cpu.frequency=1 GHz");
  EXPECT_FALSE(scenario.points[*scenario.best].gain);
  EXPECT_FALSE(scenario.gain_of_best);
  EXPECT_FALSE(scenario.gain_corrected);
  EXPECT_THAT(answer_sentences(summary).at(0),
              HasSubstr("No trial of the reference point counts together with one of this point, so no "
                        "saving can be stated."));
  EXPECT_THAT(
      further_sentences(summary),
      testing::Contains(
          "w: least energy within a slowdown of 0 %: cpu.frequency = 2 GHz (saves 10.1 % [9.9, 10.3]); "
          "savings here are by each setting's own trials, not corrected for its having been "
          "chosen; left out, since no block has them together with the reference: "
          "cpu.frequency = 1 GHz"));
}

// Two machines' nights joined, one of which grew while it had become twice as slow: its trials of what was added are of later blocks.
TEST(Summary, OfJoinedNightsThatGrewSavingsAreWithinBlocks) {
  std::vector<TrialRow> trials;
  int block = 0;
  const auto add = [&](const std::string& node, double level, std::vector<std::pair<double, double>> points) {
    for (int i = 0; i < 3; ++i) {
      ++block;
      for (const auto& [ghz, joules] : points) {
        trials.push_back(
            row(fmt::format("{} GHz", ghz), ghz, block, joules * level * (1 + 0.001 * (i % 2)), 1));
        trials.back().node = node;
      }
    }
  };
  add("here", 1, {{1, 10}, {2, 16}, {3, 20}});
  add("here", 2, {{4, 7}, {3, 20}});
  add("there", 1.2, {{1, 10}, {2, 16}, {3, 20}, {4, 7}});
  const auto summary = summarise(experiment(27), trials);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  ASSERT_TRUE(scenario.best && scenario.gain_of_best);
  EXPECT_EQ(scenario.points[*scenario.best].point, "w cpu.frequency=4 GHz");
  EXPECT_FALSE(scenario.balanced);
  EXPECT_NEAR(scenario.points[0].saving->value, 0.5, 0.001);
  EXPECT_NEAR(scenario.points[1].saving->value, 0.2, 0.001);
  EXPECT_NEAR(scenario.points[3].saving->value, 0.65, 0.001);
  EXPECT_NEAR(scenario.gain_of_best->value, 0.65, 0.002);
  for (const std::size_t other : {0, 1}) EXPECT_FALSE(scenario.points[other].not_told_apart) << other;
  EXPECT_NEAR(*scenario.points[3].energy_level / *scenario.points[2].energy_level, 0.35, 0.001);
  EXPECT_THAT(answer_sentences(summary).at(0), HasSubstr("the blocks' level is taken out of the comparison"));
}

// Three blocks of four points, then fresh blocks of two of them and the reference.
std::vector<TrialRow> confirmed_night(int fresh_blocks) {
  std::vector<TrialRow> trials;
  // 1.4 GHz was lucky: the fresh blocks say 85 J, as 1.8 GHz.
  const double scatter[] = {0, 0.4, -0.4, 0.2, -0.2, 0.3, -0.3, 0.1};
  for (int block = 1; block <= 3 + fresh_blocks; ++block) {
    const bool confirms = block > 3;
    const double noise = scatter[block % 8];
    const auto add = [&](const std::string& clock, double ghz, double energy) {
      trials.push_back(row(clock, ghz, block, energy + noise * ghz, 1 + 1 / ghz));
      trials.back().confirms = confirms;
      trials.back().id = static_cast<std::int64_t>(trials.size());
    };
    if (!confirms) add("1 GHz", 1, 84.9);
    if (!confirms) add("2.2 GHz", 2.2, 90);
    add("1.4 GHz", 1.4, confirms ? 85 : 84.2);
    add("1.8 GHz", 1.8, confirms ? 85 : 84.6);
    add("3 GHz", 3, 100);
  }
  return trials;
}

// A golden section runs each setting once: the model takes their scatter for a rough surface.
TEST(Summary, WhereNoSettingOfASearchRanTwiceNothingHasAnInterval) {
  for (const int runs : {1, 3}) {
    ExperimentRow experiment;
    experiment.axes = {{"cpu.frequency", "knob"}};
    experiment.search = SearchRow{};
    experiment.search->method = "golden";
    experiment.search->confidence = 0.95;
    std::vector<PointRow> points;
    std::vector<TrialRow> trials;
    std::vector<FinishedTrial> history;
    for (int i = 0; i < 6; ++i) {
      const std::string clock = std::to_string(i + 1) + " GHz", key = "w cpu.frequency=" + clock;
      const std::vector<AxisSetting> settings{{"cpu.frequency", clock, (i + 1) * 1e9}};
      points.push_back({key, "w", "w", i == 5, settings});
      for (int run = 1; run <= runs; ++run) {
        TrialRow trial;
        trial.key = key + " #" + std::to_string(run);
        trial.point = key;
        trial.workload = trial.scenario = "w";
        trial.is_reference = i == 5;
        trial.settings = settings;
        trial.block = run;
        trial.outcome = trial.verdict = "ok";
        trial.energy_j = trial.objective_value = 100 + 10 * std::abs(i - 2) + run;
        trial.time_s = 1;
        trials.push_back(trial);
        FinishedTrial done;
        done.key = trial.key;
        done.point = i;
        done.block = run;
        done.counts = true;
        done.objective = trial.objective_value;
        set_work(done, 1, trial.energy_j, 1, {});
        history.push_back(done);
      }
    }
    const Summary summary =
        summarise(experiment, trials, {}, {}, summarise_searches(experiment, history, points, {}));
    const ScenarioSummary& scenario = summary.scenarios.at(0);
    ASSERT_TRUE(scenario.search && scenario.gain_of_best);
    EXPECT_EQ(scenario.search->scatter_known, runs > 1);
    EXPECT_EQ(scenario.gain_of_best->low.has_value(), runs > 1);
    EXPECT_EQ(std::isfinite(scenario.search->bound), runs > 1);
    EXPECT_EQ(std::all_of(scenario.points.begin(), scenario.points.end(),
                          [](const PointSummary& p) { return p.not_told_apart; }),
              runs == 1);
    EXPECT_EQ(answer_sentences(summary).at(0).find(
                  "No setting ran often enough to tell how trials scatter: no bound is stated") !=
                  std::string::npos,
              runs == 1);
  }
}

// The model learns by differences: of what all trials are off by alike it sees nothing, and more of them make it no smaller.
TEST(Summary, ASearchsBandHasInItWhatTheSensorsAreOffByInAllTrials) {
  ExperimentRow experiment;
  experiment.name = "search";
  experiment.energy_source = "system";
  experiment.objective.minimise = Objective::energy;
  experiment.axes = {{"cpu.frequency", "knob"}};
  experiment.search = SearchRow{};
  std::vector<PointRow> points;
  std::vector<FinishedTrial> history, exact;
  std::mt19937_64 random(27);
  for (int i = 0; i < 6; ++i) {
    const std::vector<AxisSetting> settings{{"cpu.frequency", std::to_string(i + 1) + " GHz", (i + 1) * 1e9}};
    points.push_back({"w " + std::to_string(i), "w", "w", i == 5, settings});
    for (int run = 1; run <= (i == 4 ? 0 : 3); ++run) {
      FinishedTrial done;
      done.key = points.back().key + " #" + std::to_string(run);
      done.point = i;
      done.block = run;
      done.counts = true;
      const double joules = 100 + 10 * std::abs(i - 2) + std::normal_distribution<double>(0, 0.3)(random);
      done.objective = joules;
      set_work(done, 1, joules, 1, {});
      exact.push_back(done);
      done.sensor_share = done.systematic_share = i == 0 ? 0.05 : 0.03;
      history.push_back(done);
    }
  }
  const auto bands_of = [&](const std::vector<FinishedTrial>& of) {
    const auto searches = summarise_searches(experiment, of, points, {});
    EXPECT_EQ(searches.size(), 1U);
    return searches.begin()->second.points;
  };
  // As the trial's own scatter alone has it, for what the band is about without it.
  for (FinishedTrial& one : exact)
    one.sensor_share = history.at(static_cast<std::size_t>(&one - exact.data())).sensor_share;
  const auto with = bands_of(history), without = bands_of(exact);
  ASSERT_EQ(with.size(), 6U);
  for (std::size_t i = 0; i < with.size(); ++i) {
    // Point 4 was not run: as of the worst that was.
    const double share = i == 0 || i == 4 ? 0.05 : 0.03;
    EXPECT_NEAR(with[i].objective.low, without[i].objective.low * (1 - share), 1e-9) << i;
    EXPECT_NEAR(with[i].objective.high, without[i].objective.high * (1 + share), 1e-9) << i;
    EXPECT_EQ(with[i].objective.median, without[i].objective.median);
  }
}

TEST(Summary, SaysWhetherTheSavingIsOfTheFreshBlocksAlone) {
  const auto before = summarise(experiment(15), confirmed_night(0));
  EXPECT_FALSE(before.scenarios.at(0).from_fresh_blocks);
  EXPECT_THAT(answer_sentences(before).at(0), HasSubstr("%, as the least of 4), "));
  // The points of this night scatter by their clocks.
  const auto after = summarise(experiment(15), confirmed_night(5));
  EXPECT_TRUE(after.scenarios.at(0).from_fresh_blocks);
  EXPECT_NEAR(after.scenarios.at(0).gain_of_best->value, 0.15, 0.002);
  EXPECT_THAT(answer_sentences(after).at(0), HasSubstr("%, from 5 fresh blocks), "));
}

TEST(Finalists, AreTheBestAndTwoThatComeClosest) {
  const auto scenario = summarise(experiment(15), confirmed_night(0)).scenarios.at(0);
  EXPECT_THAT(finalists(scenario), testing::ElementsAre("w cpu.frequency=1.4 GHz", "w cpu.frequency=1.8 GHz",
                                                        "w cpu.frequency=1 GHz"));
  // Where the reference is the best there is nothing to confirm.
  EXPECT_TRUE(
      finalists(
          summarise(experiment(2), {row("3 GHz", 3, 1, 50, 1), row("1 GHz", 1, 1, 60, 2)}).scenarios.at(0))
          .empty());
}

// ------------------------------------------------------------------ the file

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    Diagnostics diagnostics("x.yaml");
    const auto parsed = parse_experiment(
        "name: night\nworkloads: [{name: w, command: [\"true\", \"{n}\"]}]\naxes: {n: [1, "
        "\"=2+2\"]}\nrepeat: 2\nconditions: {idle: none}\n",
        "x.yaml", diagnostics);
    plan_ = *resolve_plan(*parsed, {{}, "/usr/bin:/bin"}, diagnostics);
  }
  Store create() {
    return Store::create(path_, plan_, channels_, {"system", "test", "2026-01-01T00:00:00Z", {{"host", "h"}}},
                         {});
  }
  TrialRecord trial(std::size_t i, double watts) {
    TrialRecord t;
    t.key = plan_.trials[i].key;
    t.point = plan_.trials[i].point;
    t.block = plan_.trials[i].block;
    t.position = plan_.trials[i].position;
    t.started_at = "2026-01-01T00:00:0" + std::to_string(i) + ".000Z";
    t.child.end = ChildResult::End::exited;
    t.child.started = 10 * s;
    t.child.ended = 12 * s;
    t.child.output.tail = "<script>\x1b[31m";
    t.child.output.bytes = 100;
    t.runs = {{t.child.started, t.child.ended}};
    t.regions = {{"", 1, t.child.started, t.child.ended, true, 2 * watts}};
    t.region_s = 2;
    t.energy_j = t.objective = 2 * watts;
    t.energy_half_width_j = 0.5;
    t.fresh_readings = 2;
    t.readings = {at(10 * s, watts), without(11 * s, ReadingStatus::absent), at(12 * s, watts)};
    t.energies = {{0, 2 * watts, 2, EnergyFault::none, 0.5, 0.1, 2, {}}};
    t.metrics = {{"rate", 1.5, "1/s"}};
    t.events = {{"kind", "message"}};
    return t;
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "night.sqlite";
  Plan plan_;
  std::vector<Channel> channels_{gauge()};
};

TEST_F(StoreTest, TheTimeThatIsLeftKnowsNothingOfWallClocksThatAreSetBack) {
  Store store = create();
  store.begin_session(1, "boot", "test", "now");
  for (std::size_t i = 0; i < 2; ++i) {
    TrialRecord one = trial(i, 50);
    one.started_at = i == 0 ? "2026-01-01T00:00:00.000Z" : "1970-01-01T00:00:00.000Z";
    one.slot_s = 7;
    store.write_trial(one);
  }
  EXPECT_EQ(store.progress().mean_trial_seconds, 7);
}

// "3 of 13 trials" of 12.
TEST_F(StoreTest, BetweenTwoTrialsTheOneThatIsFinishedIsNotLeft) {
  Store store = create();
  store.begin_session(1, "boot", "test", "now");
  store.note_current(plan_.trials[0].key, 3);
  EXPECT_EQ(store.progress().left, 3);
  EXPECT_EQ(store.experiment().trials_left, 3);
  store.write_trial(trial(0, 50));
  EXPECT_EQ(store.progress().left, 2);
  EXPECT_EQ(store.experiment().trials_left, 2);
  store.note_current(plan_.trials[1].key, 2);
  EXPECT_EQ(store.progress().left, 2);
}

TEST_F(StoreTest, KeepsWhatWasWritten) {
  {
    Store store = create();
    store.begin_session(1, "boot", "test", "now");
    store.write_trial(trial(0, 50));
    store.note_current("next", 3);
  }
  Store store = Store::open(path_, Database::Mode::read_only);
  EXPECT_EQ(store.plan_hash(), plan_.hash);
  ASSERT_EQ(store.history().size(), 1U);
  EXPECT_EQ(store.history()[0].key, plan_.trials[0].key);
  EXPECT_TRUE(store.history()[0].counts);
  const auto rows = store.trials();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(*rows[0].energy_j, 100);
  EXPECT_EQ(*rows[0].time_s, 2);
  EXPECT_EQ(store.progress().current_trial, "next");
  Statement readings =
      store.database().prepare("SELECT count(*), count(value), group_concat(absence) FROM readings");
  ASSERT_TRUE(readings.step());
  EXPECT_EQ(readings.integer(0), 3);
  EXPECT_EQ(readings.integer(1), 2);  // absent is NULL, not 0
  EXPECT_EQ(readings.text(2), "absent");
}

// Of a gauge that cuts off at a whole watt both windows read as much too low: two of them know it no better than one.
TEST_F(StoreTest, WhatIsTheSameInBothIdleWindowsDoesNotShrink) {
  Store store = create();
  store.begin_session(1, "boot", "test", "now");
  constexpr double seconds = 2;
  const auto idle = [&](TrialRole role, double scatter_w, double same_w) {
    TrialRecord window = trial(0, 40);
    window.role = role;
    window.key = fmt::format("idle {}", to_string(role));
    window.objective.reset();
    window.energy_half_width_j = std::hypot(scatter_w, same_w) * seconds;
    window.energy_systematic_j = same_w * seconds;
    store.write_trial(window);
  };
  idle(TrialRole::idle_before, 0.4, 1);
  idle(TrialRole::idle_after, 0.3, 0.8);
  TrialRecord work = trial(0, 50);
  work.energy_systematic_j = 0.3;
  store.write_trial(work);
  Statement row = store.database().prepare(
      "SELECT i.idle_power_w, i.idle_half_width_w, i.idle_systematic_w, t.idle_systematic_w FROM idle i, "
      "trials t");
  ASSERT_TRUE(row.step());
  EXPECT_NEAR(row.real(0), 40, 1e-12);
  EXPECT_NEAR(row.real(1), std::hypot(0.25, 0.9), 1e-12) << "hypot(0.4, 0.3) / 2, and the mean of 1 and 0.8";
  EXPECT_NEAR(row.real(2), 0.9, 1e-12);
  EXPECT_NEAR(row.real(3), 0.9, 1e-12);
  // Nor do blocks: above idle the mean of a point has it whole.
  const Summary summary = summarise(store.experiment(), store.trials());
  ASSERT_TRUE(summary.scenarios.at(0).points.at(0).above_idle);
  EXPECT_NEAR(summary.scenarios[0].points[0].above_idle->systematic_half_width,
              std::hypot(0.3, 0.9 * seconds), 1e-9);
}

TEST_F(StoreTest, WhatIsWrittenAsNightsGoOnHasAChecksum) {
  for (const char* change :
       {"UPDATE session SET ended_how = 'done'", "UPDATE session SET started_at = 'sooner'",
        "UPDATE trial SET given_up = 0", "UPDATE experiment SET planned_trials = planned_trials + 1",
        "UPDATE node_left_out SET why = ''", "DELETE FROM node_left_out",
        "INSERT INTO node_fact (node, name, value) VALUES ('n1', 'cpu model', 'another')",
        "INSERT INTO submission (job, blocks, submitted_at) VALUES ('7', '[1]', 'now')",
        "INSERT INTO block_run (origin, block, node, complete) VALUES ('o', 1, 'n1', 1)"}) {
    std::filesystem::remove(path_);
    Store store = create();
    EXPECT_EQ(store.damaged_text(), "");
    store.begin_session(1, "boot", "test", "now");
    store.write_trial(trial(0, 50));
    store.note_current("next", 3);
    store.give_up({plan_.trials[0].key}, "why");
    leave_node_out(store, "n3", "slow");
    note_submission(store, {"6", {1}, "now"});
    note_planned_trials(store, 7);
    store.end_session("gave_up", "later", {});
    EXPECT_EQ(store.damaged_text(), "");
    Statement sessions = store.database().prepare("SELECT ended_how, trials FROM sessions");
    ASSERT_TRUE(sessions.step());
    EXPECT_EQ(sessions.text(0), "gave_up");
    EXPECT_EQ(sessions.integer(1), 1);
    sessions.reset();
    store.database().execute(change);
    EXPECT_EQ(store.damaged_text(),
              "what it says of sessions, nodes, trials that were given up and how many were planned is not "
              "as written (the checksum differs)")
        << change;
    // What is written next does not make it look whole.
    leave_node_out(store, "n4", "slower");
    EXPECT_NE(store.damaged_text(), "") << change;
  }
}

TEST_F(StoreTest, ATrialIsStoredWholeOrNotAtAll) {
  Store store = create();
  store.begin_session(1, "boot", "test", "now");
  auto bad = trial(0, 50);
  bad.readings.push_back(at(1, 1, 99));  // a channel that is not there, after rows were written
  EXPECT_THROW(store.write_trial(bad), std::out_of_range);
  EXPECT_TRUE(store.history().empty());
  Statement left = store.database().prepare(
      "SELECT (SELECT count(*) FROM reading_times) + (SELECT count(*) FROM reading_values)");
  ASSERT_TRUE(left.step());
  EXPECT_EQ(left.integer(0), 0);
}

TEST_F(StoreTest, RefusesANewerFileAForeignOneAndALink) {
  create().database().execute("PRAGMA user_version = 99");
  const auto refusal = [](const std::string& path) {
    try {
      Store::open(path, Database::Mode::read_only);
      return std::string("opened");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal(path_), path_ + " has schema version 99; this program knows up to " +
                                std::to_string(newest_schema_version()));
  folder_.file("text.sqlite", "not a database, but long enough to be looked at as one.............");
  EXPECT_THAT(refusal(folder_ / "text.sqlite"), HasSubstr("is not a result file of dvfs-plan"));
  folder_.file("empty.sqlite", "");
  EXPECT_EQ(refusal(folder_ / "empty.sqlite"),
            (folder_ / "empty.sqlite") + " is not a result file of dvfs-plan");
  std::filesystem::create_symlink(path_, folder_ / "link.sqlite");
  EXPECT_EQ(refusal(folder_ / "link.sqlite"),
            "result file " + (folder_ / "link.sqlite") + ": it is a symbolic link, which is not followed");
  EXPECT_EQ(refusal(folder_ / "none.sqlite"),
            "result file " + (folder_ / "none.sqlite") + ": there is no such file");
}

TEST_F(StoreTest, APathThatIsTooLongForSQLiteIsSaidToBe) {
  create();
  const auto longest =
      static_cast<std::size_t>(sqlite3_vfs_find(nullptr)->mxPathname) - std::string("-journal").size();
  std::string folder = folder_.path();
  while (folder.size() + 250 < longest) folder += "/" + std::string(200, 'd');
  std::filesystem::create_directories(folder);
  for (std::size_t bytes = longest - 2; bytes < longest + 3; ++bytes) {
    const std::string path = folder + "/" + std::string(bytes - folder.size() - 1, 'f');
    std::filesystem::copy_file(path_, path);
    std::string said;
    try {
      Store::open(path, Database::Mode::read_only);
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_EQ(said,
              bytes <= longest
                  ? std::string()
                  : fmt::format("result file {}: its path has {} bytes, and SQLite takes {} at the most",
                                path, bytes, longest));
  }
}

TEST_F(StoreTest, NeverReplacesAFile) {
  folder_.file("night.sqlite", "somebody's");
  EXPECT_THROW(create(), Error);
  EXPECT_EQ(folder_.read("night.sqlite"), "somebody's");
}

TEST_F(StoreTest, ExportsOneRowATrial) {
  Store store = create();
  store.begin_session(1, "boot", "test", "now");
  for (std::size_t i = 0; i < 2; ++i) store.write_trial(trial(i, 50));
  std::ostringstream csv;
  write_trials_table(store, *csv_writer(csv));
  EXPECT_THAT(csv.str(),
              testing::StartsWith("trial,key,workload,scenario,role,attempt,given_up,confirms,block,position,"
                                  "started_at,n,outcome,exit_code,signal,verdict,verdict_text,region,runs,"));
  // Every column of the view, but for what the trials printed; then the metrics.
  const std::string head = "," + csv.str().substr(0, csv.str().find("\r\n")) + ",";
  Statement columns = store.database().prepare("SELECT name FROM pragma_table_info('trials')");
  int shown = 0;
  while (columns.step()) {
    if (columns.text(0).ends_with("_tail")) continue;
    EXPECT_THAT(head, HasSubstr("," + columns.text(0) + ","));
    ++shown;
  }
  EXPECT_GT(shown, 40);
  EXPECT_THAT(csv.str(), HasSubstr(",process_s,metric rate 1/s\r\n1,"));
  EXPECT_THAT(csv.str(), HasSubstr(",'=2+2,completed,0,,ok,,,1,"));
}

// Energy is of all copies: beside it one copy's rate would make each unit so many times as dear.
TEST_F(StoreTest, ExportsOfCopiesHaveWhatTheReportHas) {
  Store store = create();
  store.begin_session(1, "boot", "test", "now");
  TrialRecord of_two = trial(0, 50);
  of_two.runs.push_back(of_two.runs.front());
  for (const int one : {1, 2}) {
    InstanceRecord instance;
    instance.run = instance.instance = one;
    instance.workload = instance.name = "w";
    instance.end = ChildResult::End::exited;
    of_two.instances.push_back(instance);
  }
  of_two.metrics = {{"rate", 1, "1/s", 1}, {"rate", 4, "1/s", 2}};
  store.write_trial(of_two);
  std::ostringstream csv;
  write_trials_table(store, *csv_writer(csv));
  EXPECT_THAT(csv.str(), HasSubstr(",metric rate 1/s,metric rate highest 1/s,metric rate least 1/s\r\n"));
  EXPECT_THAT(csv.str(), HasSubstr(",2.5,4,1\r\n"));
  const auto rows = store.trials();
  EXPECT_EQ(rows.at(0).metrics.at("rate"), 2.5);
}

TEST(SearchSentences, NothingIsSaidToBeFourHundredPerCentBetter) {
  SearchSummary search;
  search.rule.confidence = 0.95;
  search.rule.regret = 0;
  search.points.resize(40);
  search.settings_run = 40;
  search.trials = 3;
  const auto said = [&](double bound) {
    search.bound = bound;
    return bound_sentences(search, false);
  };
  EXPECT_EQ(said(0.0001),
            "With 95 % confidence no other of the 40 settings is more than 0.1 % better; 40 of 40 settings "
            "run, 3 trials.");
  EXPECT_EQ(said(4.193),
            "With 95 % confidence no other of the 40 settings takes less than 19.2 % of what it takes; 40 of "
            "40 settings run, 3 trials.");
  EXPECT_EQ(said(INFINITY),
            "With 95 % confidence no other of the 40 settings is known well enough yet to be judged; 40 of "
            "40 settings run, 3 trials.");
}

std::string this_host() {
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  return host;
}

// Holds the lock of a result in the name of `pid`.
UniqueFd held_lock(const std::string& result, pid_t pid) {
  UniqueFd held(::open((result + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  EXPECT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  const std::string text = fmt::format("pid {} on {}", pid, this_host());
  EXPECT_EQ(::write(held.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return held;
}

// A child that a killed run was just starting has the run's files open until it is another program.
TEST(WriterLock, WhatAKilledRunWasStartingKeepsNobodyOut) {
  const TemporaryFolder folder;
  const std::string result = folder.path() + "/night.sqlite";
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  UniqueFd held = held_lock(result, dead);
  std::thread it_goes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held.reset();
  });
  EXPECT_NO_THROW(WriterLock(result, std::nullopt));
  it_goes.join();
}

TEST(WriterLock, WhoLivesKeepsOthersOut) {
  const TemporaryFolder folder;
  const std::string result = folder.path() + "/night.sqlite";
  const UniqueFd held = held_lock(result, ::getpid());
  try {
    const WriterLock second(result, std::nullopt);
    FAIL() << "it is somebody else's";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), fmt::format("{}: another dvfs-plan is writing it (pid {} on {})", result,
                                        ::getpid(), this_host()));
    EXPECT_EQ(error.hint(), "wait until it has ended, or choose another place with --output");
  }
}

TEST(WriterLock, LeavesWhatSomebodyPutInItsPlace) {
  const TemporaryFolder folder;
  {
    const WriterLock lock(folder.path() + "/night.sqlite", std::nullopt);
    std::filesystem::rename(folder.path() + "/night.sqlite.lock", folder.path() + "/aside");
    folder.file("/night.sqlite.lock", "precious");
  }
  EXPECT_EQ(folder.read("/night.sqlite.lock"), "precious");
}

TEST(Csv, QuotesAndDefusesFormulas) {
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("=cmd()"), "'=cmd()");
  EXPECT_EQ(csv_field("-5"), "-5");
}

}  // namespace
}  // namespace dvfs_plan
