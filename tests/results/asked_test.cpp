// Trials that are there, asked otherwise than their experiment asked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "results/report/asked.hpp"
#include "results/report/one_unit.hpp"
#include "results/report/question_text.hpp"
#include "results/report/report.hpp"
#include "results/report/summary.hpp"
#include "results/report/units_told.hpp"

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

// Of several points that hold it the one that the experiment's file would take: the highest value of each numeric knob, the first of all else.
TEST(Asked, OfSeveralPointsTheReferenceIsTheFiles) {
  ThreeClocks night;
  night.experiment.name = "night";
  night.experiment.axes = {{"cpu.frequency", "knob"}, {"threads", "parameter"}};
  for (const int ghz : {1, 2}) {
    for (const int threads : {2, 1, 4}) {
      TrialRow trial;
      trial.settings = {{"cpu.frequency", fmt::format("{} GHz", ghz), ghz * 1e9},
                        {"threads", std::to_string(threads), 1.0 * threads}};
      trial.point = fmt::format("w cpu.frequency={} GHz threads={}", ghz, threads);
      trial.key = trial.point + " #1";
      trial.workload = trial.scenario = "w";
      trial.verdict = trial.outcome = "ok";
      trial.time_s = 1;
      trial.energy_j = trial.objective_value = 100 + ghz + threads;
      night.points.push_back({trial.point, "w", "w", false, trial.settings});
      night.trials.push_back(trial);
    }
  }
  const auto reference_of = [&](const std::string& asked) {
    ThreeClocks of = night;
    ask(parse_question("", {}, {asked}), of.experiment, of.points, of.trials);
    for (const PointRow& point : of.points) {
      if (point.is_reference) return point.key;
    }
    return std::string("none");
  };
  EXPECT_EQ(reference_of("cpu.frequency=1 GHz"), "w cpu.frequency=1 GHz threads=2");
  EXPECT_EQ(reference_of("threads=4"), "w cpu.frequency=2 GHz threads=4");
}

// What the experiment has no more does not count, and is no reference.
TEST(Asked, APointThatWasTakenAwayIsNoReference) {
  ThreeClocks night = three_clocks();
  night.points[1].in_plan = false;
  try {
    answer_to(parse_question("", {}, {"cpu.frequency=2 GHz"}), night);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--reference: cpu.frequency = 2 GHz was not swept");
    EXPECT_EQ(error.hint(), "there are: 1 GHz, 3 GHz");
  }
  EXPECT_EQ(answer_to(parse_question("", {}, {"cpu.frequency=1 GHz"}), night).reference, "1 GHz");
}

TEST(Asked, AnotherObjectiveIsOfTheSameTrials) {
  EXPECT_EQ(answer_to({}).best, "1 GHz");
  const Answer edp = answer_to(parse_question("edp", {}, {}));
  EXPECT_EQ(edp.best, "2 GHz");
  EXPECT_THAT(edp.asked, ElementsAre("objective edp (the experiment's: energy)"));
  EXPECT_EQ(answer_to(parse_question("time", {}, {})).best, "3 GHz");
  // A joule for nothing, a second for a fortune.
  EXPECT_EQ(
      answer_to(parse_question("{minimise: cost, price: {energy: 0.30 EUR/kWh, machine: 900 EUR/h}}", {}, {}))
          .best,
      "3 GHz");
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
  EXPECT_EQ(
      refused_question("", {"none", "slowdown<=1%"}, {}),
      "--subject-to 'none' beside a limit | 'none' takes away the limits of the experiment; those that you "
      "name stand instead of them anyway");
  // Against 2 GHz nothing is slower than 100 %.
  const Answer other = answer_to(parse_question("", {"slowdown<=100%"}, {"cpu.frequency=2000 MHz"}));
  EXPECT_EQ(other.reference, "2 GHz");
  EXPECT_EQ(other.best, "1 GHz");
}

// Ratios are worked out by logarithms, which round: what is a limit exactly holds it.
TEST(Asked, WhatIsExactlyAtALimitHoldsIt) {
  for (int eighths = 1; eighths <= 64; ++eighths) {
    ThreeClocks night = three_clocks();
    for (TrialRow& trial : night.trials)
      trial.time_s = 0.001 * (trial.is_reference ? 8 : eighths) * trial.block;
    for (const bool or_equal : {true, false}) {
      const Question question = parse_question(
          "", {fmt::format("slowdown{}{:.1f}%", or_equal ? "<=" : "<", 12.5 * eighths - 100)}, {});
      ThreeClocks asked_of = night;
      ask(question, asked_of.experiment, asked_of.points, asked_of.trials);
      const Summary summary = summarise(asked_of.experiment, asked_of.trials);
      EXPECT_EQ(summary.scenarios.at(0).points.at(0).feasible, or_equal) << eighths;
    }
  }
  EXPECT_TRUE(holds(ConstraintSpec::Relation::at_most, 0.1 + 0.2, 0.3));
  EXPECT_FALSE(holds(ConstraintSpec::Relation::more, 0.1 + 0.2, 0.3));
  EXPECT_FALSE(holds(ConstraintSpec::Relation::at_most, 0.300001, 0.3));
  // What overflowed is no rounding of a limit.
  EXPECT_FALSE(holds(ConstraintSpec::Relation::at_most, INFINITY, 10));
  EXPECT_FALSE(holds(ConstraintSpec::Relation::at_least, -INFINITY, 10));
  EXPECT_TRUE(holds(ConstraintSpec::Relation::more, INFINITY, 10));
}

// A reference that breaks a limit was compared with nothing, and so was not found worse either.
TEST(Asked, AReferenceThatBreaksALimitWasBeatenByNothing) {
  ThreeClocks night = three_clocks();
  const ThreeClocks two = night;
  night.trials.clear();
  const double luck[] = {0.93, 1.06, 1.01, 0.96, 1.05, 0.99, 1.04, 0.95};
  for (int block = 1; block <= 8; ++block) {
    for (int i = 0; i < 3; ++i) {
      TrialRow trial = two.trials[static_cast<std::size_t>(i)];
      trial.block = block;
      trial.key = trial.point + " #" + std::to_string(block);
      trial.energy_j = 100 * luck[(3 * block + 5 * i) % 8];
      trial.objective_value = trial.energy_j;
      night.trials.push_back(trial);
    }
  }
  ask(parse_question("", {"accuracy>=0.75"}, {}), night.experiment, night.points, night.trials);
  const Summary summary = summarise(night.experiment, night.trials);
  EXPECT_FALSE(summary.scenarios.at(0).points.at(2).feasible);
  const std::string text = terminal_report(summary, night.trials, {});
  EXPECT_THAT(text, testing::HasSubstr("that this point is better than the reference is not shown."));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("though one of those")));
}

// "lat 200 ms" does not hold "<= 300 us", whatever the numbers say.
TEST(Asked, ABoundIsComparedInTheUnitOfTheValues) {
  struct Case {
    double value;
    const char *told, *bound;
    const char* holds;  // yes, no, or why it cannot be told
  };
  const Case cases[] = {
      {200, "ms", "m<=300 us", "no"},
      {200, "ms", "m<=0.3 s", "yes"},
      {200, "ms", "m<=300", "yes"},
      {0.2, "s", "m<=300 ms", "yes"},
      {2, "GiB", "m<=10 B", "no"},
      {2, "GiB", "m<=3000 MiB", "yes"},
      {50, "%", "m>=99 %", "no"},
      {50, "%", "m>=0.99", "its values are told in '%', and the bound is without a unit: write it in '%'"},
      {200, "ms", "m<=250 parsec",
       "its values are told in 'ms', and the bound is in 'parsec': write it in 'ms'"},
      {200, "", "m<=300 ms",
       "its values are told without a unit, and the bound is in 'ms': write it without a unit"},
      {3, "k", "m<=5", "yes"},
      {3, "k", "m<=5 k", "yes"},
      {0.75, "1", "m>=0.7", "yes"},
  };
  for (const Case& one : cases) {
    ThreeClocks night = three_clocks();
    for (TrialRow& trial : night.trials) {
      trial.metrics = {{"m", one.value}};
      trial.units_of_metrics = {{"m", one.told}};
    }
    const Question question = parse_question("", {one.bound}, {});
    ask(question, night.experiment, night.points, night.trials);
    const Summary summary = summarise(night.experiment, night.trials);
    const ConstraintCheck& check = summary.scenarios[0].points[0].constraints.at(0);
    const std::string what = fmt::format("{} {} and {}", one.value, one.told, one.bound);
    EXPECT_EQ(check.holds ? (*check.holds ? "yes" : "no") : check.why_not, one.holds) << what;
    EXPECT_EQ(summary.scenarios[0].best.has_value(), one.holds == std::string("yes")) << what;
    if (!check.holds) {
      EXPECT_THAT(answer_sentences(summary).at(0), testing::HasSubstr(check.why_not)) << what;
    }
  }
}

// The user's own program told it in another unit from some block on: one quantity in one unit, or not known.
TEST(Asked, OfAMetricInTwoUnitsNoMeanIsMadeOfBoth) {
  const std::string apart =
      "1 of the 2 trials of w cpu.frequency=1 GHz told it in a unit that does not compare with the others'";
  const struct {
    const char *first, *then;
    double value_then;
    const char* bound;
    std::string holds;
  } cases[] = {
      {"ms", "s", 0.004, "m<=6 ms", "yes"},    {"ms", "s", 0.004, "m<=0.003 s", "no"},
      {"GiB", "MiB", 4096, "m<=5 GiB", "yes"}, {"deg", "kdeg", 4, "m<=70 kdeg", apart},
      {"deg", "kdeg", 4, "m<=70", apart},      {"", "ms", 4, "m<=9", apart},
      {"ms", "", 4, "m<=9 ms", apart},         {"1", "", 4, "m<=9", "yes"},
  };
  for (const auto& one : cases) {
    ThreeClocks night = three_clocks();
    std::map<std::string, int> nth;
    for (TrialRow& trial : night.trials) {
      const bool then = nth[trial.point]++ >= 1;
      trial.metrics = {{"m", then ? one.value_then : 4}};
      trial.units_of_metrics = {{"m", then ? one.then : one.first}};
    }
    ask(parse_question("", {one.bound}, {}), night.experiment, night.points, night.trials);
    const Summary summary = summarise(night.experiment, night.trials);
    const PointSummary& point = summary.scenarios[0].points[0];
    const ConstraintCheck& check = point.constraints.at(0);
    const std::string what = fmt::format("{} and {}: {}", one.first, one.then, one.bound);
    EXPECT_EQ(check.holds ? (*check.holds ? "yes" : "no") : check.why_not, one.holds)
        << what << " " << point.counted;
    if (check.value) {
      EXPECT_NEAR(point.metrics.at("m").value.mean, 4, 1e-12) << what;
    }
    EXPECT_EQ(told_in_several_units(summary, night.trials).empty(), check.holds.has_value()) << what;
  }
}

// "time <= 4 s" is of the measured time, whatever a workload calls its own numbers, and that is said.
TEST(Asked, AMetricUnderTheNameOfWhatIsMeasuredIsNotTheOneThatIsBounded) {
  ThreeClocks night = three_clocks();
  for (TrialRow& trial : night.trials) {
    trial.metrics["time"] = 900;
    trial.units_of_metrics["time"] = "epochs";
  }
  ask(parse_question("", {"time<=3 s"}, {}), night.experiment, night.points, night.trials);
  const Summary summary = summarise(night.experiment, night.trials);
  EXPECT_EQ(summary.scenarios[0].points[*summary.scenarios[0].best].settings[0].text, "2 GHz");
  EXPECT_THAT(told_under_measured_names(summary),
              ElementsAre("w: 'time <= 3 s' bounds what is measured; the metric 'time' that the workload "
                          "tells is not looked at: to bound it, have "
                          "it told under another name"));
  EXPECT_THAT(told_under_measured_names(summarise(three_clocks().experiment, three_clocks().trials)),
              ElementsAre());
}

// Each is one of its own.
TEST(Asked, TwoBoundsOfOneMetricMustBothHold) {
  EXPECT_EQ(answer_to(parse_question("", {"accuracy<0.85", "accuracy>0.75"}, {})).best, "2 GHz");
  EXPECT_EQ(
      answer_to(parse_question("{minimise: energy, subject to: {accuracy: ['< 0.85', '> 0.75']}}", {}, {}))
          .best,
      "2 GHz");
  EXPECT_EQ(answer_to(parse_question("", {"accuracy<0.85", "accuracy>0.8500001"}, {})).best, "none");
}

// "work 5 k" is no 5.
TEST(Asked, AUnitOfWorkKeepsItsUnit) {
  ThreeClocks night = three_clocks();
  night.experiment.objective.per = "samples";
  for (TrialRow& trial : night.trials) trial.metrics["samples"] = 5;
  EXPECT_EQ(unit_of_work(summarise(night.experiment, night.trials).scenarios[0]), "sample");
  for (const char* same : {"1", "sample", "samples"}) {
    for (TrialRow& trial : night.trials) trial.units_of_metrics["samples"] = same;
    EXPECT_EQ(unit_of_work(summarise(night.experiment, night.trials).scenarios[0]), "sample") << same;
  }
  for (TrialRow& trial : night.trials) trial.units_of_metrics["samples"] = "k";
  const Summary summary = summarise(night.experiment, night.trials);
  EXPECT_EQ(unit_of_work(summary.scenarios[0]), "k of samples");
  EXPECT_THAT(answer_sentences(summary).at(0), testing::HasSubstr("the least energy per k of samples at"));
}

TEST(Asked, WhatTheTrialsCannotTellIsRefused) {
  const std::string hint =
      "write a name, a relation and a bound, quoted:  --subject-to 'slowdown<=3%'  --subject-to "
      "'accuracy>=0.75'";
  EXPECT_EQ(refused_question("edpp", {}, {}),
            "--objective: unknown objective 'edpp' (did you mean 'edp'?); known: energy, time, edp, ed2p, "
            "cost | write it as in an experiment: edp, or "
            "'{minimise: cost, price: {energy: 0.30 EUR/kWh, machine: 2.50 EUR/h}}'");
  EXPECT_EQ(refused_question("{minimise: energy, per: samples}", {}, {}),
            "--objective: 'per', 'across', 'same work', 'of' and 'to' decide how trials are judged as they "
            "are run | change them in the experiment file, for a new result; here: energy, "
            "time, edp, ed2p, cost");
  EXPECT_EQ(refused_question("", {"slowdown 3%"}, {}), "--subject-to 'slowdown 3%' says no bound | " + hint);
  EXPECT_EQ(refused_question("", {"slowdown<=3 W"}, {}),
            "--subject-to: constraint 'slowdown' must be a share such as 10 %, for example \"<= 5 %\"; found "
            "'<=3 W' | " +
                hint);
  EXPECT_EQ(refused_question("", {"acuracy>=0.7"}, {}),
            "--subject-to acuracy >= 0.7: no trial told a metric 'acuracy' (did you mean 'accuracy'?) | "
            "there are: slowdown, power, time, energy, accuracy");
  EXPECT_EQ(refused_question("", {}, {"2 GHz"}),
            "--reference '2 GHz' says no value of an axis | write an axis and its value:  --reference "
            "'cpu.frequency=2.2 GHz'");
  EXPECT_EQ(refused_question("", {}, {"cpu.freqency=2 GHz"}),
            "--reference: there is no axis 'cpu.freqency' (did you mean 'cpu.frequency'?) | there are: "
            "cpu.frequency");
  EXPECT_EQ(refused_question("", {}, {"cpu.frequency=2.2 GHz"}),
            "--reference: cpu.frequency = 2.2 GHz was not swept | there are: 1 GHz, 2 GHz, 3 GHz");
}

TEST(QuestionText, PricesAreToldWhereTheyDecide) {
  ScenarioSummary scenario;
  scenario.objective.price = PriceSpec{0.1, 3, "EUR"};
  scenario.objective.minimise = Objective::edp;
  EXPECT_EQ(question_text(scenario), "the least edp");
  scenario.objective.minimise = Objective::cost;
  EXPECT_EQ(question_text(scenario), "the least cost at 0.1 EUR a joule and 3 a second");
}

// A share that is told as a count, "1 of 100", is in %: a bare 0.5 beside it is in another unit, whichever of them comes first.
TEST(OneUnitOfAMetric, ACountIsAShareAndABareNumberIsNot) {
  TrialRow count, bare;
  for (TrialRow* one : {&count, &bare}) {
    one->workload = "w";
    one->verdict = "ok";
    one->role = TrialRole::point;
  }
  count.metrics = {{"miss", 1}};
  count.units_of_metrics = {{"miss", "%"}};
  count.counts_of_metrics = {{"miss", {1, 100}}};
  bare.metrics = {{"miss", 0.5}};
  bare.units_of_metrics = {{"miss", ""}};
  OneUnit by_count({count, bare}), by_bare({bare, count});
  EXPECT_EQ(by_count.of(count)->metrics.at("miss"), 1);
  EXPECT_THAT(by_count.of(bare)->metrics, testing::IsEmpty());
  EXPECT_THAT(by_count.of(bare)->in_other_units, ElementsAre("miss"));
  EXPECT_EQ(by_bare.of(bare)->metrics.at("miss"), 0.5);
  EXPECT_THAT(by_bare.of(count)->metrics, testing::IsEmpty());
  EXPECT_THAT(by_bare.of(count)->counts_of_metrics, testing::IsEmpty());
  EXPECT_THAT(by_bare.of(count)->in_other_units, ElementsAre("miss"));
}

}  // namespace
}  // namespace dvfs_plan
