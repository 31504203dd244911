// The run loop with an executor that runs several trials at once and finishes them in any order: as other
// nodes would.
#include "orchestrator/run/run_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/support/parse.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

Plan plan_of(const std::string& more) {
  Diagnostics diagnostics("n.yaml");
  const auto experiment = parse_experiment(
      "name: n\nobjective: time\nworkloads: [{name: w, command: [/bin/true]}]\naxes: {sysfs.f: [1, 2, 3, 4, "
      "5, 6]}\n"
      "sysfs: {f: {path: /sys/f, values: [1, 2, 3, 4, 5, 6]}}\n" +
          more,
      "n.yaml", diagnostics);
  ResolveWorld world;
  AxisOffer offer;
  for (int i = 1; i <= 6; ++i) offer.values.push_back({std::to_string(i), static_cast<double>(i)});
  world.offers.offers["sysfs.f"] = offer;
  auto plan = resolve_plan(*experiment, world, diagnostics);
  EXPECT_TRUE(plan) << diagnostics.text();
  return std::move(*plan);
}

// Runs nothing: a trial's time is that of its setting. Every few trials one is disturbed.
class Nodes : public Executor {
 public:
  Nodes(std::size_t many, std::uint64_t seed, int interrupted_after = 1000000)
      : many_(many), random_(seed), left_(interrupted_after) {}
  bool has_room() const override { return under_way_.size() < many_; }
  void begin(const PlannedTrial& planned) override {
    under_way_.push_back(planned);
    most_ = std::max(most_, under_way_.size());
  }
  std::optional<TrialRecord> wait() override {
    if (left_-- == 0) return std::nullopt;
    const auto which = static_cast<std::ptrdiff_t>(random_() % under_way_.size());
    TrialRecord trial;
    static_cast<PlannedTrial&>(trial) = under_way_[static_cast<std::size_t>(which)];
    under_way_.erase(under_way_.begin() + which);
    trial.started_at = "2026-01-01T00:00:00.000Z";
    trial.child.end = ChildResult::End::exited;
    trial.child.started = ++now_ * 1'000'000'000;
    trial.child.ended = trial.child.started + 1'000'000 * (100 + (trial.point - 2) * (trial.point - 2));
    trial.region_s = seconds(trial.child.ended - trial.child.started).value();
    trial.objective = trial.region_s;
    trial.slot_s = 1;
    if (trial.role == TrialRole::point && trial.attempt == 1 && trial.point == 4)
      trial.verdict = Verdict::foreign_load;
    return trial;
  }
  std::size_t most() const { return most_; }

 private:
  std::size_t many_;
  std::mt19937_64 random_;
  int left_;
  std::vector<PlannedTrial> under_way_;
  std::size_t most_ = 0;
  Nanoseconds now_ = 0;
};

class RunLoopTest : public testing::Test {
 protected:
  // Keys of all trials in the file, after a night on so many nodes.
  std::multiset<std::string> night(const std::string& more, std::size_t nodes, std::uint64_t seed,
                                   int interrupted_after = 1000000, const std::string& name = "n") {
    std::multiset<std::string> keys;
    for (const FinishedTrial& trial : history_of(plan_of(more), nodes, seed, interrupted_after, name))
      keys.insert(trial.key);
    return keys;
  }
  std::vector<FinishedTrial> history_of(const Plan& plan, std::size_t nodes, std::uint64_t seed,
                                        int interrupted_after = 1000000, const std::string& name = "n") {
    const std::string file = folder_ / name + ".sqlite";
    Store store = std::filesystem::exists(file) ? Store::open(file, Database::Mode::read_write)
                                                : Store::create(file, plan, {}, {}, {});
    store.begin_session(1, "", "", "");
    const auto strategy = make_strategy({plan});
    Nodes executor(nodes, seed, interrupted_after);
    Interruption interruption;
    SystemClock clock;
    RunParts parts{plan, *strategy, executor, store, interruption, clock};
    const RunEnd end = run_trials(parts, {});
    EXPECT_EQ(end, interrupted_after < 1000000 ? RunEnd::interrupted : RunEnd::done);
    most_ = executor.most();
    return store.history();
  }
  TemporaryFolder folder_;
  std::size_t most_ = 0;
};

constexpr const char* blocks = "repeat: 4\nseed: 3\nconditions: {warm up: 1, idle: none}\n";

TEST_F(RunLoopTest, SeveralAtOnceRunEachPlannedTrialOnce) {
  const auto one_by_one = night(blocks, 1, 1, 1000000, "one");
  EXPECT_EQ(most_, 1U);
  // Six points and the reference once more in each of four blocks, a warm-up each, and the disturbed ones
  // again.
  EXPECT_EQ(one_by_one.size(), 4U * (6 + 1 + 1 + 1));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(night(blocks, 5, seed, 1000000, "many" + std::to_string(seed)), one_by_one) << seed;
    EXPECT_EQ(most_, 5U);
  }
}

TEST_F(RunLoopTest, WhatWasUnderWayAtAnInterruptionIsRunAgain) {
  const auto whole = night(blocks, 5, 1, 1000000, "whole");
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::string name = "cut" + std::to_string(seed);
    const auto cut = night(blocks, 5, seed, 3 + static_cast<int>(seed) * 2, name);
    EXPECT_EQ(cut.size(), 3 + seed * 2);
    auto resumed = night(blocks, 5, seed, 1000000, name);
    // A session that resumes in the middle of a block warms up again.
    std::erase_if(resumed, [](const std::string& key) { return key.find("warm") != std::string::npos; });
    auto expected = whole;
    std::erase_if(expected, [](const std::string& key) { return key.find("warm") != std::string::npos; });
    EXPECT_EQ(resumed, expected) << seed;
  }
}

// Else the reference's second trial, and what shares its service, would be the only ones that find it warm.
TEST_F(RunLoopTest, BehindEachStartOfAServiceItWarmsUp) {
  Plan plan = plan_of(blocks);
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    plan.points[i].services = "server batch=" + std::to_string(i / 2);
  plan.trials = schedule(plan.points, 4, schedule_options(plan.experiment));
  std::string up;
  int block = 0, warm_ups = 0;
  bool warmed = false;
  const auto trials = history_of(plan, 1, 1);
  for (const FinishedTrial& trial : trials) {
    const std::string& services = plan.points[static_cast<std::size_t>(trial.point)].services;
    const bool is_warm_up = trial.role == TrialRole::warm_up;
    warm_ups += is_warm_up ? 1 : 0;
    if (trial.block != block || services != up) {
      // Those that are run again, at the end of their block.
      EXPECT_TRUE(is_warm_up) << trial.key;
    }
    warmed = is_warm_up;
    block = trial.block;
    up = services;
  }
  EXPECT_FALSE(warmed) << "nothing behind it";
  EXPECT_GE(warm_ups, 4 * 3);
}

TEST_F(RunLoopTest, ABudgetCountsWhatIsUnderWay) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const char* search : {"", "search: random\n", "search: golden\n"}) {
      const auto keys =
          night(std::string("seed: 3\nbudget: 9 trials\nconditions: {warm up: 0, idle: none}\n") + search +
                    (*search == '\0' ? "repeat: 4\n" : ""),
                4, seed, 1000000, std::string(search).substr(0, 12) + std::to_string(seed));
      EXPECT_LE(keys.size(), 9U) << search;
      EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size()) << "one twice";
    }
  }
}

}  // namespace
}  // namespace dvfs_plan
