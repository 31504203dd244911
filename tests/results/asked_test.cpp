// Trials that are there, asked otherwise than their experiment asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "results/report/asked.hpp"
#include "results/report/summary.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

struct ThreeClocks {
  ExperimentRow experiment;
  std::vector<PointRow> points;
  std::vector<TrialRow> trials;
};

// One workload at three clocks, two blocks: 1 GHz takes the least energy, 2 GHz the least product.
ThreeClocks three_clocks() {
  ThreeClocks night;
  night.experiment.name = "night";
  night.experiment.axes = {{"cpu.frequency", "knob"}};
  const double seconds[] = {4, 2, 1.8}, joules[] = {100, 120, 200};
  for (int block = 1; block <= 2; ++block) {
    for (int i = 0; i < 3; ++i) {
      TrialRow trial;
      trial.settings = {{"cpu.frequency", std::to_string(i + 1) + " GHz", (i + 1) * 1e9}};
      trial.point = "w cpu.frequency=" + trial.settings[0].text;
      trial.key = trial.point + " #" + std::to_string(block);
      trial.workload = trial.scenario = "w";
      trial.is_reference = i == 2;
      trial.block = block;
      trial.verdict = trial.outcome = "ok";
      trial.time_s = seconds[i] * (1 + 0.001 * block);
      trial.energy_j = joules[i] * (1 + 0.002 * block);
      trial.objective_value = trial.energy_j;
      trial.metrics["accuracy"] = 0.9 - 0.1 * i;
      if (block == 1) night.points.push_back({trial.point, "w", "w", trial.is_reference, trial.settings});
      night.trials.push_back(trial);
    }
  }
  return night;
}

struct Answer {
  std::string best, reference;
  std::vector<std::string> asked;
};
Answer answer_to(const Question& question, ThreeClocks asked_of = three_clocks()) {
  const auto asked = ask(question, asked_of.experiment, asked_of.points, asked_of.trials);
  const Summary summary = summarise(asked_of.experiment, asked_of.trials);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  return {scenario.best ? scenario.points[*scenario.best].settings[0].text : "none",
          scenario.reference ? scenario.points[*scenario.reference].settings[0].text : "none", asked};
}

std::string refused_question(const std::string& objective, const std::vector<std::string>& subject_to,
                    const std::vector<std::string>& reference) {
  try {
    answer_to(parse_question(objective, subject_to, reference));
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return {};
}

TEST(Asked, AnotherObjectiveIsOfTheSameTrials) {
  EXPECT_EQ(answer_to({}).best, "1 GHz");
  const Answer edp = answer_to(parse_question("edp", {}, {}));
  EXPECT_EQ(edp.best, "2 GHz");
  EXPECT_THAT(edp.asked, ElementsAre("objective edp (the experiment's: energy)"));
  EXPECT_EQ(answer_to(parse_question("time", {}, {})).best, "3 GHz");
  // A joule for nothing, a second for a fortune.
  EXPECT_EQ(answer_to(parse_question("{minimise: cost, price: {energy: 0.30 EUR/kWh, machine: 900 EUR/h}}", {}, {})).best, "3 GHz");
  ThreeClocks without_energy = three_clocks();
  for (TrialRow& trial : without_energy.trials) trial.energy_j = trial.objective_value = std::nullopt;
  EXPECT_EQ(answer_to({}, without_energy).best, "none");
  EXPECT_EQ(answer_to(parse_question("time", {}, {}), without_energy).best, "3 GHz");
}

TEST(Asked, OtherLimitsAndAnotherReference) {
  EXPECT_EQ(answer_to(parse_question("", {"slowdown<=20%"}, {})).best, "2 GHz");
  EXPECT_EQ(answer_to(parse_question("", {"slowdown <= 20 %", "accuracy>=0.85"}, {})).best, "none");
  const Answer accurate = answer_to(parse_question("", {"accuracy<0.85"}, {}));
  EXPECT_EQ(accurate.best, "2 GHz");
  EXPECT_THAT(accurate.asked, ElementsAre("subject to accuracy < 0.85 (the experiment's: nothing)"));
  ThreeClocks limited = three_clocks();
  limited.experiment.objective.constraints = *parse_question("", {"slowdown<=1%"}, {}).constraints;
  EXPECT_EQ(answer_to({}, limited).best, "3 GHz");
  EXPECT_EQ(answer_to(parse_question("", {"none"}, {}), limited).best, "1 GHz");
  // Against 2 GHz nothing is slower than 100 %.
  const Answer other = answer_to(parse_question("", {"slowdown<=100%"}, {"cpu.frequency=2000 MHz"}));
  EXPECT_EQ(other.reference, "2 GHz");
  EXPECT_EQ(other.best, "1 GHz");
}

TEST(Asked, WhatTheTrialsCannotTellIsRefused) {
  const std::string hint = "write a name, a relation and a bound, quoted:  --subject-to 'slowdown<=3%'  --subject-to 'accuracy>=0.75'";
  EXPECT_EQ(refused_question("edpp", {}, {}), "--objective: unknown objective 'edpp' (did you mean 'edp'?); known: energy, time, edp, ed2p, cost | write it as in an experiment: edp, or "
                                     "'{minimise: cost, price: {energy: 0.30 EUR/kWh, machine: 2.50 EUR/h}}'");
  EXPECT_EQ(refused_question("{minimise: energy, per: samples}", {}, {}),
            "--objective: 'per', 'across', 'same work', 'of' and 'to' decide how trials are judged as they are run | change them in the experiment file, for a new result; here: energy, "
            "time, edp, ed2p, cost");
  EXPECT_EQ(refused_question("", {"slowdown 3%"}, {}), "--subject-to 'slowdown 3%' says no bound | " + hint);
  EXPECT_EQ(refused_question("", {"slowdown<=3 W"}, {}), "--subject-to: constraint 'slowdown' must be a share such as 10 %, for example \"<= 5 %\"; found '<=3 W' | " + hint);
  EXPECT_EQ(refused_question("", {"acuracy>=0.7"}, {}),
            "--subject-to acuracy >= 0.7: no trial told a metric 'acuracy' (did you mean 'accuracy'?) | there are: slowdown, power, time, energy, accuracy");
  EXPECT_EQ(refused_question("", {}, {"2 GHz"}), "--reference '2 GHz' says no value of an axis | write an axis and its value:  --reference 'cpu.frequency=2.2 GHz'");
  EXPECT_EQ(refused_question("", {}, {"cpu.freqency=2 GHz"}), "--reference: there is no axis 'cpu.freqency' (did you mean 'cpu.frequency'?) | there are: cpu.frequency");
  EXPECT_EQ(refused_question("", {}, {"cpu.frequency=2.2 GHz"}), "--reference: cpu.frequency = 2.2 GHz was not swept | there are: 1 GHz, 2 GHz, 3 GHz");
}

}  // namespace
}  // namespace dvfs_plan
