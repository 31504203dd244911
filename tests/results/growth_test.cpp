// An experiment whose file changes: what is asked of trials that are there, and what is added to them. Against the same night run at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "experiments/plan/diagnostics.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/digest.hpp"
#include "results/store/store.hpp"
#include "results/trial/judge.hpp"
#include "tests/support/parse.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct GrowingFile {
  std::string clocks = "[1 GHz, 2 GHz, 3 GHz]", repeat = "2", objective = "energy", more = {}, idle = "none",
              workloads = "{name: w, command: [/bin/true]}";
  Plan plan() const {
    Diagnostics diagnostics("night.yaml");
    const auto experiment =
        parse_experiment("name: night\nworkloads: [" + workloads + "]\naxes: {cpu.frequency: " + clocks +
                             "}\nrepeat: " + repeat + "\nobjective: " + objective +
                             "\nconditions: {idle: " + idle + ", warm up: 0}\n" + more,
                         "night.yaml", diagnostics);
    if (!experiment) throw std::runtime_error(diagnostics.text());
    ResolveWorld world;
    world.path = "/bin";
    AxisOffer offer;
    offer.dimension = Dimension::frequency;
    for (int ghz = 1; ghz <= 5; ++ghz) offer.values.push_back({std::to_string(ghz) + " GHz", ghz * 1e9});
    world.offers.offers["cpu.frequency"] = offer;
    world.offers.offers["sysfs.turbo"] = {
        Dimension::text, {{"on", std::nullopt}, {"off", std::nullopt}}, std::nullopt};
    auto plan = resolve_plan(*experiment, world, diagnostics);
    if (!plan) throw std::runtime_error(diagnostics.text());
    return std::move(*plan);
  }
};

// What a trial takes is a function of which it is: two nights with the same trials have the same values.
double luck(const std::string& key) {
  return static_cast<double>(std::hash<std::string>()(key) % 1000) / 1000;
}

TrialRecord played(const Plan& plan, const PlannedTrial& planned, std::int64_t number) {
  const double ghz = *plan.points[static_cast<std::size_t>(planned.point)].values.front()->number / 1e9;
  TrialRecord t;
  static_cast<PlannedTrial&>(t) = planned;
  t.started_at = "2026-01-01T00:00:00.000Z";
  t.child.end = ChildResult::End::exited;
  const double seconds = (2 + 0.02 * luck(planned.key)) * (1 + 0.05 * planned.block) / ghz;
  t.child.started = number * 10'000'000'000;
  t.child.ended = t.child.started + nanoseconds(Seconds{seconds});
  t.runs = {{t.child.started, t.child.ended}};
  t.regions = {{"", 1, t.child.started, t.child.ended, true, {}}};
  t.region_s = seconds;
  t.energy_j = (20 + 6 * ghz * ghz) * seconds * (1 + 0.01 * luck("e" + planned.key));
  t.energy_half_width_j = 0.01 * *t.energy_j;
  t.fresh_readings = 20;
  if (is_idle(planned.role)) return t;
  const auto& workload =
      plan.workloads[static_cast<std::size_t>(plan.points[static_cast<std::size_t>(planned.point)].workload)];
  t.objective = objective_value(objective_of(plan.experiment, workload.spec), t.energy_j, *t.region_s);
  return t;
}

class Growth : public testing::Test {
 protected:
  Growth() {
    store_.emplace(Store::create(path(), first_.plan(), {},
                                 {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt));
  }

  std::string path() const { return folder_.path() + "/night.sqlite"; }

  // As a run does it: whether the file changed, and on to the end or `most` trials. Keys of what was run.
  std::vector<std::string> run(Store& store, Plan plan, int most = 1000) {
    const PlanChange change = change_since(store, plan, {}, "night.sqlite");
    if (change.any()) store.grow(plan, change, "2026-02-01T10:00:00.000Z");
    follow_result(store, plan);
    const auto strategy = make_strategy({plan});
    store.begin_session(1, "boot", "1.0", "2026-02-01T10:00:00.000Z");
    History history(store.history());
    std::vector<std::string> keys;
    while (const PlannedTrial* next = strategy->next(history)) {
      if (most-- == 0) break;
      const TrialRecord trial = played(plan, *next, ++clock_);
      store.write_trial(trial);
      history.add(finished(trial));
      keys.push_back(trial.key);
    }
    store.end_session("done", "2026-02-01T11:00:00.000Z", conclusions_of(summary_of(store)));
    return keys;
  }
  std::vector<std::string> run(const GrowingFile& file, int most = 1000) {
    return run(*store_, file.plan(), most);
  }

  // Trials by what they are, answers to all digits.
  static nlohmann::json answer_of(Store& store) {
    auto scenarios =
        nlohmann::json::parse(json_report(store, summary_of(store), store.trials()))["scenarios"];
    return scenarios;
  }
  nlohmann::json at_once(const GrowingFile& file) {
    TemporaryFolder elsewhere;
    Store store = Store::create(elsewhere.path() + "/night.sqlite", file.plan(), {},
                                {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt);
    run(store, file.plan());
    return answer_of(store);
  }
  void expect_whole() {
    EXPECT_THAT(damaged_trials(store_->database()), IsEmpty());
    EXPECT_TRUE(plan_is_whole(store_->database()));
    EXPECT_TRUE(later_is_whole(store_->database()));
    EXPECT_TRUE(store_->is_concluded());
  }

  TemporaryFolder folder_;
  GrowingFile first_;
  std::optional<Store> store_;
  std::int64_t clock_ = 0;
};

TEST_F(Growth, MoreRepetitionsAreTheNightRunAtOnce) {
  EXPECT_EQ(run(first_).size(), 8u);
  GrowingFile more = first_;
  more.repeat = "4";
  EXPECT_EQ(run(more).size(), 8u);
  EXPECT_EQ(answer_of(*store_), at_once(more));
  EXPECT_THAT(run(more), IsEmpty());
  expect_whole();
  EXPECT_EQ(store_->progress().planned, 16);
}

TEST_F(Growth, AnotherObjectiveAndOtherLimitsAreAskedOfWhatIsThere) {
  run(first_);
  for (const auto& [objective, more] :
       {std::pair{"edp", ""},
        {"{minimise: time, subject to: {power: \"<= 60 W\"}}", ""},
        {"{minimise: cost, price: {energy: 0.30 EUR/kWh, machine: 2.50 EUR/h}}", ""},
        {"energy", "description: as before\n"}}) {
    GrowingFile other = first_;
    other.objective = objective;
    other.more = more;
    EXPECT_THAT(run(other), IsEmpty()) << objective;
    EXPECT_EQ(answer_of(*store_), at_once(other)) << objective;
    expect_whole();
  }
}

TEST_F(Growth, AnotherReferenceIsTheNightsOwnTrials) {
  run(first_);
  GrowingFile other = first_;
  other.more = "reference: {cpu.frequency: 2 GHz}\n";
  EXPECT_THAT(run(other), IsEmpty());
  const Summary summary = summary_of(*store_);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  ASSERT_TRUE(scenario.reference);
  EXPECT_EQ(scenario.points[*scenario.reference].point, "w cpu.frequency=2 GHz");
  EXPECT_EQ(scenario.points[2].saving->pairs, 2);
  // What is added from now on is beside the new one.
  other.repeat = "3";
  EXPECT_THAT(run(other),
              testing::UnorderedElementsAre("w cpu.frequency=1 GHz #3", "w cpu.frequency=2 GHz #3 first",
                                            "w cpu.frequency=2 GHz #3 last", "w cpu.frequency=3 GHz #3"));
  expect_whole();
}

// The file as it was at first says what it said at first.
TEST_F(Growth, AReferenceThatIsNamedNoMoreIsThatOfTheTrials) {
  run(first_);
  const auto before = answer_of(*store_);
  GrowingFile other = first_;
  other.more = "reference: {cpu.frequency: 2 GHz}\n";
  EXPECT_THAT(run(other), IsEmpty());
  EXPECT_NE(answer_of(*store_), before);
  EXPECT_THAT(run(first_), IsEmpty());
  EXPECT_EQ(answer_of(*store_), before);
}

TEST_F(Growth, AReferenceThatIsNamedNoMoreIsTheFilesOwnWithoutReferencesToo) {
  GrowingFile plain = first_;
  plain.idle = "none, references: false";
  Store store = Store::create(folder_.path() + "/plain.sqlite", plain.plan(), {},
                              {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt);
  run(store, plain.plan());
  const auto before = answer_of(store);
  GrowingFile other = plain;
  other.more = "reference: {cpu.frequency: 2 GHz}\n";
  EXPECT_THAT(run(store, other.plan()), IsEmpty());
  EXPECT_NE(answer_of(store), before);
  EXPECT_THAT(run(store, plain.plan()), IsEmpty());
  EXPECT_EQ(answer_of(store), before);
}

TEST_F(Growth, MoreValuesComeInBlocksOfTheirOwnBesideTheReference) {
  run(first_);
  GrowingFile more = first_;
  more.clocks = "[1 GHz, 2 GHz, 3 GHz, 4 GHz]";
  // The reference stays what the trials that are there were beside, though 4 GHz is the highest now.
  EXPECT_THAT(run(more, 3),
              testing::UnorderedElementsAre("w cpu.frequency=4 GHz #3", "w cpu.frequency=3 GHz #3 first",
                                            "w cpu.frequency=3 GHz #3 last"));
  EXPECT_EQ(run(more).size(), 3u);
  EXPECT_THAT(run(more), IsEmpty());
  const Summary summary = summary_of(*store_);
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  ASSERT_EQ(scenario.points.size(), 4u);
  EXPECT_EQ(scenario.points[*scenario.reference].point, "w cpu.frequency=3 GHz");
  EXPECT_FALSE(scenario.balanced);
  EXPECT_EQ(summary.left, 0);
  GrowingFile named = more;
  named.more = "reference: {cpu.frequency: 3 GHz}\n";
  const auto whole = at_once(named).at(0);
  for (std::size_t i = 0; i < 4; ++i) {
    if (i == 2) continue;
    const double saving = scenario.points[i].saving->value, wanted = whole["points"][i]["saving"]["value"];
    EXPECT_NEAR(saving, wanted, 0.02) << i;
    EXPECT_EQ(scenario.points[i].counted, 2);
  }
  EXPECT_EQ(scenario.points[*scenario.best].point, whole["best"].get<std::string>());
  EXPECT_THAT(further_sentences(summary),
              testing::Contains("the experiment's file changed on 2026-02-01: axes / cpu.frequency: 4 GHz "
                                "added; what that added is in blocks from 3 on"));
  expect_whole();
  // Once more, with more repetitions of all: the points that are there in one more block, the new one in three.
  more.clocks = "[1 GHz, 2 GHz, 3 GHz, 4 GHz, 5 GHz]";
  more.repeat = "3";
  const auto keys = run(more);
  EXPECT_EQ(std::count_if(keys.begin(), keys.end(),
                          [](const std::string& key) { return key.starts_with("w cpu.frequency=5 GHz"); }),
            3);
  EXPECT_EQ(std::count_if(keys.begin(), keys.end(),
                          [](const std::string& key) { return key.starts_with("w cpu.frequency=1 GHz"); }),
            1);
  EXPECT_EQ(keys.size(), 6u + 3 + 3);
  const Summary grown = summary_of(*store_);
  for (const PointSummary& point : grown.scenarios.at(0).points) {
    EXPECT_EQ(point.counted, point.is_reference ? 14 : 3) << point.point;
  }
  expect_whole();
}

// Where no trials of the reference are asked for it is a point like others; what is added is compared with it all the same.
TEST_F(Growth, MoreValuesComeBesideTheReferenceWithoutReferencesToo) {
  GrowingFile plain = first_;
  plain.idle = "none, references: false";
  store_.emplace(Store::create(folder_.path() + "/plain.sqlite", plain.plan(), {},
                               {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt));
  EXPECT_EQ(run(plain).size(), 6U);
  GrowingFile more = plain;
  more.clocks = "[1 GHz, 2 GHz, 3 GHz, 4 GHz]";
  EXPECT_THAT(run(more),
              testing::UnorderedElementsAre("w cpu.frequency=4 GHz #3", "w cpu.frequency=3 GHz #3",
                                            "w cpu.frequency=4 GHz #4", "w cpu.frequency=3 GHz #4"));
  EXPECT_THAT(run(more), IsEmpty());
  const Summary summary = summary_of(*store_);
  EXPECT_TRUE(summary.scenarios.at(0).points.at(3).saving);
}

// Told also where it changes together with what is added.
TEST_F(Growth, AnotherReferenceIsToldBesideWhatIsAdded) {
  run(first_);
  GrowingFile more = first_;
  more.clocks = "[1 GHz, 2 GHz, 3 GHz, 4 GHz]";
  more.more = "reference: {cpu.frequency: 2 GHz}\n";
  run(more);
  EXPECT_THAT(further_sentences(summary_of(*store_)),
              testing::Contains("the experiment's file changed on 2026-02-01: axes / cpu.frequency: 4 GHz "
                                "added; reference: w cpu.frequency=2 GHz; what that added is "
                                "in blocks from 3 on"));
}

TEST_F(Growth, AnUnfinishedNightGoesOnWithBoth) {
  run(first_, 5);
  GrowingFile more = first_;
  more.clocks = "[1 GHz, 2 GHz, 3 GHz, 4 GHz]";
  EXPECT_EQ(run(more).size(), 3u + 6u);
  EXPECT_EQ(summary_of(*store_).left, 0);
  expect_whole();
}

TEST_F(Growth, WhatIsTakenAwayStaysInTheFileAndComesBack) {
  run(first_);
  GrowingFile fewer = first_;
  fewer.clocks = "[2 GHz, 3 GHz]";
  EXPECT_THAT(run(fewer), IsEmpty());
  Summary summary = summary_of(*store_);
  EXPECT_EQ(summary.scenarios.at(0).points.size(), 2u);
  EXPECT_EQ(summary.left_out.at("the experiment has its point no more"), 2);
  expect_whole();
  EXPECT_THAT(run(first_), IsEmpty());
  EXPECT_EQ(answer_of(*store_), at_once(first_));
  expect_whole();
}

TEST_F(Growth, FewerRepetitionsAreNotRunAnyMore) {
  GrowingFile many = first_;
  many.repeat = "5";
  run(first_, 3);
  run(many, 2);
  EXPECT_EQ(run(first_).size(), 3u);
  EXPECT_EQ(summary_of(*store_).left, 0);
  expect_whole();
}

// Files that change at random, to more and to fewer blocks, values and workloads, between nights that are cut off at random: what is said to be
// left, before a trial is run and as each begins, is what is run.
TEST_F(Growth, WhatIsSaidToBeLeftIsWhatIsRun) {
  std::mt19937 random(7);
  const auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  int nights = 0, with_fewer = 0;
  for (int file = 0; file < 40; ++file) {
    TemporaryFolder elsewhere;
    Store store = Store::create(elsewhere.path() + "/night.sqlite", first_.plan(), {},
                                {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt);
    for (int night = 0; night < 6; ++night) {
      GrowingFile now;
      if (night > 0) {
        now.clocks = one_of({"[1 GHz, 3 GHz]", "[1 GHz, 2 GHz, 3 GHz]", "[2 GHz, 3 GHz]"});
        now.repeat = one_of({"1", "2", "3", "4"});
        if (random() % 3 == 0)
          now.workloads = "{name: v, command: [/bin/false]}, {name: w, command: [/bin/true]}";
      }
      Plan plan = now.plan();
      const PlanChange change = change_since(store, plan, {}, "night.sqlite");
      if (!change.incomparable.empty()) continue;
      if (change.any()) store.grow(plan, change, "2026-02-01T10:00:00.000Z");
      follow_result(store, plan);
      const auto strategy = make_strategy({plan});
      const auto before = store.progress();
      store.begin_session(1, "boot", "1.0", "2026-02-01T10:00:00.000Z");
      History history(store.history());
      const std::size_t most = random() % 20;
      std::vector<int> left;  // as each trial begins, those that are not written too
      std::optional<int> as_it_was_cut;
      while (const PlannedTrial* next = strategy->next(history)) {
        left.push_back(strategy->remaining(history));
        const TrialRecord trial = played(plan, *next, ++clock_);
        if (left.size() <= most) {
          store.note_current(trial.key, left.back());
          store.write_trial(trial);
        } else if (!as_it_was_cut) {
          as_it_was_cut = left.back();
          store.note_current(trial.key, left.back());
        }
        history.add(finished(trial));
      }
      const int all = static_cast<int>(left.size());
      EXPECT_EQ(before.planned - before.finished, all) << file << " " << night;
      for (int i = 0; i < all; ++i)
        EXPECT_EQ(left[static_cast<std::size_t>(i)], all - i) << file << " " << night;
      if (as_it_was_cut) {
        const Summary summary = summary_of(store);
        EXPECT_EQ(summary.left, *as_it_was_cut);
        EXPECT_EQ(summary.planned, summary.done + summary.left);
        const auto progress = store.progress();
        EXPECT_EQ(progress.left, *as_it_was_cut);
        EXPECT_EQ(progress.planned - progress.finished, *as_it_was_cut);
      }
      with_fewer += before.finished > 0 && all > 0 && before.planned > 3 * std::stoi(now.repeat) ? 1 : 0;
      ++nights;
      store.end_session(as_it_was_cut ? "interrupted" : "done", "2026-02-01T11:00:00.000Z",
                        conclusions_of(summary_of(store)));
    }
  }
  EXPECT_GT(nights, 100);
  EXPECT_GT(with_fewer, 30);
}

// What drifted within a block is in savings of trials that ran as listed, whatever the file says since.
TEST_F(Growth, AnOrderThatChangedIsNotThatOfTheTrialsThere) {
  GrowingFile listed = first_;
  listed.more = "order: listed\n";
  run(first_);
  EXPECT_TRUE(store_->experiment().all_shuffled());
  run(listed);
  EXPECT_FALSE(store_->experiment().all_shuffled());
  run(first_);
  EXPECT_TRUE(store_->experiment().shuffled);
  EXPECT_FALSE(store_->experiment().all_shuffled());
  EXPECT_THAT(further_sentences(summary_of(*store_)),
              testing::Contains("w: some of the trials ran in the order of the file (order: listed, until or "
                                "since it was changed): what drifts within a block is in the savings, and in "
                                "no interval"));
}

TEST_F(Growth, AnotherWorkloadIsAnAnswerOfItsOwn) {
  run(first_);
  GrowingFile both = first_;
  both.workloads = "{name: v, command: [/bin/false]}, {name: w, command: [/bin/true]}";
  EXPECT_EQ(run(both).size(), 8u);
  const auto whole = at_once(both);
  const auto grown = answer_of(*store_);
  EXPECT_EQ(grown.at(1), whole.at(1));
  EXPECT_EQ(grown.at(0)["best"], whole.at(0)["best"]);
  expect_whole();
}

TEST_F(Growth, IdleWindowsAreThoseOfTheirOperatingPointWhoeverBroughtThem) {
  GrowingFile measured = first_;
  measured.idle = "1 s";
  TemporaryFolder elsewhere;
  Store store = Store::create(elsewhere.path() + "/night.sqlite", measured.plan(), {},
                              {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt);
  EXPECT_EQ(run(store, measured.plan(), 12).size(), 12u);  // in the midst of a block
  GrowingFile both = measured;
  both.workloads = "{name: v, command: [/bin/false]}, {name: w, command: [/bin/true]}";
  both.repeat = "3";
  // Before and after each block, of each of three clocks; the first file's blocks first.
  const auto keys = run(store, both.plan());
  EXPECT_EQ(keys.size(), 2u * (4 + 6) - 12 + (8 + 6) + 2 * (4 + 6));
  EXPECT_THAT(run(store, both.plan()), IsEmpty());
  EXPECT_EQ(summary_of(store).left, 0);
  EXPECT_THAT(damaged_trials(store.database()), IsEmpty());
}

TEST_F(Growth, WhatASearchLearntFromEarlierResultsIsOfTheSettingsThereWere) {
  GrowingFile searched = first_;
  searched.more = "search: {method: adaptive, prior: [old.sqlite]}\n";
  GrowingFile more = searched;
  more.clocks = "[1 GHz, 2 GHz, 3 GHz, 4 GHz]";
  EXPECT_THAT(plan_change(searched.plan().canonical, more.plan().canonical).incomparable,
              ElementsAre("points: others than earlier results ('prior') were read for"));
  more.clocks = "[1 GHz, 2 GHz]";
  searched.more = more.more = "search: adaptive\n";
  EXPECT_THAT(plan_change(searched.plan().canonical, more.plan().canonical).incomparable,
              ElementsAre("axes / cpu.frequency: 3 GHz taken away"));
}

// The blocks of then have references of then: what is left of a value that was taken away meanwhile is run beside those of now.
TEST_F(Growth, WhatIsGivenBackUnfinishedIsRunInBlocksOfItsOwn) {
  EXPECT_EQ(run(*store_, first_.plan(), 1).size(), 1u);
  GrowingFile fewer = first_;
  fewer.clocks = "[1 GHz, 3 GHz]";
  run(fewer);
  for (const std::string& key : run(first_)) EXPECT_THAT(key, testing::ContainsRegex("#[3-9]"));
  EXPECT_THAT(run(first_), IsEmpty());
  Statement blocks = store_->database().prepare(
      "SELECT min(t.block), count(*) FROM trial t JOIN point p ON p.id = t.point_id WHERE p.key LIKE '%=2 "
      "GHz'");
  blocks.step();
  EXPECT_GT(blocks.integer(0), 2);
  EXPECT_EQ(blocks.integer(1), 2);
  EXPECT_EQ(summary_of(*store_).left, 0);
  expect_whole();
  // One that was finished before is only in the answer again.
  run(fewer);
  EXPECT_THAT(run(first_), IsEmpty());
}

TEST_F(Growth, AConfirmationIsAdded) {
  GrowingFile confirmed = first_;
  confirmed.repeat = "{min: 2, confirm: 4}";
  Plan plan = confirmed.plan();
  run(first_);
  const PlanChange change = change_since(*store_, plan, {}, "night.sqlite");
  EXPECT_THAT(change.adds, ElementsAre("repeat / confirm: added"));
  EXPECT_THAT(change.incomparable, IsEmpty());
}

// Its trials ran with two threads, as the command said; now that is an axis.
TEST_F(Growth, AnAxisIsAddedAndTheTrialsThereAreStandAtOneOfItsValues) {
  GrowingFile before = first_;
  before.workloads = "{name: w, command: [/bin/true, --threads=2, \"{{n}}\"]}";
  store_.emplace(Store::create(folder_.path() + "/threads.sqlite", before.plan(), {},
                               {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt));
  EXPECT_EQ(run(before).size(), 8u);
  GrowingFile axis = before;
  axis.workloads = "{name: w, command: [/bin/true, \"--threads={n}\", \"{{n}}\"]}";
  axis.clocks += ", n: {values: [1, 2, 4], was: 2}";
  const PlanChange change = plan_change(before.plan().canonical, axis.plan().canonical);
  EXPECT_THAT(change.incomparable, IsEmpty());
  EXPECT_THAT(change.adds,
              ElementsAre("axes / n: added; the trials that are there ran at 2, as the file says"));
  for (const std::string& key : run(axis)) EXPECT_THAT(key, testing::ContainsRegex(" n=[14] #"));
  EXPECT_THAT(run(axis), IsEmpty());
  expect_whole();
  const auto of_two = [](const nlohmann::json& scenarios) {
    for (const auto& one : scenarios) {
      if (one["scenario"] == "w n=2") return one;
    }
    return nlohmann::json();
  };
  const auto mine = of_two(answer_of(*store_));
  ASSERT_FALSE(mine.is_null());
  EXPECT_EQ(mine, of_two(at_once(axis)));
  EXPECT_EQ(answer_of(*store_).size(), 3u);
  // What is asked by SQL knows the value that the keys of its points leave out.
  Statement values = store_->database().prepare(
      "SELECT count(*) FROM point_value v JOIN axis a ON a.id = v.axis_id JOIN point p ON p.id = v.point_id "
      "WHERE a.name = 'n' AND v.text = '2' AND p.key NOT LIKE '% n=%'");
  values.step();
  EXPECT_EQ(values.integer(0), 3);
  // And on from there.
  GrowingFile more = axis;
  more.clocks = "[1 GHz, 2 GHz, 3 GHz], n: {values: [1, 2, 4, 8], was: 2}";
  for (const std::string& key : run(more)) EXPECT_THAT(key, testing::HasSubstr(" n=8 #"));
  GrowingFile gone = more;
  gone.clocks = "[1 GHz, 2 GHz, 3 GHz], n: [1, 2, 4, 8]";
  EXPECT_THAT(plan_change(more.plan().canonical, gone.plan().canonical).incomparable,
              testing::Contains("axes / n / was: 2 -> none: trials that are there are known by it"));
}

TEST_F(Growth, AKnobIsAddedAndTheReferenceStays) {
  run(first_);
  GrowingFile turbo = first_;
  turbo.clocks += ", sysfs.turbo: {values: [off, on], was: on}";
  turbo.more = "sysfs: {turbo: {path: /sys/turbo, values: [on, off]}}\n";
  for (const std::string& key : run(turbo)) {
    const bool reference =
        key.starts_with("w cpu.frequency=3 GHz #") || key.find(" (reference") != std::string::npos;
    EXPECT_TRUE(reference || key.find(" sysfs.turbo=off #") != std::string::npos) << key;
  }
  const auto scenarios = answer_of(*store_);
  ASSERT_EQ(scenarios.size(), 1u);
  EXPECT_EQ(scenarios[0]["reference"], "w cpu.frequency=3 GHz");
  expect_whole();
}

TEST_F(Growth, TheFilesOwnReferenceStaysWhereItsTrialsAre) {
  GrowingFile named = first_;
  named.more = "reference: {cpu.frequency: 2 GHz}\n";
  GrowingFile turbo = named;
  turbo.clocks += ", sysfs.turbo: {values: [off, on], was: on}";
  turbo.more += "sysfs: {turbo: {path: /sys/turbo, values: [on, off]}}\n";
  const auto references = [](const Plan& plan) {
    std::vector<std::string> keys;
    for (const PlanPoint& point : plan.points) {
      if (point.reference) keys.push_back(point.key);
    }
    return keys;
  };
  EXPECT_EQ(references(turbo.plan()), references(named.plan()));
  EXPECT_THAT(plan_change(named.plan().canonical, turbo.plan().canonical).asks, IsEmpty());
}

TEST_F(Growth, ScenariosThatBecomeOneHaveOneReference) {
  GrowingFile apart = first_;
  apart.workloads = "{name: w, command: [/bin/true, \"{n}\"], metrics: [lines]}";
  apart.clocks += ", n: [1, 2]";
  apart.objective = "{minimise: time, per: samples}";
  store_.emplace(Store::create(folder_.path() + "/apart.sqlite", apart.plan(), {},
                               {"package", "1.0", "2026-01-01T00:00:00.000Z", {}}, std::nullopt));
  run(apart);
  GrowingFile across = apart;
  across.objective = "{minimise: time, per: samples, across: [n]}";
  Plan plan = across.plan();
  change_since(*store_, plan, {}, "night.sqlite");
  EXPECT_EQ(std::count_if(plan.points.begin(), plan.points.end(),
                          [](const PlanPoint& point) { return point.reference; }),
            1);
}

TEST_F(Growth, AnAxisThatCannotBeAddedIsRefused) {
  GrowingFile before = first_;
  before.workloads = "{name: w, command: [/bin/true, --threads=2]}";
  const auto refused = [&](const std::string& command, const std::string& axes) {
    GrowingFile file = before;
    file.workloads = "{name: w, command: [/bin/true, \"" + command + "\"]}";
    file.clocks = axes;
    return plan_change(before.plan().canonical, file.plan().canonical).incomparable;
  };
  // At its value another command than the one that was run.
  EXPECT_THAT(refused("--threads={n}", "[1 GHz, 2 GHz, 3 GHz], n: {values: [1, 2], was: 1}"),
              ElementsAre("workloads / w / command: --threads=2 taken away",
                          "workloads / w / command: --threads=1 added"));
  EXPECT_THAT(refused("--threads={n}", "[1 GHz, 2 GHz, 3 GHz], n: {values: [1, 2], was: 2}"), IsEmpty());
  // A shell reads two words where a value is put in as one.
  GrowingFile words = first_, flags = first_;
  words.workloads = "{name: w, shell: \"/bin/true -a -b\"}";
  flags.workloads = "{name: w, shell: \"/bin/true {flags}\"}";
  flags.clocks += ", flags: {values: [\"-a -b\", \"-c\"], was: \"-a -b\"}";
  EXPECT_THAT(plan_change(words.plan().canonical, flags.plan().canonical).incomparable,
              testing::Contains(testing::StartsWith("workloads / w / shell: ")));
  words.workloads = "{name: w, shell: \"/bin/true -c\"}";
  flags.clocks = "[1 GHz, 2 GHz, 3 GHz], flags: {values: [\"-a -b\", \"-c\"], was: \"-c\"}";
  EXPECT_THAT(plan_change(words.plan().canonical, flags.plan().canonical).incomparable, IsEmpty());
  GrowingFile none = before;
  none.workloads = "{name: w, command: [/bin/true, \"--threads={n}\"]}";
  none.clocks += ", n: {values: [1, 2], was: 3}";
  try {
    none.plan();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("error: axis 'n': 'was' is the value at which trials ran "
                                                 "before the axis was added, one of 1, 2; found '3'"));
  }
}

TEST_F(Growth, WhatCannotBeComparedIsRefusedWithWhatIsThere) {
  run(first_);
  GrowingFile other = first_;
  other.workloads = "{name: w, command: [/bin/false]}";
  Plan plan = other.plan();
  try {
    change_since(*store_, plan, {}, "night.sqlite");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(
        error.what(),
        testing::MatchesRegex(
            "night.sqlite holds trials of another plan; what changed:\n  workloads / w / command: /bin/true "
            "taken away\n"
            "  workloads / w / command: /bin/false added\n  workloads / w / sha256 / .*/true: taken away\n"
            "  workloads / w / sha256 / .*/false: added\n  it has trials: 8 of w"));
    EXPECT_EQ(error.hint(),
              "undo the change to resume, use --fresh to start a new result (the old one is kept), or "
              "--output for another file");
  }
  const auto refused = [&](GrowingFile file) {
    return plan_change(first_.plan().canonical, file.plan().canonical).incomparable;
  };
  GrowingFile axis = first_;
  axis.clocks += ", n: [1, 2]";
  axis.workloads = "{name: w, command: [/bin/true, \"{n}\"]}";
  EXPECT_THAT(refused(axis),
              testing::Contains("axes / n: added, and at which of its values the trials that are there ran "
                                "is not known (it may be said: n: {values: [...], was: VALUE})"));
  GrowingFile searched = first_;
  searched.more = "search: adaptive\n";
  EXPECT_THAT(refused(searched), testing::Contains("search: added"));
  GrowingFile units = first_;
  units.objective = "{minimise: energy, per: samples}";
  units.workloads = "{name: w, command: [/bin/true], metrics: [lines]}";
  EXPECT_THAT(refused(units), testing::Contains("objective / per: added"));
}

}  // namespace
}  // namespace dvfs_plan
