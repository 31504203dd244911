// From a file and a machine's offers to points and trials.
#include "experiments/plan/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "experiments/plan/axis_values.hpp"
#include "experiments/plan/command_line.hpp"
#include "experiments/plan/work_files.hpp"
#include "tests/support/parse.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

AxisOffer six_clocks() {
  AxisOffer offer;
  offer.dimension = Dimension::frequency;
  for (const double ghz : {1.0, 1.4, 1.8, 2.2, 2.6, 3.0})
    offer.values.push_back({format(Hertz{ghz * 1e9}), ghz * 1e9});
  return offer;
}

ResolveWorld machine() {
  ResolveWorld world;
  world.offers.offers["cpu.frequency"] = six_clocks();
  world.offers.offers["cpu.governor"] = {Dimension::text, {{"performance", {}}, {"schedutil", {}}}, {}};
  AxisOffer range;
  range.dimension = Dimension::frequency;
  range.continuous = AxisOffer::Continuous{0.8e9, 1.2e9};
  for (const double ghz : {0.8, 0.9, 1.0, 1.1, 1.2})
    range.values.push_back({format(Hertz{ghz * 1e9}), ghz * 1e9});
  world.offers.offers["cpu.uncore"] = range;
  world.offers.missing["cpu.epp"] = "driver acpi-cpufreq has no energy_performance_preference";
  world.path = "/usr/bin:/bin";
  return world;
}

struct Resolved {
  std::optional<Plan> plan;
  std::string faults;
};

Resolved resolve(const std::string& text) {
  Diagnostics diagnostics("sweep.yaml");
  const auto experiment = parse_experiment(text, "sweep.yaml", diagnostics);
  if (!experiment) return {{}, diagnostics.text()};
  auto plan = resolve_plan(*experiment, machine(), diagnostics);
  return {std::move(plan), diagnostics.text()};
}

Resolved resolved_with(const std::string& rest) {
  return resolve("workloads: [{name: w, command: [\"true\", \"{batch}\"]}]\n" + rest);
}
Resolved plain(const std::string& rest) {
  return resolve("workloads: [{name: w, command: [\"true\"]}]\n" + rest);
}

std::vector<std::string> values(const Resolved& resolved, std::size_t axis = 0) {
  std::vector<std::string> texts;
  if (!resolved.plan) return {resolved.faults};
  for (const AxisValue& value : resolved.plan->axes.at(axis).values) texts.push_back(value.text);
  return texts;
}

TEST(Axis, EveryWayToNameValues) {
  EXPECT_THAT(values(plain("axes: {cpu.frequency: all}")),
              ElementsAre("1 GHz", "1.4 GHz", "1.8 GHz", "2.2 GHz", "2.6 GHz", "3 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: min}")), ElementsAre("1 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: max}")), ElementsAre("3 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: [1800 MHz, 3.0 GHz]}")), ElementsAre("1.8 GHz", "3 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: 2.2 GHz}")), ElementsAre("2.2 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: {count: 3}}")), ElementsAre("1 GHz", "2.2 GHz", "3 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: {from: 1.4 GHz, to: 2.2 GHz}}")),
              ElementsAre("1.4 GHz", "1.8 GHz", "2.2 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: {from: min, to: max, step: 800 MHz}}")),
              ElementsAre("1 GHz", "1.8 GHz", "2.6 GHz"));
  EXPECT_THAT(values(plain("axes: {cpu.frequency: {values: [1.9 GHz, 9 GHz], nearest: true}}")),
              ElementsAre("1.8 GHz", "3 GHz"));
  EXPECT_THAT(values(resolved_with("axes: {batch: {from: 8, to: 64, times: 2}}")),
              ElementsAre("8", "16", "32", "64"));
  EXPECT_THAT(values(resolved_with("axes: {batch: {from: 0.1, to: 0.3, step: 0.1}}")),
              ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(values(plain("axes: {cpu.uncore: [0.85 GHz]}")),
              ElementsAre("850 MHz"));  // continuous: anything within
}

TEST(Axis, TheNearestOfAValueBeyondWhatIsOfferedIsTold) {
  EXPECT_EQ(plain("axes: {cpu.frequency: {values: [1.9 GHz, 2 GHz], nearest: true}}").faults, "");
  EXPECT_EQ(plain("axes: {cpu.frequency: {values: [1 GHz, 900 MHz], nearest: true}}").faults,
            "sweep.yaml:2:40: warning: axis 'cpu.frequency': 900 MHz lies below the lowest that this machine "
            "offers; 1 GHz is taken (nearest)\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: {values: [1.9 GHz, 9 GHz], nearest: true}}").faults,
            "sweep.yaml:2:42: warning: axis 'cpu.frequency': 9 GHz lies above the highest that this machine "
            "offers; 3 GHz is taken (nearest)\n");
}

TEST(Axis, AValueTheMachineDoesNotOfferNamesItsNeighbours) {
  EXPECT_EQ(plain("axes: {cpu.frequency: [1.9 GHz]}").faults,
            "sweep.yaml:2:24: error: axis 'cpu.frequency': this machine does not offer 1.9 GHz; its "
            "neighbours are 1.8 GHz and 2.2 GHz (or write {values: [...], nearest: true})\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: [9 GHz]}").faults,
            "sweep.yaml:2:24: error: axis 'cpu.frequency': this machine does not offer 9 GHz; the highest it "
            "offers is 3 GHz (or write {values: [...], nearest: true})\n");
  EXPECT_EQ(plain("axes: {cpu.governor: [perfomance]}").faults,
            "sweep.yaml:2:23: error: axis 'cpu.governor': this machine does not offer 'perfomance' (did you "
            "mean 'performance'?); it offers: performance, schedutil\n");
}

TEST(Axis, UnitsAndDimensions) {
  EXPECT_EQ(plain("axes: {cpu.frequency: [1800]}").faults,
            "sweep.yaml:2:24: error: axis 'cpu.frequency' takes a frequency such as 1.8 GHz; found '1800', "
            "which has no unit\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: [5 W]}").faults,
            "sweep.yaml:2:24: error: axis 'cpu.frequency' takes a frequency such as 1.8 GHz; found '5 W'\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: [1.8 Ghz]}").faults,
            "sweep.yaml:2:24: error: axis 'cpu.frequency' takes a frequency such as 1.8 GHz; found '1.8 Ghz' "
            "(did you mean the unit 'GHz'?)\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: {from: 1 GHz, to: 3 GHz, step: 2}}").faults,
            "sweep.yaml:2:54: error: axis 'cpu.frequency': 'step' must be a frequency such as 1.8 GHz; found "
            "'2'\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: {from: 3 GHz, to: 1 GHz}}").faults,
            "sweep.yaml:2:41: error: axis 'cpu.frequency': 'to' (1 GHz) lies below 'from' (3 GHz)\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: {count: 7}}").faults,
            "sweep.yaml:2:23: error: axis 'cpu.frequency': count 7 asked for, but this machine offers 6: 1 "
            "GHz, 1.4 GHz, 1.8 GHz, 2.2 GHz, 2.6 GHz, 3 GHz\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: {from: 1.1 GHz, to: 1.2 GHz}}").faults,
            "sweep.yaml:2:23: error: axis 'cpu.frequency': this machine offers nothing from 1.1 GHz to 1.2 "
            "GHz; it offers: 1 GHz, 1.4 GHz, 1.8 GHz, 2.2 GHz, 2.6 GHz, 3 GHz\n");
}

TEST(Axis, AKnobTheMachineDoesNotHave) {
  EXPECT_EQ(
      plain("axes: {cpu.epp: all}").faults,
      "sweep.yaml:2:8: error: axis 'cpu.epp': driver acpi-cpufreq has no energy_performance_preference\n");
}

TEST(Axis, AParameterCannotAskTheMachine) {
  EXPECT_EQ(resolved_with("axes: {batch: all}").faults,
            "sweep.yaml:2:15: error: axis 'batch' is a parameter of the workload: the machine cannot say "
            "what 'all', 'min', 'max' or 'count' are; list its values\n");
}

TEST(Placeholders, NameAnAxisAndAreUsed) {
  EXPECT_EQ(resolved_with("axes: {bacth: [1]}").faults,
            "sweep.yaml:1:41: error: {batch} names no axis (did you mean 'bacth'?); add 'axes: {batch: "
            "[...]}', or write {{batch}} for the text itself\n"
            "sweep.yaml:2:8: error: axis 'bacth' is used by no workload: put {bacth} into a command\n");
}

TEST(Placeholders, OfAnAxisThatCannotBeReadItsFaultAloneIsTold) {
  for (const char* values : {"[]", "[1, null]", "{from: 1, to: 4, step: 1, times: 2}", "{count: 0}"}) {
    const std::string faults = resolved_with(fmt::format("axes: {{batch: {}}}", values)).faults;
    EXPECT_EQ(std::count(faults.begin(), faults.end(), '\n'), 1) << faults;
    EXPECT_TRUE(faults.starts_with("sweep.yaml:2:")) << faults;
  }
}

TEST(Workload, ACommandThatDoesNotExist) {
  EXPECT_EQ(resolve("workloads: [{name: w, command: [no-such-command]}]").faults,
            "sweep.yaml:1:33: error: workload 'w': there is no command 'no-such-command' on PATH; give its "
            "path, relative to the experiment file\n");
  EXPECT_EQ(resolve("workloads: [{name: w, command: [./missing]}]").faults,
            "sweep.yaml:1:33: error: workload 'w': './missing' is not a program that can be run (looked for "
            "missing)\n");
  EXPECT_EQ(resolve("workloads: [{name: w, command: [\"true\"], run_as: no-such-user}]").faults,
            "sweep.yaml:1:50: error: workload 'w': there is no user 'no-such-user' on this machine\n");
}

TEST(Workload, ShellPlaceholdersMustNotBeQuotedTwice) {
  EXPECT_EQ(resolve("workloads: [{name: w, shell: \"echo '{x}'\"}]\naxes: {x: [1]}").faults,
            "sweep.yaml:1:30: error: workload 'w': a {name} in 'shell' is quoted already; take the quotes "
            "around it away\n");
}

TEST(Axis, WordsHaveNoRange) {
  EXPECT_EQ(plain("axes: {cpu.governor: {from: 1, to: 2}}").faults,
            "sweep.yaml:2:22: error: axis 'cpu.governor' takes words, of which there is no range; list them: "
            "performance, schedutil\n");
}

// What a program takes with a unit is a word to it, and a quantity to who asks for the most of it.
TEST(AxisValues, OfWordsWithAUnitTheLeastAndTheMostAreBySize) {
  const auto chosen = [](const std::vector<std::string>& words, const std::string& values) {
    AxisOffer offer{Dimension::text, {}, {}};
    for (const std::string& word : words) offer.values.push_back({word, {}});
    Diagnostics diagnostics("sweep.yaml");
    const auto experiment = parse_experiment(
        "workloads: [{name: w, command: [\"true\"]}]\naxes: {cpu.governor: " + values + "}\n", "sweep.yaml",
        diagnostics);
    const PlanAxis axis = resolve_axis(experiment->axes.at(0), &offer, diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    std::vector<std::string> texts;
    for (const AxisValue& value : axis.values) texts.push_back(value.text);
    return texts;
  };
  for (const std::vector<std::string>& clocks :
       {std::vector<std::string>{"2 GHz", "1.2 GHz", "800 MHz"}, {"1.2 GHz", "800 MHz", "2 GHz"}}) {
    EXPECT_THAT(chosen(clocks, "max"), ElementsAre("2 GHz"));
    EXPECT_THAT(chosen(clocks, "min"), ElementsAre("800 MHz"));
    EXPECT_THAT(chosen(clocks, "{count: 2}"), ElementsAre("800 MHz", "2 GHz"));
    EXPECT_EQ(chosen(clocks, "all"), clocks);
  }
  EXPECT_THAT(chosen({"250 W", "90 W", "0.12 kW"}, "max"), ElementsAre("250 W"));
  EXPECT_THAT(chosen({"100 %", "5 %", "50 %"}, "min"), ElementsAre("5 %"));
  // Of other words, and of what does not compare, the list's order is all there is.
  EXPECT_THAT(chosen({"quiet", "normal", "loud"}, "max"), ElementsAre("loud"));
  EXPECT_THAT(chosen({"90 W", "2 GHz", "off"}, "min"), ElementsAre("90 W"));
}

TEST(Axis, ARangeThatMissesEverythingIsToldBriefly) {
  const auto faults = plain("axes: {cpu.frequency: {from: 1 Hz, to: 3 GHz, step: 1 Hz}}").faults;
  EXPECT_EQ(std::count(faults.begin(), faults.end(), '\n'), 5);
}

TEST(Workload, TheShellsOwnSpellingIsNotOurs) {
  EXPECT_EQ(resolve("workloads: [{name: w, shell: \"echo ${n}\"}]\naxes: {n: [1]}").faults,
            "sweep.yaml:1:30: error: workload 'w': '${name}' in 'shell': write {name} for an axis, ${{NAME}} "
            "for the shell's own variable\n");
}

TEST(Points, TheReferenceIsTheHighestOfWhatIsLeft) {
  const auto resolved = plain("axes: {cpu.frequency: all}\nexclude: [{cpu.frequency: max}]\n");
  ASSERT_TRUE(resolved.plan) << resolved.faults;
  for (const PlanPoint& point : resolved.plan->points)
    EXPECT_EQ(point.reference, point.values[0]->text == "2.6 GHz");
}

TEST(Points, TwoOfOneNameAreRefused) {
  EXPECT_EQ(resolve("workloads: [{name: w, command: [\"true\", \"{a}\", \"{b}\"]}]\naxes: {a: [\"x\", \"x "
                    "b=1\"], b: [\"1\", \"1 b=1\"]}\n")
                .faults,
            "sweep.yaml:1:20: error: two points of workload 'w' would both be called 'w a=x b=1 b=1': a "
            "value has the name of another axis and "
            "'=' in it; write that value otherwise\n");
  // Of two workloads too: they would pass for one.
  EXPECT_THAT(
      resolve("workloads: [{name: w, command: [\"true\", \"{a}\"]}, {name: w a=1, command: [\"false\", "
              "\"{a}\"]}]\naxes: {a: [\"1\", \"1 a=1\"]}\n")
          .faults,
      testing::HasSubstr("error: a point of workload 'w' and one of 'w a=1' would both be called 'w a=1 "
                         "a=1': call one of the workloads otherwise\n"));
}

// Values of a parameter are texts, which may mean one number.
TEST(Points, AReferenceIsTheValueAsItIsWritten) {
  for (const char* written : {"1", "01", "1.0", "1e0"}) {
    const auto resolved = resolve(
        fmt::format("workloads: [{{name: w, command: [\"true\", \"{{a}}\"]}}]\naxes: {{a: [\"1\", \"01\", "
                    "\"1.0\", \"1e0\"]}}\n"
                    "objective: {{minimise: time, across: [a], same work: true}}\nreference: {{a: \"{}\"}}\n",
                    written));
    ASSERT_TRUE(resolved.plan) << resolved.faults;
    for (const PlanPoint& point : resolved.plan->points)
      EXPECT_EQ(point.reference, point.values[0]->text == written) << written;
  }
}

TEST(Exclude, TakesPointsAway) {
  const auto resolved = plain(
      "axes: {cpu.frequency: all, cpu.governor: all}\nexclude: [{cpu.frequency: [1 GHz, max], cpu.governor: "
      "schedutil}]\n");
  ASSERT_TRUE(resolved.plan) << resolved.faults;
  EXPECT_EQ(resolved.plan->points.size(), 10U);
  EXPECT_EQ(plain("axes: {cpu.frequency: [1 GHz]}\nexclude: [{cpu.frequency: 1 GHz}]\n").faults,
            "sweep.yaml:1:20: error: 'exclude' leaves workload 'w' without a single point\n");
  EXPECT_EQ(
      plain("axes: {cpu.frequency: [1 GHz]}\nexclude: [{cpu.frequency: 2 GHz}]\n").faults,
      "sweep.yaml:3:27: error: 'exclude': '2 GHz' is no value of axis 'cpu.frequency'; its values: 1 GHz\n");
  // A word is neither the least nor the greatest of numbers.
  EXPECT_EQ(resolve("workloads: [{name: w, command: [\"true\", \"{size}\"]}]\n"
                    "axes: {size: [\"1 MiB\", \"2 MB\"]}\nexclude: [{size: max}]\n")
                .faults,
            "sweep.yaml:3:18: error: 'exclude': 'max' is no value of axis 'size'; its values: 1 MiB, 2 MB\n");
  EXPECT_EQ(plain("axes: {cpu.frequency: [1 GHz]}\nexclude: [{cpu.freqency: 2 GHz}]\n").faults,
            "sweep.yaml:3:12: error: 'exclude' names axis 'cpu.freqency', which is not in 'axes' (did you "
            "mean 'cpu.frequency'?)\n");
}

// One answer names them all: what is known of an axis that is right is used, and nothing is told of the values of one that is not.
TEST(Faults, OfValuesAndOfWhatNamesThemAreToldAtOnce) {
  const std::string faults =
      plain(
          "axes: {cpu.frequency: [7 GHz], cpu.governor: all}\n"
          "exclude: [{zz: 1}, {cpu.frequency: 8 GHz}]\nreference: {cpu.governor: fast}\n")
          .faults;
  EXPECT_THAT(faults, testing::HasSubstr("sweep.yaml:2:24: error: "));
  EXPECT_THAT(faults, testing::HasSubstr("'exclude' names axis 'zz', which is not in 'axes'"));
  EXPECT_THAT(faults, testing::HasSubstr("'reference': 'fast' is no value of axis 'cpu.governor'"));
  EXPECT_THAT(faults, testing::Not(testing::HasSubstr("8 GHz")));
}

TEST(Axis, AStepThatNumbersCannotShowIsRefused) {
  EXPECT_EQ(resolved_with("axes: {batch: {from: 9007199254740992, to: 9007199254740994, step: 1}}").faults,
            "sweep.yaml:2:68: error: axis 'batch': from 9007199254740992 on, 'step' of 1 is too small a step "
            "for a number of 15 "
            "digits\n");
}

TEST(Points, AWorkloadRunsOnlyOverTheParametersItUses) {
  const auto resolved = resolve(
      "workloads: [{name: a, command: [\"true\", \"{n}\"]}, {name: b, command: [\"true\"]}]\naxes: "
      "{cpu.frequency: [1 GHz, 3 GHz], n: [1, 2, 3]}\n");
  ASSERT_TRUE(resolved.plan) << resolved.faults;
  EXPECT_EQ(resolved.plan->points.size(), 6U + 2U);
  EXPECT_EQ(resolved.plan->points.back().key, "b cpu.frequency=3 GHz");
}

TEST(Points, EachScenarioHasItsOwnReference) {
  const auto resolved = resolved_with("axes: {cpu.frequency: [1 GHz, 3 GHz], batch: [8, 16]}\n");
  ASSERT_TRUE(resolved.plan) << resolved.faults;
  std::set<std::string> references;
  for (const PlanPoint& point : resolved.plan->points) {
    if (point.reference) references.insert(point.scenario + ": " + point.values[0]->text);
  }
  EXPECT_THAT(references, ElementsAre("w batch=16: 3 GHz", "w batch=8: 3 GHz"));
}

TEST(Points, ParametersCompeteAcrossWhichAUnitIsTheSame) {
  const std::string text =
      "workloads: [{name: w, command: [\"true\", \"{model}\", \"{batch}\"]}]\n"
      "axes: {model: [a, b], batch: [16, 64]}\n";
  const auto apart = resolve(text + "objective: {minimise: energy, per: samples}\n");
  ASSERT_TRUE(apart.plan) << apart.faults;
  std::set<std::string> scenarios;
  for (const PlanPoint& point : apart.plan->points) scenarios.insert(point.scenario);
  EXPECT_EQ(scenarios.size(), 4U);

  const auto together = resolve(text + "objective: {minimise: energy, per: samples, across: [batch]}\n");
  ASSERT_TRUE(together.plan) << together.faults;
  scenarios.clear();
  std::vector<std::string> references;
  for (const PlanPoint& point : together.plan->points) {
    scenarios.insert(point.scenario);
    EXPECT_EQ(point.operating_point, "");  // no knob is set, and idle windows go by knobs
    if (point.reference) references.push_back(point.key);
  }
  EXPECT_THAT(scenarios, ElementsAre("w model=a", "w model=b"));
  EXPECT_THAT(references, ElementsAre("w model=a batch=16", "w model=b batch=16"));
  EXPECT_NE(together.plan->hash, apart.plan->hash);

  EXPECT_EQ(resolve(text + "objective: {minimise: energy, per: samples, across: [bathc]}\n").faults,
            "sweep.yaml:3:54: error: 'across' names 'bathc', which is no parameter in 'axes' (did you mean "
            "'batch'?)\n");
  EXPECT_EQ(resolve(text + "objective: {minimise: energy, across: [batch]}\n").faults,
            "sweep.yaml:3:39: error: 'across' compares what a unit of work takes: add  per: METRIC  that "
            "counts the "
            "units, or  same work: true  where each run does the same at every value\n");
  const auto same = resolve(text + "objective: {minimise: energy, across: [batch], same work: true}\n");
  ASSERT_TRUE(same.plan) << same.faults;
  EXPECT_EQ(same.plan->points[0].scenario, together.plan->points[0].scenario);
  EXPECT_NE(same.plan->hash, together.plan->hash);
  EXPECT_EQ(resolve(text + "objective: {minimise: energy, per: samples, across: [batch], same work: true}\n")
                .faults,
            "sweep.yaml:3:73: error: 'same work' says that each run is one unit, and 'per' that a metric "
            "counts them: "
            "keep one of the two\n");
  EXPECT_EQ(resolve(text + "objective: {minimise: energy, same work: true}\n").faults,
            "sweep.yaml:3:42: error: 'same work' needs the parameters at whose values each run does the same "
            "work, for "
            "example  across: [threads]\n");
  EXPECT_EQ(
      plain("axes: {cpu.frequency: all}\nobjective: {minimise: energy, per: n, across: [cpu.frequency]}\n")
          .faults,
      "sweep.yaml:3:48: error: 'across': 'cpu.frequency' is a knob, whose values compete anyway; take it "
      "away\n");
}

TEST(Schedule, EachBlockHoldsEachPointOnce) {
  const auto resolved = plain("axes: {cpu.frequency: all}\nrepeat: 4\nseed: 7\n");
  ASSERT_TRUE(resolved.plan);
  std::map<int, std::set<int>> blocks;
  for (const PlannedTrial& trial : resolved.plan->trials) {
    if (!is_idle(trial.role)) blocks[trial.block].insert(trial.point);
  }
  ASSERT_EQ(blocks.size(), 4U);
  for (const auto& [block, points] : blocks) EXPECT_EQ(points.size(), 6U);
}

TEST(Schedule, WhatNeedsTheSameServicesFollowsEachOtherInRandomOrder) {
  std::map<std::string, int> first_groups;
  std::set<std::vector<int>> orders;
  for (int seed = 1; seed <= 40; ++seed) {
    const auto resolved = resolve(fmt::format(
        "services: [{{name: s, command: [sleep, \"{{batch}}\"]}}, {{name: t, command: [sleep, '9']}}]\n"
        "workloads: [{{name: w, command: [\"true\"]}}, {{name: v, command: [\"true\"], services: [t]}}]\n"
        "axes: {{batch: [1, 2, 4], cpu.frequency: all}}\nobjective: {{minimise: energy, per: n, across: "
        "[batch]}}\nseed: {}\nrepeat: 2\n",
        seed));
    ASSERT_TRUE(resolved.plan) << resolved.faults;
    const Plan& plan = *resolved.plan;
    ASSERT_EQ(plan.points.size(), 18U + 6U);
    std::map<int, std::vector<std::string>> groups;  // by block, each once for each time that it begins
    std::map<int, std::vector<int>> run;
    for (const PlannedTrial& trial : plan.trials) {
      if (is_idle(trial.role)) continue;
      const std::string& services = plan.points[static_cast<std::size_t>(trial.point)].services;
      auto& seen = groups[trial.block];
      if (seen.empty() || seen.back() != services) seen.push_back(services);
      run[trial.block].push_back(trial.point);
    }
    for (const int block : {1, 2}) {
      EXPECT_THAT(groups[block],
                  testing::UnorderedElementsAre("s batch=1, t", "s batch=2, t", "s batch=4, t", "t"));
      EXPECT_EQ(run[block].size(), 24U + 2U);  // the reference of each scenario twice
      EXPECT_EQ(std::set<int>(run[block].begin(), run[block].end()).size(), 24U);
      ++first_groups[groups[block].front()];
      orders.insert(run[block]);
    }
  }
  // Each is as likely to be the first, however many trials are in it: 20 of 80, within four standard deviations.
  EXPECT_EQ(first_groups.size(), 4U);
  for (const auto& [group, times] : first_groups) EXPECT_NEAR(times, 20, 16) << group;
  EXPECT_EQ(orders.size(), 80U);
}

TEST(Schedule, IsFixedByItsSeed) {
  const auto order = [](const std::string& rest) {
    std::vector<int> points;
    const auto resolved =
        plain("axes: {cpu.frequency: all}\nrepeat: 1\nconditions: {idle: none, references: false}\n" + rest);
    for (const PlannedTrial& trial : resolved.plan->trials) points.push_back(trial.point);
    return points;
  };
  // A published night must be repeatable with a later version: this very order.
  EXPECT_THAT(order("seed: 20190527\n"), ElementsAre(4, 5, 1, 2, 3, 0));
  EXPECT_NE(order("seed: 1\n"), order("seed: 2\n"));
  EXPECT_THAT(order("order: listed\n"), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(PlanHash, ChangesWithWhatIsRunAndSaysWhatChanged) {
  const auto before = plain("axes: {cpu.frequency: [1 GHz, 3 GHz]}\nrepeat: 3\n");
  const auto after = plain("axes: {cpu.frequency: [1 GHz, 2.2 GHz]}\nrepeat: 5\n");
  const auto described =
      plain("description: other words\naxes: {cpu.frequency: [1 GHz, 3 GHz]}\nrepeat: 3\n");
  EXPECT_EQ(before.plan->hash, described.plan->hash);
  EXPECT_NE(before.plan->hash, after.plan->hash);
  EXPECT_THAT(plan_differences(before.plan->canonical, after.plan->canonical),
              ElementsAre("axes / cpu.frequency: 3 GHz taken away", "axes / cpu.frequency: 2.2 GHz added",
                          "repeat / min: 3 -> 5", "repeat / max: 3 -> 5"));
}

// ------------------------------------------------------------------ values in commands

CommandLine fill(const std::string& yaml, const std::string& value) {
  Diagnostics diagnostics("x");
  const auto experiment = parse_experiment(yaml, "x", diagnostics);
  return command_line(experiment->workloads.at(0), {{"x", false, Dimension::text, {}}},
                      {AxisValue{value, {}}});
}

TEST(CommandLine, AValueFillsOneArgumentAndIsNeverSplit) {
  const auto command =
      fill("workloads: [{name: w, command: [prog, \"--n={x}\", \"{{x}}\", \"{\\\"json\\\": 1}\"]}]",
           "a b; rm -rf / $(id) 'q'");
  EXPECT_THAT(command.argv, ElementsAre("prog", "--n=a b; rm -rf / $(id) 'q'", "{x}", "{\"json\": 1}"));
}

TEST(CommandLine, InShellTextAValueTravelsInAVariable) {
  const auto command = fill("workloads: [{name: w, shell: \"prog {x} | tee log\"}]", "$(id); 'quoted'");
  EXPECT_THAT(command.argv, ElementsAre("/bin/sh", "-c", "prog \"$DVFS_PLAN_AXIS_x\" | tee log"));
  EXPECT_THAT(command.environment,
              ElementsAre(std::pair<std::string, std::string>("DVFS_PLAN_AXIS_x", "$(id); 'quoted'")));
}

TEST(CommandLine, FindsPlaceholdersInsideQuotes) {
  EXPECT_TRUE(placeholder_inside_quotes("echo \"{x}\""));
  EXPECT_TRUE(placeholder_inside_quotes("echo 'a' '{x}'"));
  EXPECT_FALSE(placeholder_inside_quotes("echo 'a' {x} \"b\""));
  EXPECT_FALSE(placeholder_inside_quotes("echo \\' {x}"));
}

TEST(TrialKeys, SayWhichTrialItIs) {
  PlanPoint point;
  point.key = "w cpu.frequency=1.8 GHz n=2";
  point.operating_point = "cpu.frequency=1.8 GHz";
  const auto key = [&](const TrialId& id) { return trial_key(point, id); };
  EXPECT_EQ(key({0, 2}), "w cpu.frequency=1.8 GHz n=2 #2");
  EXPECT_EQ(key({0, 2, TrialRole::reference_first}), "w cpu.frequency=1.8 GHz n=2 #2 first");
  EXPECT_EQ(key({0, 2, TrialRole::reference_last, 1, 2}), "w cpu.frequency=1.8 GHz n=2 #2 last rerun 1");
  EXPECT_EQ(key({0, 3, TrialRole::point, 2, 3}), "w cpu.frequency=1.8 GHz n=2 #3.2 rerun 2");
  EXPECT_EQ(key({0, 3, TrialRole::warm_up, 2}), "w cpu.frequency=1.8 GHz n=2 #3 warm-up 2");
  EXPECT_EQ(key({0, 1, TrialRole::idle_before}), "idle cpu.frequency=1.8 GHz #1 before");
  EXPECT_EQ(key({0, 1, TrialRole::idle_after}), "idle cpu.frequency=1.8 GHz #1 after");
  EXPECT_TRUE(same_but_for_attempt({0, 2, TrialRole::point, 1, 2}, {0, 2}));
  EXPECT_FALSE(same_but_for_attempt({0, 2, TrialRole::point, 2}, {0, 2}));
}

TEST(Commands, AWordForAShellIsNamed) {
  Diagnostics diagnostics("x.yaml");
  const auto parsed = parse_experiment(
      "workloads: [{name: a, command: [sort, x, '>', y]}]\nobjective: time\n", "x.yaml", diagnostics);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(resolve_plan(*parsed, {{}, "/usr/bin:/bin"}, diagnostics));
  EXPECT_EQ(diagnostics.text(),
            "x.yaml:1:42: warning: workload 'a': '>' is a word for the program, as no shell reads it; for a "
            "redirection or "
            "a pipe write  shell: TEXT  in place of  command: [...]\n");
}

TEST(WorkFiles, AProgramIsWhatACommandBeginsWith) {
  TemporaryFolder folder;
  for (const char* name : {"rate", "sort", "nice", "timeout", "prepare"}) {
    folder.file(name, "#!/bin/sh\n");
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  const std::string elsewhere = TemporaryFolder().path();
  const auto named = [&](const std::vector<std::string>& words, const std::string& shell) {
    std::string names;
    for (const std::string& file : named_work_files(words, shell, elsewhere, folder.path()))
      names += (names.empty() ? "" : " ") + std::filesystem::path(file).filename().string();
    return names;
  };
  EXPECT_EQ(named({}, "echo rate=1 rate 5; sort <big.txt | cat"), "sort");
  EXPECT_EQ(named({}, "X=1 prepare && for i in 1 2; do rate; done"), "prepare rate");
  EXPECT_EQ(named({}, "timeout 5 nice sort x"), "nice sort timeout");
  EXPECT_EQ(named({"sh", "-c", "if prepare; then echo sort; fi"}, ""), "prepare");
  EXPECT_EQ(named({"python3", "-c", "rate = 1; sort; print(rate)"}, ""), "");
  EXPECT_EQ(named({"nice", "-n", "5", "sort"}, ""), "sort");
}

}  // namespace
}  // namespace dvfs_plan
