// Whether an answer still stands: months in which nothing changed, and what a machine may do to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "results/compare/recheck.hpp"

namespace dvfs_plan {
namespace {

using testing::HasSubstr;

// One axis, the last value the reference; `joules`: what each setting takes.
struct Machine {
  std::vector<double> joules;
  double noise = 0.01, of_blocks = 0.02;
  std::vector<std::string> verdicts = {};  // of each setting, where it is not "ok"
};

std::vector<TrialRow> blocks_of(const Machine& machine, const std::vector<std::size_t>& settings, int blocks,
                                int first_block, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  const double night = std::exp(0.015 * normal(random));  // another ambient temperature
  std::vector<TrialRow> trials;
  const auto add = [&](std::size_t setting, int block, double level, TrialRole role) {
    TrialRow& r = trials.emplace_back();
    r.id = static_cast<std::int64_t>(1000 * block) + static_cast<std::int64_t>(trials.size());
    r.scenario = r.workload = "w";
    r.point = "w clock=" + std::to_string(setting);
    r.key = r.point + " #" + std::to_string(block);
    r.settings = {{"clock", std::to_string(setting), static_cast<double>(setting)}};
    r.is_reference = setting + 1 == machine.joules.size();
    r.role = role;
    r.block = block;
    r.outcome = "completed";
    r.verdict =
        machine.verdicts.empty() || machine.verdicts[setting].empty() ? "ok" : machine.verdicts[setting];
    r.runs = 1;
    r.time_s = 1;
    r.energy_j = machine.joules[setting] * level * std::exp(machine.noise * normal(random));
    if (r.verdict == "ok") r.objective_value = r.energy_j;
  };
  for (int block = first_block; block < first_block + blocks; ++block) {
    const double level = night * std::exp(machine.of_blocks * normal(random));
    add(machine.joules.size() - 1, block, level, TrialRole::reference_first);
    for (const std::size_t setting : settings) {
      if (setting + 1 != machine.joules.size()) add(setting, block, level, TrialRole::point);
    }
    add(machine.joules.size() - 1, block, level, TrialRole::reference_last);
  }
  return trials;
}

std::vector<std::size_t> all_of(const Machine& machine) {
  std::vector<std::size_t> settings(machine.joules.size());
  for (std::size_t i = 0; i < settings.size(); ++i) settings[i] = i;
  return settings;
}

Summary night_of_trials(const std::vector<TrialRow>& trials) {
  ExperimentRow experiment;
  experiment.planned_trials = static_cast<int>(trials.size());
  return summarise(experiment, trials);
}

// As the command does it: the night's best and those not told apart from it.
RecheckRow recheck_of(const Machine& then, const Machine& now, int blocks, std::mt19937_64& random) {
  const auto trials = blocks_of(then, all_of(then), 4, 1, random);
  const Summary night = night_of_trials(trials);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < night.scenarios[0].points.size(); ++i) {
    if (night.scenarios[0].points[i].not_told_apart) chosen.push_back(i);
  }
  const auto rows = judge_recheck(night, trials, blocks_of(now, chosen, blocks, 10'001, random));
  return rows.empty() ? RecheckRow{} : rows.front();
}

TEST(Recheck, AHundredUnchangedMonthsGiveAtMostFiveFalseAlarms) {
  std::mt19937_64 random(20261124);
  std::uniform_real_distribution<double> uniform(0, 1);
  int alarms = 0, stood = 0, judged = 0;
  constexpr int months = 600;
  for (int i = 0; i < months; ++i) {
    Machine machine;
    const int settings = 4 + static_cast<int>(6 * uniform(random));
    for (int s = 0; s < settings; ++s) {
      const double x = (s + 1.0) / settings - 0.5 - 0.3 * uniform(random) * (i % 2);
      machine.joules.push_back(100 * (1 + (i % 3 == 0 ? 0.02 : 1.0) * x * x));
    }
    machine.noise = 0.002 + 0.03 * uniform(random);
    machine.of_blocks = 0.03 * uniform(random);
    const RecheckRow row = recheck_of(machine, machine, 3 + i % 4, random);
    if (row.scenario.empty()) continue;  // the reference was the best: nothing is claimed
    ++judged;
    alarms += row.verdict == has_changed ? 1 : 0;
    stood += row.verdict == stands ? 1 : 0;
  }
  ASSERT_GT(judged, 400);
  // One in a hundred, and four standard deviations of such a count.
  EXPECT_LE(alarms, 0.01 * judged + 4 * std::sqrt(0.01 * 0.99 * judged)) << "of " << judged;
  EXPECT_GT(stood, judged / 4);
}

// Of a night that does not tell how it scatters (one block, a golden section) the recheck's own blocks do; of a search its model says it.
TEST(Recheck, ANightWithoutASpreadOfItsOwnIsJudgedAllTheSame) {
  std::mt19937_64 random(20261127);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, 1);
  for (const bool by_a_model : {false, true}) {
    int alarms = 0, judged = 0, found = 0, changed = 0;
    for (int i = 0; i < 600; ++i) {
      Machine machine;
      const int settings = 3 + static_cast<int>(5 * uniform(random));
      for (int s = 0; s < settings; ++s)
        machine.joules.push_back(100 * (0.5 + 0.5 * std::pow((s + 1.0) / settings, 2)) * (s == 1 ? 0.8 : 1));
      machine.noise = 0.002 + 0.01 * uniform(random);
      machine.of_blocks = 0.03 * uniform(random);
      const auto trials = blocks_of(machine, all_of(machine), 1, 1, random);
      Summary night = night_of_trials(trials);
      ScenarioSummary& said = night.scenarios[0];
      if (!said.best || !said.reference || said.best == said.reference || !said.gain_of_best) continue;
      ASSERT_FALSE(said.gain_of_best->low);
      if (by_a_model) {
        // What is stated is the truth and what the model does not know of it.
        const double deviation = 0.01, level = std::log(machine.joules[*said.best] / machine.joules.back()) +
                                               deviation * normal(random);
        said.gain_of_best = Change{0, -std::expm1(level), -std::expm1(level + 1.96 * deviation),
                                   -std::expm1(level - 1.96 * deviation)};
      }
      const std::vector<std::size_t> chosen{*said.best, machine.joules.size() - 1};
      const int blocks = 4 + i % 4;
      const auto verdict = [&](const Machine& now) {
        return judge_recheck(night, trials, blocks_of(now, chosen, blocks, 10'001, random)).at(0).verdict;
      };
      ++judged;
      alarms += verdict(machine) == has_changed ? 1 : 0;
      // Most of the saving is gone, and the best is still better than the reference.
      Machine now = machine;
      now.joules[*said.best] = 0.97 * now.joules.back();
      if (machine.joules[*said.best] > 0.8 * now.joules.back()) continue;
      ++changed;
      found += verdict(now) == has_changed ? 1 : 0;
    }
    ASSERT_GT(judged, 300);
    EXPECT_LE(alarms, 0.01 * judged + 4 * std::sqrt(0.01 * 0.99 * judged)) << "of " << judged;
    ASSERT_GT(changed, 200);
    EXPECT_GT(found, 0.9 * changed) << by_a_model << " of " << changed;
  }
}

// Works that say themselves what they took, or meters that round: rounding of a logarithm is no change.
// Of the reference's joules too, against which it is looked whether the best has changed.
TEST(Recheck, WhatAMeterMayBeOffByInTheReferenceIsNoChange) {
  const Machine machine{.joules = {80, 90, 100}, .noise = 0.001};
  for (const double of_reference : {0.0, 0.06}) {
    std::mt19937_64 random(5);
    const auto known_to = [&](std::vector<TrialRow> trials) {
      for (TrialRow& trial : trials) {
        trial.energy_half_width_j = (trial.is_reference ? of_reference : 0.0001) * *trial.energy_j;
        trial.energy_systematic_j = *trial.energy_half_width_j;
      }
      return trials;
    };
    const auto trials = known_to(blocks_of(machine, all_of(machine), 6, 1, random));
    auto again = blocks_of(machine, {0, 2}, 5, 10'001, random);
    for (TrialRow& trial : again) {  // the meter is off by 3 % now
      if (trial.is_reference) trial.objective_value = trial.energy_j = 0.97 * *trial.energy_j;
    }
    again = known_to(again);
    const auto rows = judge_recheck(night_of_trials(trials), trials, again);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].verdict == has_changed, of_reference == 0) << rows[0].verdict << ": " << rows[0].why;
  }
}

TEST(Recheck, WhatIsAlikeToTheLastPlaceHasNotChanged) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 300; ++i) {
    Machine machine;
    for (int s = 0; s < 4; ++s) machine.joules.push_back(20 + 20 * uniform(random));
    machine.noise = 0;
    machine.of_blocks = 0.2;
    const RecheckRow row = recheck_of(machine, machine, 2 + i % 4, random);
    if (row.scenario.empty()) continue;
    EXPECT_EQ(row.verdict, stands) << row.why;
  }
}

// Trials that scatter by nothing at all: of 0.02 % it would be said that the answer has changed by 0.0 %.
TEST(Recheck, WhatWouldBeToldAsNothingHasNotChanged) {
  std::mt19937_64 random(20261128);
  const Machine then{.joules = {80, 100}, .noise = 0, .of_blocks = 0};
  for (const auto& [factor, verdict] :
       {std::pair{0.9998, stands}, {1.0002, stands}, {0.998, has_changed}, {1.002, has_changed}}) {
    const Machine now{.joules = {80 * factor, 100}, .noise = 0, .of_blocks = 0};
    EXPECT_EQ(recheck_of(then, now, 2, random).verdict, verdict) << factor;
  }
}

// A search that ran each setting once states what its model makes of them; works that say themselves what they took do not scatter, and what the
// model smooths is no change.
TEST(Recheck, WhatAModelSmoothsIsNoChange) {
  std::mt19937_64 random(20261130);
  for (const double smoothed : {0.999, 1.001}) {
    for (const double factor : {1.0, 0.998}) {
      const Machine then{.joules = {80, 100}, .noise = 0, .of_blocks = 0},
          now{.joules = {80 * factor, 100}, .noise = 0, .of_blocks = 0};
      const auto trials = blocks_of(then, all_of(then), 1, 1, random);
      Summary night = night_of_trials(trials);
      ASSERT_TRUE(night.scenarios[0].gain_of_best && !night.scenarios[0].gain_of_best->low);
      night.scenarios[0].search = SearchSummary{};
      night.scenarios[0].gain_of_best->value = 1 - 0.8 * smoothed;
      const auto row = judge_recheck(night, trials, blocks_of(now, all_of(now), 2, 10'001, random)).at(0);
      EXPECT_EQ(row.verdict, factor == 1 ? stands : has_changed) << smoothed << " " << row.why;
    }
  }
}

// A reference that is asked for afterwards, and fails whenever it is run: that is no news.
TEST(Recheck, WhatNeverRanHasNotChanged) {
  std::mt19937_64 random(6);
  Machine machine{{80, 90, 100}};
  machine.verdicts = {"", "", "exited"};
  const auto trials = blocks_of(machine, all_of(machine), 4, 1, random);
  const RecheckRow row =
      judge_recheck(night_of_trials(trials), trials, blocks_of(machine, {0}, 3, 10'001, random)).at(0);
  EXPECT_EQ(row.verdict, not_known_yet);
  EXPECT_EQ(row.why, "the reference (clock = 2): no trial counts, nor did one in the night");
}

// A best of which half the trials crash saves nothing for who runs it.
TEST(Recheck, WhatFailsMoreOftenThanInTheNightDoesNotStand) {
  std::mt19937_64 random(5);
  const Machine machine{{80, 90, 100}};
  const auto trials = blocks_of(machine, all_of(machine), 6, 1, random);
  const Summary night = night_of_trials(trials);
  const auto judged = [&](int failing) {
    auto again = blocks_of(machine, {0}, 10, 10'001, random);
    for (TrialRow& trial : again) {
      if (trial.point != "w clock=0" || trial.block - 10'001 >= failing) continue;
      trial.verdict = "exited";
      for (auto* value : {&trial.energy_j, &trial.objective_value, &trial.time_s}) value->reset();
    }
    return judge_recheck(night, trials, again).at(0);
  };
  EXPECT_EQ(judged(0).verdict, stands);
  const RecheckRow half = judged(8), one = judged(1);
  EXPECT_EQ(half.verdict, has_changed);
  EXPECT_EQ(
      half.why,
      "of 10 trials of the best (clock = 0) 8 did not run to their end (8 exited), of 6 in the night 0");
  EXPECT_EQ(one.verdict, not_known_yet);
  EXPECT_EQ(one.why,
            "the saving stands, but of 10 trials of the best (clock = 0) 1 did not run to its end (1 "
            "exited), of 6 in "
            "the night 0: more blocks would tell");
}

// Where luck chose: thirty settings that are alike, and a reference that is worse.
TEST(Recheck, WhatWasChosenForBeingTheLeastIsComparedWithWhatWasStatedOfIt) {
  std::mt19937_64 random(8);
  int alarms = 0;
  constexpr int months = 300;
  for (int i = 0; i < months; ++i) {
    Machine machine;
    machine.joules.assign(30, 100);
    machine.joules.push_back(120);
    alarms += recheck_of(machine, machine, 4, random).verdict == has_changed ? 1 : 0;
  }
  EXPECT_LE(alarms, 0.01 * months + 4 * std::sqrt(0.01 * 0.99 * months));
}

// What is told beside each other goes together: of nights in which nothing changed the change lies around nothing.
TEST(Recheck, TheChangeIsThatFromTheSavingToldThenToTheOneToldNow) {
  std::mt19937_64 random(20261129);
  const Machine machine{{100, 100, 100, 100, 100, 100, 100, 110}, 0.02, 0.02};
  double sum = 0;
  int told = 0;
  for (int i = 0; i < 200; ++i) {
    const RecheckRow row = recheck_of(machine, machine, 5, random);
    if (!row.change.low || !row.saving.value || !row.saving_before.value) continue;
    ++told;
    EXPECT_NEAR(std::log1p(*row.change.value),
                std::log1p(-*row.saving.value) - std::log1p(-*row.saving_before.value), 1e-6);
    sum += std::log1p(*row.change.value);
  }
  ASSERT_GT(told, 150);
  // 1.5 % where it was from what the best's own trials had shown.
  EXPECT_LT(std::abs(sum / told), 0.007);
}

TEST(Recheck, AConstraintThatIsBrokenNowIsAChange) {
  std::mt19937_64 random(9);
  const Machine then{{90, 80, 100, 120}, 0.004};
  const auto trials = blocks_of(then, all_of(then), 4, 1, random);
  ExperimentRow experiment;
  ConstraintSpec& constraint = experiment.objective.constraints.emplace_back();
  constraint.name = "slowdown";
  constraint.relation = ConstraintSpec::Relation::at_most;
  constraint.limit = 0.05;
  const Summary night = summarise(experiment, trials);
  ASSERT_EQ(night.scenarios[0].points[*night.scenarios[0].best].point, "w clock=1");
  auto again = blocks_of(then, {1}, 4, 10'001, random);
  EXPECT_EQ(judge_recheck(night, trials, again).front().verdict, "stands");
  for (TrialRow& trial : again) {
    if (!trial.is_reference) trial.time_s = 1.2 + 0.001 * trial.block / 10'000;
  }
  const RecheckRow row = judge_recheck(night, trials, again).front();
  EXPECT_EQ(row.verdict, "changed");
  EXPECT_EQ(row.why, "the best does not hold slowdown <= 5 % (now 20.1 %) any more") << row.why;
}

// Under a limit that the reference breaks the best may take more than it does, in the night as now.
TEST(Recheck, ABestThatTookMoreThanTheReferenceThenHasNotChangedByThat) {
  std::mt19937_64 random(11);
  const Machine machine{{130, 105, 100}, 0.001, 0.02};
  const auto trials_with_limit = [&](int blocks, int first_block) {
    auto trials = blocks_of(machine, all_of(machine), blocks, first_block, random);
    for (TrialRow& trial : trials) trial.metrics["latency"] = trial.is_reference ? 9.0 : 2.0;
    return trials;
  };
  const auto trials = trials_with_limit(4, 1);
  ExperimentRow experiment;
  experiment.planned_trials = static_cast<int>(trials.size());
  ConstraintSpec& constraint = experiment.objective.constraints.emplace_back();
  constraint.name = "latency";
  constraint.relation = ConstraintSpec::Relation::at_most;
  constraint.limit = 5;
  const Summary night = summarise(experiment, trials);
  ASSERT_EQ(night.scenarios[0].points[*night.scenarios[0].best].point, "w clock=1");
  ASSERT_FALSE(night.scenarios[0].points[*night.scenarios[0].reference].feasible);
  const RecheckRow row = judge_recheck(night, trials, trials_with_limit(5, 10'001)).at(0);
  EXPECT_EQ(row.verdict, not_known_yet) << row.why;
  EXPECT_EQ(row.why,
            "that it changed is not shown; but the night claims no saving that could stand: the best took "
            "more than the "
            "reference, which breaks a constraint, then too");
}

TEST(Recheck, WhatChangedIsFound) {
  std::mt19937_64 random(3);
  const Machine then{{90, 80, 100, 120}, 0.004};
  // Firmware that keeps the reference's clock down: it takes less than it did.
  Machine now = then;
  now.joules[3] = 105;
  const RecheckRow row = recheck_of(then, now, 5, random);
  EXPECT_EQ(row.verdict, "changed");
  EXPECT_THAT(row.why, HasSubstr("relative to the reference the best takes 1"));
  EXPECT_NEAR(*row.saving_before.value, 1 - 80.0 / 120, 0.02);
  EXPECT_NEAR(*row.saving.value, 1 - 80.0 / 105, 0.02);
  EXPECT_EQ(row.blocks, 5);
  const RecheckRow same = recheck_of(then, then, 5, random);
  EXPECT_EQ(same.verdict, "stands") << same.why;
  EXPECT_THAT(same.why, HasSubstr("is within the noise"));
}

// The interval beside a word is the one that it was judged by.
TEST(Recheck, OfSeveralAnswersEachIntervalIsOfTheLevelThatItWasJudgedAt) {
  std::mt19937_64 random(20261129);
  const auto both = [](std::vector<TrialRow> one, std::vector<TrialRow> other) {
    for (TrialRow& trial : other) {
      trial.scenario = trial.workload = "v";
      trial.id += 100'000;
      one.push_back(trial);
    }
    return one;
  };
  const Machine machine{{90, 80, 100, 120}, 0.004};
  Machine other = machine;
  other.joules[3] = 105;
  const auto settings = all_of(machine);
  const auto trials =
      both(blocks_of(machine, settings, 4, 1, random), blocks_of(machine, settings, 4, 1, random));
  const auto again =
      both(blocks_of(machine, settings, 5, 10'001, random), blocks_of(other, settings, 5, 10'001, random));
  const auto rows = judge_recheck(night_of_trials(trials), trials, again);
  ASSERT_EQ(rows.size(), 2U);
  const RecheckRow &changed = rows[0], &kept = rows[1];
  ASSERT_EQ(changed.scenario, "v");
  EXPECT_EQ(kept.verdict, stands);
  EXPECT_THAT(kept.why,
              testing::ContainsRegex("at 99\\.5 %, for it is one of 2 answers\\], is within the noise$"));
  EXPECT_EQ(changed.verdict, has_changed);
  EXPECT_THAT(changed.why, testing::ContainsRegex("% at 99\\.5 %, for it is one of 2 answers\\)$"));
  // Wider than at 99 %.
  double value = 0, low = 0, high = 0;
  ASSERT_EQ(std::sscanf(kept.why.c_str(), "the change since then, %lf %% [%lf, %lf", &value, &low, &high), 3);
  EXPECT_LT(low / 100, *kept.change.low);
  EXPECT_GT(high / 100, *kept.change.high);
}

TEST(Recheck, WhatDoesNotRunAnyMoreHasChangedAndWhatWasDisturbedIsNotKnown) {
  std::mt19937_64 random(4);
  const Machine then{{90, 80, 100, 120}, 0.004};
  Machine now = then;
  now.verdicts = {"", "", "", "not_delivered"};
  RecheckRow row = recheck_of(then, now, 3, random);
  EXPECT_EQ(row.verdict, "changed");
  EXPECT_EQ(row.why,
            "the reference (clock = 3) does not run as it did: none of 6 trials counts (6 not_delivered)");
  now.verdicts = {"", "exited", "", ""};
  row = recheck_of(then, now, 3, random);
  EXPECT_EQ(row.why, "the best (clock = 1) does not run as it did: none of 3 trials counts (3 exited)");
  now.verdicts = {"", "foreign_load", "", ""};
  row = recheck_of(then, now, 3, random);
  EXPECT_EQ(row.verdict, "not_known");
  EXPECT_EQ(row.why,
            "no trial of both the best and the reference counts: they were disturbed, or too few were run");
  now.verdicts = {"", "chosen_by_length", "", ""};
  row = recheck_of(then, now, 3, random);
  EXPECT_EQ(row.verdict, "not_known");
  EXPECT_EQ(row.why,
            "no trial of both the best and the reference counts: the sensor could tell the longer ones of a "
            "setting "
            "alone, which are not what it takes");
  // One block tells no spread of its own.
  row = recheck_of(then, then, 1, random);
  EXPECT_EQ(row.verdict, "not_known");
  EXPECT_EQ(row.why, "one block has no spread: more blocks would tell");
}

TEST(Recheck, IsToldInWords) {
  std::mt19937_64 random(5);
  const Machine then{{90, 80, 100, 120}, 0.004};
  auto trials = blocks_of(then, all_of(then), 4, 1, random);
  const auto now = blocks_of(then, {1}, 4, 10'001, random);
  const std::string text =
      "w: the answer stands: the change since then, .*\n  at clock = 1: against the "
      "reference 33\\.[0-9] % \\[.*\\] less energy then, .* now \\(12 of 12 trials in 4 blocks\\)\n";
  // Of these nobody knows what the sensors add.
  const Summary unknown = night_of_trials(trials);
  EXPECT_THAT(recheck_text(unknown, judge_recheck(unknown, trials, now)),
              testing::MatchesRegex(text + "  what the sensors may add to an energy is not known .*\n"));
  for (TrialRow& trial : trials) trial.energy_half_width_j = 0.001;
  const Summary night = night_of_trials(trials);
  const auto rows = judge_recheck(night, trials, now);
  EXPECT_THAT(recheck_text(night, rows), testing::MatchesRegex(text));
  EXPECT_THAT(recheck_json(rows), HasSubstr("\"verdict\": \"stands\""));
}

}  // namespace
}  // namespace dvfs_plan
