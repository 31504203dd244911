// A search that several machines share: what is under way elsewhere, what each block runs, when it is over, who claims what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "orchestrator/cluster/claims.hpp"
#include "orchestrator/replay/play_on_nodes.hpp"
#include "orchestrator/strategies/one_by_one.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

// A board's table: least energy in the middle of `clocks` settings.
std::vector<Landscape> boards(const TemporaryFolder& folder, int clocks, int workloads) {
  std::string text = "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts\n";
  for (int w = 0; w < workloads; ++w) {
    for (int i = 1; i <= clocks; ++i) {
      const double f = 0.3 + 0.7 * i / clocks, v = 1 + (0.8 + 0.1 * w) * std::max(0.0, f - 0.55);
      const double time = 0.3 + 0.7 / f, power = 60 + 140 * f * v * v;
      text += "b,w" + std::to_string(w) + "," + std::to_string(300 + 10 * i) + ",,,1," +
              std::to_string(time) + "," + std::to_string(time * power) + ",\n";
    }
  }
  folder.file("t.csv", text);
  std::vector<std::string> notes;
  return read_landscapes(folder / "t.csv", notes);
}

PlayOptions noisy() {
  PlayOptions options;
  options.trials = 150;
  options.noise_time = 0.003;
  options.noise_power = 0.01;
  options.stop_regret = 0.02;
  return options;
}

TEST(SharedSearch, NamesWhatOneMachineWouldAndHoldsItsBound) {
  const TemporaryFolder folder;
  const auto landscapes = boards(folder, 24, 3);
  int held = 0, plays = 0, twice = 0;
  double one = 0, eight = 0;
  for (const Landscape& landscape : landscapes) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const NodesPlay alone = play_on_nodes(landscape, noisy(), 1, NodeScatter{}, false, seed);
      const NodesPlay play = play_on_nodes(landscape, noisy(), 8, NodeScatter{}, false, seed);
      ASSERT_TRUE(play.reached_s && play.play.bound && alone.reached_s);
      held += play.play.regret <= *play.play.bound ? 1 : 0;
      twice += play.twice;
      one += *alone.reached_s;
      eight += *play.reached_s;
      ++plays;
    }
  }
  EXPECT_GE(held, plays - 1) << "of " << plays;
  EXPECT_EQ(twice, 0);
  EXPECT_GT(one / eight, 3) << "simulated time, so it is the same on any machine";
}

TEST(SharedSearch, TheBoundMayBeAskedForOnEachMachine) {
  const TemporaryFolder folder;
  const auto landscapes = boards(folder, 16, 1);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const NodesPlay all = play_on_nodes(landscapes[0], noisy(), 4, NodeScatter{}, false, seed);
    const NodesPlay each = play_on_nodes(landscapes[0], noisy(), 4, NodeScatter{}, true, seed);
    EXPECT_GE(each.play.trials, all.play.trials);
    EXPECT_THAT(each.regrets, testing::Each(testing::Le(0.02)));
  }
}

class TwoMachines : public testing::Test {
 protected:
  TwoMachines() : landscapes_(boards(folder_, 24, 1)) {
    plan().experiment.search.method = "adaptive";
    plan().experiment.search.at_most = 60;
  }
  Plan& plan() { return landscapes_[0].plan; }
  FinishedTrial done(const PlannedTrial& trial, const std::string& node) {
    FinishedTrial finished = as_planned(trial);
    finished.node = node;
    finished.counts = true;
    finished.work_time_s = finished.slot_s = landscapes_[0].seconds(trial.point);
    finished.work_energy_j = finished.objective = landscapes_[0].joules(trial.point);
    return finished;
  }
  TemporaryFolder folder_;
  std::vector<Landscape> landscapes_;
};

TEST_F(TwoMachines, WhatIsUnderWayElsewhereIsNotProposedAndEachBlockHasItsReference) {
  std::vector<FinishedTrial> finished;
  std::set<int> points;
  const auto strategy = make_strategy({.plan = plan(), .only_block = 2, .node = "b"});
  // Machine a's trials of block 1, all of them under way when b asks.
  History history;
  const auto other = make_strategy({.plan = plan(), .only_block = 1, .node = "a"});
  for (int i = 0; i < 6; ++i) {
    const PlannedTrial* theirs = other->next(history);
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(theirs->block, 1);
    points.insert(theirs->point);
    history.begin(*theirs, "a");
  }
  EXPECT_EQ(points.size(), 6U) << "with nothing known, six different settings";
  const PlannedTrial* mine = strategy->next(history);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->block, 2);
  EXPECT_TRUE(plan().points[static_cast<std::size_t>(mine->point)].reference);
  history.begin(*mine, "b");
  mine = strategy->next(history);
  ASSERT_NE(mine, nullptr);
  EXPECT_FALSE(points.contains(mine->point));
}

TEST_F(TwoMachines, ABlockEndsWhenItIsFullAndTheSearchWhenTheBoundIsReached) {
  plan().experiment.search.regret = 0;
  History history;
  auto strategy = make_strategy({.plan = plan(), .only_block = 3, .node = "a"});
  int run = 0;
  while (const PlannedTrial* trial = strategy->next(history)) {
    EXPECT_EQ(trial->block, 3);
    history.add(done(*trial, "a"));
    ASSERT_LE(++run, trials_of_search_block);
  }
  EXPECT_EQ(run, trials_of_search_block);
  EXPECT_FALSE(strategy->is_over(history)) << "there are trials for further blocks";
  plan().experiment.search.at_most = trials_of_search_block;
  EXPECT_TRUE(make_strategy({.plan = plan(), .only_block = 4, .node = "b"})->is_over(history));
}

TEST_F(TwoMachines, ATrialOfABudgetIsCountedWhoeverRunsIt) {
  plan().experiment.budget.trials = 2;
  History history;
  const auto strategy = make_strategy({.plan = plan(), .only_block = 1, .node = "a"});
  history.begin(*strategy->next(history), "a");
  history.begin(*make_strategy({.plan = plan(), .only_block = 2, .node = "b"})->next(history), "b");
  EXPECT_EQ(strategy->next(history), nullptr);
  EXPECT_TRUE(strategy->is_over(history));
}

TEST(ClaimLog, OnlyOneIsNextHoweverManyAsk) {
  const TemporaryFolder folder;
  const SharedFolder shared(folder / "nodes");
  shared.make();
  constexpr int machines = 6, trials = 20;
  std::vector<std::jthread> threads;
  for (int m = 0; m < machines; ++m) {
    threads.emplace_back([&, m] {
      ClaimLog log(shared);
      for (int i = 1; i <= trials;) {
        std::set<int> points;
        for (const Claim& claim : log.read()) points.insert(claim.trial.point);
        // The least that nobody has.
        int point = 0;
        while (points.contains(point)) ++point;
        const auto claimed = log.add({"o" + std::to_string(m),
                                      "n" + std::to_string(m),
                                      {point, m + 1, TrialRole::point, 1, 1},
                                      "p" + std::to_string(point)});
        ASSERT_NE(claimed, SharedFolder::Claimed::not_written);
        if (claimed == SharedFolder::Claimed::mine) ++i;
      }
    });
  }
  threads.clear();
  ClaimLog log(shared);
  std::set<int> points;
  for (const Claim& claim : log.read()) points.insert(claim.trial.point);
  EXPECT_EQ(log.read().size(), std::size_t{machines * trials});
  EXPECT_EQ(points.size(), std::size_t{machines * trials}) << "none twice, none left out";
}

TEST(ClaimLog, WhatIsNoClaimSaysNothingAndIsPassed) {
  const TemporaryFolder folder;
  const SharedFolder shared(folder / "nodes");
  shared.make();
  std::ofstream(folder / "nodes/in/000001.claim") << "{\"origin\": \"o\"";
  ClaimLog log(shared);
  EXPECT_TRUE(log.read().empty());
  EXPECT_EQ(log.add({"o", "n", {3, 1, TrialRole::reference_first, 1, 2}, "k"}), SharedFolder::Claimed::mine);
  ASSERT_EQ(log.read().size(), 1U);
  EXPECT_EQ(log.read().front().trial, (TrialId{3, 1, TrialRole::reference_first, 1, 2}));
  // Of a folder that is gone.
  ClaimLog lost(SharedFolder(folder / "none"));
  EXPECT_EQ(lost.add({"o", "n", {}, "k"}), SharedFolder::Claimed::not_written);
}

}  // namespace
}  // namespace dvfs_plan
