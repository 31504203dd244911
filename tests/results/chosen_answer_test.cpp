// One setting out of a result: which answer is meant, within which slowdown, and what speaks against it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "results/report/chosen_answer.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

PointSummary point(const std::string& workload, const std::string& clock, double saving, double slowdown) {
  PointSummary one;
  one.point = workload + " cpu.frequency=" + clock;
  one.workload = workload;
  one.settings = {{"cpu.frequency", clock, std::nullopt}};
  one.saving = Change{3, saving, saving - 0.05, saving + 0.05};
  one.slowdown = Change{3, slowdown, slowdown - 0.02, slowdown + 0.02};
  return one;
}

ScenarioSummary scenario(const std::string& name, const std::string& workload) {
  ScenarioSummary one;
  one.scenario = name;
  one.points = {point(workload, "1 GHz", 0.2, 0.5), point(workload, "2 GHz", 0.1, 0.04),
                point(workload, "3 GHz", 0, 0)};
  one.points[2].is_reference = true;
  one.best = 0;
  one.reference = 2;
  one.by_slowdown = {{0, 2}, {0.04, 1}, {0.5, 0}};
  return one;
}

Summary night() {
  Summary summary;
  summary.experiment.name = "night";
  summary.scenarios = {scenario("sort", "sort"), scenario("train batch=8", "train"),
                       scenario("train batch=32", "train")};
  return summary;
}

std::string refusal(const Summary& summary, const AnswerWish& wish) {
  try {
    choose_answer(summary, wish);
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return {};
}

TEST(ChosenAnswer, IsTheOneThatIsMeant) {
  const Summary summary = night();
  EXPECT_EQ(choose_answer(summary, {"sort", {}}).point.point, "sort cpu.frequency=1 GHz");
  EXPECT_EQ(choose_answer(summary, {"train batch=32", {}}).scenario.scenario, "train batch=32");
  EXPECT_EQ(refusal(summary, {"", {}}),
            "night has 3 answers: sort, 'train batch=8', 'train batch=32' | say which: --workload sort");
  EXPECT_EQ(refusal(summary, {"train", {}}),
            "night has 2 answers for workload 'train': 'train batch=8', 'train batch=32' | say which: "
            "--workload 'train batch=8'");
  EXPECT_EQ(refusal(summary, {"srot", {}}),
            "night has no answer for 'srot' (did you mean 'sort'?) | there are: sort, train, train batch=8, "
            "train batch=32");
  Summary one = summary;
  one.scenarios.resize(1);
  EXPECT_EQ(choose_answer(one, {}).point.point, "sort cpu.frequency=1 GHz");
  one.scenarios[0].best.reset();
  EXPECT_EQ(refusal(one, {}), "sort: there is no best point | `dvfs-plan report` says why; nothing was set");
  one.scenarios.clear();
  EXPECT_EQ(refusal(one, {}),
            "night has no answer yet: it has no trials | the same command that began it goes on");
}

TEST(ChosenAnswer, WithinASlowdownItIsTheLeastEnergyThere) {
  const Summary summary = night();
  EXPECT_EQ(choose_answer(summary, {"sort", 0.05}).point.point, "sort cpu.frequency=2 GHz");
  EXPECT_EQ(choose_answer(summary, {"sort", 0.0}).point.point, "sort cpu.frequency=3 GHz");
  EXPECT_EQ(choose_answer(summary, {"sort", 9.0}).point.point, "sort cpu.frequency=1 GHz");
  Summary unknown = night();
  unknown.scenarios[0].by_slowdown.clear();
  EXPECT_EQ(refusal(unknown, {"sort", 0.05}),
            "sort: of no point the energy and a slowdown within 5 % are known | `dvfs-plan report` says what "
            "is known; nothing was set");
  // Those that are within it break another limit: that is the reason.
  for (PointSummary& point : unknown.scenarios[0].points) {
    point.energy = estimate(std::vector<double>{9, 10, 11});
    point.constraints = {{"p99", "p99 <= 30 ms", 40, false, true}};
  }
  EXPECT_EQ(refusal(unknown, {"sort", 0.05}),
            "sort: no point within a slowdown of 5 % is known to hold p99 <= 30 ms | `dvfs-plan report` says "
            "what is known; nothing was set");
}

TEST(ChosenAnswer, WhatSpeaksAgainstItIsSaid) {
  Summary summary = night();
  EXPECT_THAT(answer_doubts(summary, choose_answer(summary, {"sort", {}}), {"sort", {}}), ElementsAre());
  summary.left = 3;
  summary.scenarios[0].points[1].saving->low = -0.01;
  summary.scenarios[0].points[1].delivered_instead["cpu.frequency"] = {1.8e9, 1.8e9, 2, 3};
  const AnswerWish wish{"sort", 0.05};
  EXPECT_THAT(
      answer_doubts(summary, choose_answer(summary, wish), wish),
      ElementsAre(
          "its slowdown is within 5 % by the estimate; the 95 % interval reaches 6.0 %",
          "that it takes less energy than the reference is not shown: the 95 % interval holds zero",
          "its saving is by its own trials, not corrected for its having been chosen as the least",
          "the experiment is not finished", "cpu.frequency was not delivered as requested in 2 of 3 trials"));
}

// Who puts an answer to use is told what the report says of it.
TEST(ChosenAnswer, WhatIsNotShownOfItsConstraintsAndItsReferenceIsSaid) {
  Summary summary = night();
  ScenarioSummary& sort = summary.scenarios[0];
  const auto constraint = [](const char* text, std::optional<bool> holds, std::optional<bool> certain) {
    ConstraintCheck check;
    check.text = text;
    check.holds = holds;
    check.certain = certain;
    return check;
  };
  sort.points[0].constraints = {
      constraint("loss <= 0.35", true, true), constraint("loss <= 0.3", true, false),
      constraint("p99 <= 5 ms", true, std::nullopt), constraint("power <= 300 W", false, true),
      constraint("accuracy >= 0.9", std::nullopt, std::nullopt)};
  sort.search = SearchSummary{};
  sort.search->doubtful = true;
  EXPECT_THAT(
      answer_doubts(summary, choose_answer(summary, {"sort", {}}), {"sort", {}}),
      ElementsAre("it holds loss <= 0.3 by its mean; the 95 % interval reaches beyond",
                  "it holds p99 <= 5 ms by its mean, with no interval to judge by",
                  "it does not hold power <= 300 W", "whether it holds accuracy >= 0.9 is not known",
                  "the trials do not go as the search's model says: what it expects of them is not to be "
                  "trusted"));
}

// What a search asked for and did not reach is said; that it cannot say anything of it, too.
TEST(ChosenAnswer, OfASearchWithoutABoundThatIsSaid) {
  Summary summary = night();
  summary.scenarios = {scenario("sort", "sort")};
  SearchSummary& search = summary.scenarios[0].search.emplace();
  search.scatter_known = false;
  search.rule.regret = 0.01;
  search.rule.confidence = 0.95;
  search.points.resize(8);
  summary.experiment.search.emplace();
  const auto doubts = [&] {
    return answer_doubts(summary, choose_answer(summary, {"sort", {}}), {"sort", {}});
  };
  const std::string none =
      "no setting ran often enough for the search to say how much better another may be: no bound is stated";
  EXPECT_THAT(doubts(), testing::Contains(none));
  search.scatter_known = true;
  search.bound = 0.148;
  EXPECT_THAT(doubts(), testing::Not(testing::Contains(none)));
  EXPECT_THAT(doubts(), testing::Contains(testing::HasSubstr("the search was to go on until that is 1 %")));
}

}  // namespace
}  // namespace dvfs_plan
