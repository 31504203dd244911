// What the parser says of a faulty file: whole texts, since people act on them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/plan/experiment.hpp"
#include "tests/support/parse.hpp"

namespace dvfs_plan {
namespace {

std::string faults(const std::string& text) {
  Diagnostics diagnostics("sweep.yaml");
  parse_experiment(text, "sweep.yaml", diagnostics);
  return diagnostics.text();
}

// Of a program that knows these searches.
std::string faults_of_search(const std::string& text) {
  Diagnostics diagnostics("sweep.yaml");
  Vocabulary vocabulary;
  vocabulary.searches = {{"full", false}, {"adaptive", true}, {"golden", false}, {"random", false}};
  parse_experiment(text, "sweep.yaml", vocabulary, diagnostics);
  return diagnostics.text();
}

// A file with one good workload and whatever else is given.
std::string with(const std::string& rest) {
  return "workloads: [{name: w, command: [\"true\"]}]\n" + rest;
}

TEST(Parse, AGoodFileHasNoFaults) {
  EXPECT_EQ(faults(with("axes: {cpu.frequency: [1.8 GHz, 2.2 GHz]}\nrepeat: 5\nobjective: edp\n")), "");
}

TEST(Parse, TellsAllFaultsInOneGoInFileOrder) {
  EXPECT_EQ(
      faults("workloads:\n"
             "  - name: a\n"
             "    comand: [sort]\n"
             "    timeout: 60\n"
             "  - name: a\n"
             "    command: [sort]\n"
             "repeat: 0\n"
             "seed: x\n"),
      "sweep.yaml:2:5: error: workload 'a' needs either 'command: [program, argument, ...]' or 'shell: "
      "text'\n"
      "sweep.yaml:3:5: error: unknown key 'comand' in a workload (did you mean 'command'?)\n"
      "sweep.yaml:4:14: error: 'timeout' must be a time such as 500 ms; found '60', which has no unit\n"
      "sweep.yaml:5:11: error: two workloads are named 'a' (the first in line 2); give each its own name\n"
      "sweep.yaml:7:9: error: 'repeat' must be a whole number from 1 to 10000; found '0'\n"
      "sweep.yaml:8:7: error: 'seed' must be a whole number from 0 to 9223372036854775807; found 'x'\n");
}

TEST(Parse, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(faults(with("repeat: {untill: 5 %}\n")),
            "sweep.yaml:2:10: error: unknown key 'untill' in 'repeat' (did you mean 'until'?)\n");
  EXPECT_EQ(faults(with("zzz: 1\n")),
            "sweep.yaml:2:1: error: unknown key 'zzz' in the experiment; known: name, description, "
            "workloads, services, axes, sysfs, set, exclude, repeat, budget, search, order, "
            "seed, settle, measure, conditions, gpus, probes, objective, reference, result, machines\n");
}

TEST(Parse, HowPointsAreChosen) {
  const auto search = [](const std::string& yaml) {
    Diagnostics diagnostics("sweep.yaml");
    const auto e =
        parse_experiment("workloads: [{name: a, command: [x]}]\n" + yaml, "sweep.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), "") << yaml;
    return e->search;
  };
  EXPECT_EQ(search("").method, "full");
  EXPECT_EQ(search("search: full\n").method, "full");
  EXPECT_EQ(search("search: adaptive\n").method, "adaptive");
  const auto all = search(
      "search: {stop: {regret: 0.5 %, confidence: 90 %}, at most: 40 trials, prior: [a.sqlite, b.sqlite]}\n");
  EXPECT_EQ(all.method, "adaptive");
  EXPECT_DOUBLE_EQ(all.regret, 0.005);
  EXPECT_DOUBLE_EQ(all.confidence, 0.9);
  EXPECT_EQ(all.at_most, 40);
  EXPECT_EQ(all.prior.size(), 2U);
  EXPECT_EQ(
      faults_of_search(with("search: adaptve\n")),
      "sweep.yaml:2:9: error: 'search' must be one of full, adaptive, golden, random; found 'adaptve' (did "
      "you mean 'adaptive'?)\n");
  EXPECT_EQ(
      faults(with("search: {stop: {regret: 0 %, confidence: 100 %}, at most: some}\n")),
      "sweep.yaml:2:25: error: 'regret' in 'stop' must be above 0 % and at most 100 %; found '0 %'\n"
      "sweep.yaml:2:42: error: 'confidence' in 'stop' must be above 50 % and at most 99 %; found '100 %'\n"
      "sweep.yaml:2:59: error: 'at most' in 'search' must be a number of trials of each scenario such as '40 "
      "trials', at most 500; "
      "found 'some'\n");
  EXPECT_EQ(faults_of_search(with("search: {method: full, at most: 5}\n")),
            "sweep.yaml:2:24: error: 'search: full' takes no 'at most'; it belongs to the methods adaptive, "
            "golden, "
            "random\n");
  EXPECT_EQ(faults_of_search(with("search: {method: random, at most: 5, stop: {regret: 1 %}}\n")),
            "sweep.yaml:2:38: error: 'search: random' takes no 'stop'; it belongs to the method adaptive\n");
  EXPECT_EQ(search("search: {method: random, at most: 5}\n").at_most, 5);
  EXPECT_EQ(
      faults(with("settle: 5m\n")),
      "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found '5m' (did you mean the unit "
      "'ms' or 'min'?)\n");
  EXPECT_EQ(faults(with("settle: 2 K\n")),
            "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found '2 K'\n");
  EXPECT_EQ(faults(with("settle: 2\xC2\xA0s\n")),
            "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found '2\xC2\xA0s'; it holds a "
            "non-breaking space (U+00A0): write an ordinary one in its place\n");
  EXPECT_EQ(faults(with("repeat:\n\n\nsettle: 1 s\n")).substr(0, 21), "sweep.yaml:2:1: error");
  EXPECT_EQ(
      faults(with("gpus: none\n")),
      "sweep.yaml:2:7: error: 'gpus' lists boards: all, [0, 1] or UUIDs; an experiment that is about none "
      "leaves it out\n");
  EXPECT_EQ(
      faults(with("probes: [{name: p, command: [x], every: 0 s, channels: {x: {unit: W}}}]\n")),
      "sweep.yaml:2:41: error: 'every' is how often the program is started anew, at least 10 ms; found '0 "
      "s'. One that keeps running and prints needs no 'every'\n");
  EXPECT_TRUE(search("search: {stop: {for: each node}}\nmachines: {slurm: {nodes: 2}}\n").each_node);
  EXPECT_FALSE(search("search: {stop: {for: all nodes}}\nmachines: {slurm: {nodes: 2}}\n").each_node);
  EXPECT_EQ(faults(with("search: {stop: {for: each node}}\n")),
            "sweep.yaml:2:9: error: 'for: each node' in 'stop' is about several machines: it needs "
            "'machines'\n");
  EXPECT_EQ(faults(with("search: {stop: {for: n1}}\n")),
            "sweep.yaml:2:22: error: 'for' in 'stop' must be 'all nodes' (the bound is of machines of their "
            "type) or 'each node'; found 'n1'\n");
  EXPECT_EQ(search("search: golden\n").method, "golden");
  EXPECT_EQ(search("search: golden\n").regret, 0);
  EXPECT_DOUBLE_EQ(search("search: adaptive\n").regret, 0.01);
}

TEST(Parse, WhatIsMinimisedHowOftenAndUnderWhichConditions) {
  Diagnostics diagnostics("sweep.yaml");
  const auto e = parse_experiment(
      "workloads: [{name: a, command: [x]}]\n"
      "objective: {minimise: cost, per: samples, subject to: {slowdown: 5 %, accuracy: \">= 0.75\", power: "
      "\"< 300 W\", "
      "latency: \"<= 20 ms\", correct: \">=95%\", rate: \"> 1.5e3k/s\"}, price: {energy: 0.36 EUR/kWh, "
      "machine: 7.2 EUR/h}}\n"
      "repeat: {min: 2, max: 8, until: 0.5 %}\nbudget: {time: 8 h, trials: 60}\n"
      "measure: {region: train, at least: 30 s}\n"
      "conditions: {warm up: 0, idle: 5 s, references: false, settle limit: 3 s, temperature: {band: 1.5 C, "
      "limit: 20 s}, "
      "drift: 2 %, foreign load: 50 %, reruns: 3}\n",
      "sweep.yaml", diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  EXPECT_EQ(e->objective.minimise, Objective::cost);
  EXPECT_EQ(e->objective.per, "samples");
  std::vector<std::string> constraints;
  for (const auto& c : e->objective.constraints) constraints.push_back(constraint_text(c));
  EXPECT_THAT(constraints, testing::ElementsAre("slowdown <= 5 %", "accuracy >= 0.75", "power < 300 W",
                                                "latency <= 20 ms", "correct >= 95 %", "rate > 1500 k/s"));
  EXPECT_DOUBLE_EQ(e->objective.price->per_joule, 1e-7);
  EXPECT_DOUBLE_EQ(e->objective.price->per_second, 0.002);
  EXPECT_EQ(e->repeat.min, 2);
  EXPECT_EQ(e->repeat.max, 8);
  EXPECT_DOUBLE_EQ(*e->repeat.until, 0.005);
  EXPECT_EQ(e->budget.time->value(), 8 * 3600);
  EXPECT_EQ(*e->budget.trials, 60);
  EXPECT_EQ(e->measure.region, "train");
  EXPECT_EQ(e->measure.at_least->value(), 30);
  EXPECT_EQ(e->conditions.warm_up, 0);
  EXPECT_EQ(e->conditions.idle->value(), 5);
  EXPECT_FALSE(e->conditions.references);
  EXPECT_DOUBLE_EQ(*e->conditions.temperature_band, 1.5);
  EXPECT_DOUBLE_EQ(*e->conditions.foreign_load, 0.5);
}

TEST(Parse, WhoConfirmsRunsNoFurtherBlocksOfTheRest) {
  const auto repeat = [](const std::string& yaml) {
    Diagnostics diagnostics("sweep.yaml");
    const auto e =
        parse_experiment("workloads: [{name: a, command: [x]}]\n" + yaml, "sweep.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    return std::vector<int>{e->repeat.min, e->repeat.max, e->repeat.confirm};
  };
  EXPECT_THAT(repeat("repeat: {confirm: 5}\n"), testing::ElementsAre(3, 3, 5));
  EXPECT_THAT(repeat("repeat: {min: 4, max: 6, confirm: 5}\n"), testing::ElementsAre(4, 6, 5));
  EXPECT_THAT(repeat("repeat: {min: 4, until: 1 %, confirm: 5}\n"), testing::ElementsAre(4, 10, 5));
  EXPECT_THAT(repeat("repeat: {min: 4}\n"), testing::ElementsAre(4, 10, 0));
}

TEST(Parse, FaultsOfObjectivesAndConditions) {
  EXPECT_EQ(faults(with("objective: {minimise: cost}\n")),
            "sweep.yaml:2:23: error: 'minimise: cost' needs prices: add  price: {energy: 0.30 EUR/kWh, "
            "machine: 2.50 "
            "EUR/h}\n");
  EXPECT_EQ(faults(with("objective: {subject to: {accuracy: 0.75}}\n")),
            "sweep.yaml:2:36: error: constraint 'accuracy' needs a relation: \">= 0.75\" or \"<= 0.75\"; "
            "found '0.75'\n");
  for (const char* two : {">= 0.7 acc<=0.74", ">= 0.7 <=0.74"})
    EXPECT_EQ(faults(with(fmt::format("objective: {{subject to: {{acc: \"{}\"}}}}\n", two).c_str())),
              fmt::format("sweep.yaml:2:31: error: constraint 'acc': one relation and one bound in a text; "
                          "found '{}'; two are a list: "
                          "[\">= 0.7\", \"<= 0.9\"]\n",
                          two));
  EXPECT_EQ(
      faults(with("objective: {subject to: {acc: [\">= 0.7\", 0.9]}}\n")),
      "sweep.yaml:2:42: error: constraint 'acc' needs a relation: \">= 0.75\" or \"<= 0.75\"; found '0.9'\n");
  EXPECT_EQ(faults(with("objective: {subject to: {acc: []}}\n")),
            "sweep.yaml:2:26: error: constraint 'acc' has no bound; write for example \"<= 5 %\"\n");
  EXPECT_EQ(faults(with("objective: {subject to: {slowdwn: 5 %}}\n")),
            "sweep.yaml:2:35: error: constraint 'slowdwn' needs a relation: \">= 0.75\" or \"<= 0.75\"; "
            "found '5 %' (did you "
            "mean 'slowdown'?)\n");
  EXPECT_EQ(faults(with("objective: {subject to: {slowdwn: 5 %}}\n")),
            "sweep.yaml:2:35: error: constraint 'slowdwn' needs a relation: \">= 0.75\" or \"<= 0.75\"; "
            "found '5 %' (did you "
            "mean 'slowdown'?)\n");
  EXPECT_EQ(faults(with("objective: {subject to: {slowdown: 5}}\n")),
            "sweep.yaml:2:36: error: constraint 'slowdown' must be a share such as 10 %, for example \"<= 5 "
            "%\"; found '5'\n");
  EXPECT_EQ(faults(with("objective: {minimise: cost, price: {energy: 0 EUR/kWh, machine: 0 EUR/h}}\n")),
            "sweep.yaml:2:36: error: 'price': both are 0, so that every setting costs the same; give one of "
            "them, or minimise energy or time\n");
  EXPECT_EQ(
      faults(with("objective: {minimise: cost, price: {energy: 0.3 EUR, machine: 1 USD/h}}\n")),
      "sweep.yaml:2:45: error: 'energy' in 'price' must be written as '0.30 EUR/kWh'; found '0.3 EUR'\n");
  EXPECT_EQ(faults(with("objective: {minimise: cost, price: {energy: 0.3 EUR/kWh, machine: 1 USD/h}}\n")),
            "sweep.yaml:2:36: error: 'price' mixes 'EUR' and 'USD'; give both in one currency\n");
  EXPECT_EQ(faults(with("repeat: {min: 5, max: 3}\n")),
            "sweep.yaml:2:9: error: 'repeat': 'max' (3) is less than 'min' (5)\n");
  EXPECT_EQ(faults(with("repeat: {until: 0 %}\n")),
            "sweep.yaml:2:17: error: 'until' in 'repeat' must be above 0 % and at most 100 %; found '0 %'\n");
  EXPECT_EQ(
      faults(with("repeat: {confirm: 3}\n")),
      "sweep.yaml:2:19: error: 'confirm' in 'repeat' must be a whole number from 4 to 10000; found '3'\n");
  EXPECT_EQ(faults(with("budget: 60\n")),
            "sweep.yaml:2:9: error: 'budget' must be a time such as 8 h or a number of trials such as '60 "
            "trials'; found '60'\n");
  EXPECT_EQ(faults(with("measure: {at_least: 30 s}\n")),
            "sweep.yaml:2:11: error: unknown key 'at_least' in 'measure' (did you mean 'at least'?)\n");
  EXPECT_EQ(
      faults(with("conditions: {temperature: {band: 2}}\n")),
      "sweep.yaml:2:34: error: 'band' must be a temperature such as 45 C; found '2', which has no unit\n");
  EXPECT_EQ(faults(with("conditions: {foreign load: 5}\n")),
            "sweep.yaml:2:28: error: 'foreign load' (or off), of one CPU, must be a share such as 10 %; "
            "found '5', which has "
            "no unit\n");
}

TEST(Parse, WhatIsWantedIsSaidOfListsAndOfWordsToo) {
  EXPECT_EQ(faults(with("settle: [1 s, 2 s]\n")),
            "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found a list\n");
  EXPECT_EQ(faults(with("budget: [1]\n")),
            "sweep.yaml:2:9: error: 'budget' must be a time such as 8 h or a number of trials such as '60 "
            "trials'; found a list\n");
  EXPECT_EQ(faults(with("budget: {trials: [1]}\n")),
            "sweep.yaml:2:18: error: 'budget' must be a time such as 8 h or a number of trials such as '60 "
            "trials'; found a list\n");
  EXPECT_EQ(faults(with("search: {method: adaptive, at most: {a: 1}}\n")),
            "sweep.yaml:2:37: error: 'at most' in 'search' must be a number of trials of each scenario such "
            "as '40 trials', at most 500; found a map\n");
  EXPECT_EQ(faults(with("conditions: {gpu processes: [flag]}\n")),
            "sweep.yaml:2:29: error: 'gpu processes' (of others, on a board that is used) must be refuse or "
            "flag; found a list\n");
  EXPECT_EQ(faults(with("conditions: {idle: nonee}\n")),
            "sweep.yaml:2:20: error: 'idle' (or none) must be a time such as 500 ms; found 'nonee' (did you "
            "mean 'none'?)\n");
  EXPECT_EQ(faults(with("conditions: {temperature: of}\n")),
            "sweep.yaml:2:27: error: 'temperature' (or off) must be a map of 'key: value'; found 'of' (did "
            "you mean 'off'?)\n");
  EXPECT_EQ(faults(with("conditions: {temperature: {bend: 2 C}}\n")),
            "sweep.yaml:2:28: error: unknown key 'bend' in 'temperature' (did you mean 'band'?)\n");
  EXPECT_EQ(faults(with("conditions: {give up after: nevr}\n")),
            "sweep.yaml:2:29: error: 'give up after' (or never) must be a whole number from 2 to 1000; found "
            "'nevr' (did you mean 'never'?)\n");
  EXPECT_EQ(faults(with("axes: {p: [1, 2]}\nreference: {p: [1, 2]}\n")).substr(0, 72),
            "sweep.yaml:3:13: error: 'reference' names one value of 'p'; found a list");
}

TEST(Parse, ServicesThatCannotBeAreRefused) {
  const auto service = [](const std::string& of) {
    return faults(with("services: [{name: s, " + of + "}]\n"));
  };
  EXPECT_EQ(service("command: [cat], ready: {port: 80, within: 0 s}"),
            "sweep.yaml:2:64: error: 'within' is how long it may take until it is ready: more than 0 s\n");
  EXPECT_EQ(service("attach: {pid: -5}"),
            "sweep.yaml:2:36: error: 'pid' must be the number of a process; found '-5'\n");
  for (const char* nowhere : {"nowhere", "127.0.0.1:99999"}) {
    EXPECT_EQ(service(fmt::format("attach: {{address: \"{}\"}}", nowhere)),
              fmt::format("sweep.yaml:2:40: error: 'address' must be where it answers, 127.0.0.1:8080 or "
                          "http://127.0.0.1:8080/; found '{}'\n",
                          nowhere));
  }
}

TEST(Parse, DuplicateKeys) {
  EXPECT_EQ(faults(with("seed: 1\nseed: 2\n")),
            "sweep.yaml:3:1: error: key 'seed' is given twice (first in line 2)\n");
}

TEST(Parse, UnitsMissingWrongOrMistyped) {
  EXPECT_EQ(faults(with("settle: 5\n")),
            "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found '5', which has no unit\n");
  EXPECT_EQ(faults(with("settle: 5 GHz\n")),
            "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found '5 GHz'\n");
  EXPECT_EQ(faults(with("settle: 5 MS\n")),
            "sweep.yaml:2:9: error: 'settle' must be a time such as 500 ms; found '5 MS' (did you mean the "
            "unit 'ms'?)\n");
  EXPECT_EQ(faults(with("settle: -1 s\n")),
            "sweep.yaml:2:9: error: 'settle' must be from 0 s to 720 h; found '-1 s'\n");
}

TEST(Parse, NoWorkloads) {
  EXPECT_EQ(faults("repeat: 3\n"),
            "sweep.yaml:1:1: error: no workloads: name at least one, for example  workloads: [{name: mine, "
            "command: [./program]}]\n");
  EXPECT_EQ(faults("workloads: []\n"),
            "sweep.yaml:1:12: error: 'workloads' must be a list with at least one workload\n");
}

TEST(Parse, ACommandIsAList) {
  EXPECT_EQ(faults("workloads: [{name: w, command: sort big.txt}]\n"),
            "sweep.yaml:1:32: error: 'command' is a list of words, one an argument: [sort, big.txt]; for a "
            "shell write 'shell:'\n");
}

TEST(Parse, Axes) {
  EXPECT_EQ(faults(with("axes: {cpu.frequncy: all}\n")),
            "sweep.yaml:2:8: error: unknown axis 'cpu.frequncy' (did you mean 'cpu.frequency'?); a name "
            "without a dot is a parameter of the workload\n");
  EXPECT_EQ(faults(with("axes: {set.: [1]}\n")),
            "sweep.yaml:2:8: error: axis 'set.' lacks a name behind its dot\n");
  EXPECT_EQ(faults(with("axes: {cpu.frequency: []}\n")),
            "sweep.yaml:2:23: error: axis 'cpu.frequency' is an empty list\n");
  EXPECT_EQ(faults(with("axes: {cpu.frequency: {from: 1 GHz}}\n")),
            "sweep.yaml:2:23: error: axis 'cpu.frequency': a range needs both 'from' and 'to'\n");
  EXPECT_EQ(
      faults(with("axes: {cpu.turbo: {values: [on, off], by: slurm}}\n")),
      "sweep.yaml:2:43: error: axis 'cpu.turbo': 'by' says who sets it if not dvfs-plan itself, and knows "
      "only  cpu.frequency: {values: [...], by: slurm}; found 'slurm'\n");
  EXPECT_EQ(faults(with("machines: {slurm: {types: all}}\n")),
            "sweep.yaml:2:27: error: 'types' must be 'one' (nodes of several types are refused) or 'each' (a "
            "result of each type); found 'all'\n");
  EXPECT_EQ(faults(with("axes: {cpu.frequency: {count: 3, from: 1 GHz, to: 2 GHz}}\n")),
            "sweep.yaml:2:23: error: axis 'cpu.frequency' needs one of: a list, 'all', {count: N}, {from: A, "
            "to: B, step: C}\n");
  EXPECT_EQ(
      faults(with("axes: {my batch: [1]}\n")),
      "sweep.yaml:2:8: error: axis 'my batch': a workload parameter is named with letters, digits and '_'\n");
}

TEST(Parse, Metrics) {
  EXPECT_EQ(faults("workloads: [{name: w, command: [x], metrics: [line]}]\n"),
            "sweep.yaml:1:47: error: unknown metric form 'line' (did you mean 'lines'?)\n");
  EXPECT_EQ(faults("workloads: [{name: w, command: [x], metrics: [[lines]]}]\n"),
            "sweep.yaml:1:47: error: a metric must be 'lines', 'json', {name, regex, unit} or {name, json, "
            "unit, file}; found a list\n");
  EXPECT_EQ(faults("workloads: [{name: w, command: [x], metrics: [{name: r, regex: 'a(b'}]}]\n"),
            "sweep.yaml:1:64: error: metric 'r': missing ): a(b (RE2 syntax)\n");
  EXPECT_EQ(faults("workloads: [{name: w, command: [x], metrics: [{name: r, regex: 'ab'}]}]\n"),
            "sweep.yaml:1:64: error: metric 'r': the expression needs exactly one group ( ) around the "
            "number; it has 0\n");
}

TEST(Parse, ProbesObjectiveAndOrder) {
  EXPECT_EQ(faults(with("probes: [rpal]\n")),
            "sweep.yaml:2:10: error: unknown probe 'rpal' (did you mean 'rapl'?); a program of your own "
            "needs a 'command', a meter on the network a 'meter'\n");
  EXPECT_EQ(faults(with("probes: [{name: wall, command: [meter]}]\n")),
            "sweep.yaml:2:17: error: probe 'wall' runs a command and needs 'channels', for example  "
            "channels: {power: {unit: W}}\n");
  EXPECT_EQ(faults(with("objective: enrgy\n")),
            "sweep.yaml:2:12: error: unknown objective 'enrgy' (did you mean 'energy'?); known: energy, "
            "time, edp, ed2p, cost\n");
  EXPECT_EQ(faults(with("order: random\n")),
            "sweep.yaml:2:8: error: 'order' must be 'shuffled' (randomised complete blocks) or 'listed'; "
            "found 'random'\n");
}

TEST(Parse, TwoChannelsOfOneDomainWouldBeCountedOnce) {
  EXPECT_EQ(faults(with("probes: [{name: pdu, command: [pdu], channels: {a: {unit: W}, b: {unit: W}}}]\n")),
            "sweep.yaml:2:63: error: channels 'a' and 'b' both measure the energy of 'system'; give each its "
            "own 'domain'\n");
}

TEST(Parse, NoNulAndNoControlCharactersInNames) {
  EXPECT_EQ(faults(with("name: \"a\\0b\"\n")),
            "sweep.yaml:2:7: error: a NUL character (\"\\0\"); no name, argument or path can hold one\n");
  EXPECT_EQ(faults(with("name: \"a\\eb\"\n")),
            "sweep.yaml:2:7: error: 'name' becomes a file name: at most 64 characters, no '/', no '.' in "
            "front, no control characters\n");
}

TEST(Parse, SysfsKnobsStayBelowSys) {
  EXPECT_EQ(faults(with("sysfs: {x: {path: /etc/passwd, values: [a]}}\n")),
            "sweep.yaml:2:19: error: sysfs 'x': path must lie below /sys; found '/etc/passwd'\n");
  EXPECT_EQ(faults(with("sysfs: {x: {path: /sys/../etc/passwd, values: [a]}}\n")),
            "sweep.yaml:2:19: error: sysfs 'x': path must lie below /sys; found '/sys/../etc/passwd'\n");
  EXPECT_EQ(
      faults(with("sysfs: {x: {path: /sys/a}}\n")),
      "sweep.yaml:2:9: error: sysfs 'x' needs 'path' (below /sys) and 'values' (all that may be written)\n");
  const std::string needs =
      "needs 'command' (with {value} where the value goes), 'read' (prints the value that is set now) and "
      "'values' (all that may be "
      "set), such as  {command: [mytool, set, '{value}'], read: [mytool, get], values: [1, 2]}\n";
  EXPECT_EQ(faults(with("set: {x: {command: [a, '{value}'], values: [1]}}\n")),
            "sweep.yaml:2:7: error: set 'x' " + needs);
  EXPECT_EQ(faults(with("set: {x: {command: [a, '{vlaue}'], read: [b], values: [1]}}\n")),
            "sweep.yaml:2:20: error: set 'x': 'command' says {value} nowhere, so it would set the same each "
            "time\n");
  EXPECT_EQ(faults(with("set: {x: {command: [a, '{value}'], read: [b, '{value}'], values: [1]}}\n")),
            "sweep.yaml:2:42: error: set 'x': 'read' is to tell what is set, and is not told what was asked "
            "for: take {value} out of "
            "it\n");
  EXPECT_EQ(faults(with("set:\n  x:\n    command: a '{value}'\n    read: [b]\n    values: [1]\n")),
            "sweep.yaml:4:14: error: 'command' is a list of words, one an argument: [a, '{value}']; for a "
            "shell write [sh, -c, '...']\n");
  EXPECT_EQ(faults(with("set: {x.y: {command: [a, '{value}'], read: [b], values: [1]}}\n")),
            "sweep.yaml:2:7: error: set 'x.y': it is named with letters, digits, '_' and '-'\n");
  EXPECT_EQ(faults(with("set: {x: {command: [sh, -c, \"a {value}\\nb\"], read: [b], values: [1]}}\n")),
            "sweep.yaml:2:29: error: 'command': a word of several lines, or with a tab: put that script into "
            "a file\n");
  EXPECT_EQ(faults(with("set: {x: {command: [a, '{value}'], read: [b], values: [1], restor: [c]}}\n")),
            "sweep.yaml:2:60: error: unknown key 'restor' in set 'x' (did you mean 'restore'?)\n");
}

// ------------------------------------------------------------------ files that are not experiments at all

TEST(HostileFile, Empty) {
  EXPECT_EQ(faults(""), "sweep.yaml:1:1: error: the file is empty; see `dvfs-plan --help` for an example\n");
  EXPECT_EQ(faults("# nothing\n"),
            "sweep.yaml:1:1: error: the file is empty; see `dvfs-plan --help` for an example\n");
}

TEST(HostileFile, NotAMap) {
  EXPECT_EQ(faults("- a\n- b\n"),
            "sweep.yaml:1:1: error: the experiment must be a map of 'key: value'; found a list\n");
}

TEST(HostileFile, DeepNesting) {
  EXPECT_EQ(faults("a: " + std::string(5000, '[')), "sweep.yaml:1:644: error: nested more than 32 deep\n");
  std::string blocks;
  for (int i = 0; i < 400; ++i) blocks += "- ";
  EXPECT_EQ(faults(blocks), "sweep.yaml:1:65: error: nested more than 32 deep\n");
}

TEST(HostileFile, AnAliasToItself) {
  EXPECT_EQ(faults("a: &x [*x]\n"), "sweep.yaml:1:8: error: an alias that contains itself\n");
}

TEST(HostileFile, AliasesThatMultiply) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + ", " +
            before + ", " + before + ", " + before + "]\n";
  }
  EXPECT_NE(faults(text).find("error: more than 20000 values with aliases written out\n"), std::string::npos);
}

TEST(HostileFile, TenMegabytes) {
  EXPECT_EQ(
      faults(std::string(10'000'000, 'a')),
      "sweep.yaml: error: the file has more than 1048576 bytes, the most that an experiment file may have: "
      "is it the right one?\n");
}

TEST(HostileFile, BinaryJunkAndInvalidUtf8) {
  EXPECT_EQ(faults(std::string("\x7f"
                               "ELF\0\1\2",
                               7)),
            "sweep.yaml:1:1: error: control character 0x7f; this is not a text file\n");
  EXPECT_EQ(faults("name: caf\xe9\n"),
            "sweep.yaml:1:10: error: byte 0xe9 is not valid UTF-8; save the file as UTF-8 text\n");
}

TEST(HostileFile, BrokenYaml) {
  EXPECT_EQ(faults("workloads: [{name: w\n"),
            "sweep.yaml:1:13: error: a key must be a word, not a list or a map (is a bracket not closed?)\n");
  EXPECT_EQ(faults("a: [1, 2\n"), "sweep.yaml:2:1: error: not valid YAML: end of sequence flow not found\n");
  EXPECT_EQ(faults("name: n\nworkloads:\n\t- name: w\n"),
            "sweep.yaml:3:2: error: not valid YAML: the line is indented with a tab; YAML allows spaces "
            "alone there\n");
  EXPECT_EQ(faults("a: 1\n---\nb: 2\n"),
            "sweep.yaml:2:1: error: a second document ('---'); an experiment is one document\n");
  EXPECT_EQ(faults("? [a]\n: b\n"),
            "sweep.yaml:1:3: error: a key must be a word, not a list or a map (is a bracket not closed?)\n");
}

TEST(HostileFile, MergeKeysAreNamed) {
  EXPECT_THAT(
      faults("name: n\nworkloads: [&b {name: w, command: [x, '{n}']}, {<<: *b, name: v}]\naxes: {n: [1]}\n"),
      testing::HasSubstr(
          "sweep.yaml:2:49: error: '<<' in a workload: YAML 1.2 has no merge keys; write the keys "
          "themselves here (an alias, *NAME, stands for one whole value)\n"));
}

TEST(HostileFile, ControlCharactersInNamesAreShownNotSent) {
  EXPECT_EQ(faults("workloads: [{name: \"\\e[31m\", command: [x], zzzzzz: 1}]\n").find('\x1b'),
            std::string::npos);
}

}  // namespace
}  // namespace dvfs_plan
