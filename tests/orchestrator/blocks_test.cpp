// Which trial comes next: blocks, reruns, until confident, budgets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "orchestrator/strategies/strategy.hpp"
#include "tests/support/parse.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Night {
 public:
  Night(int points, const std::string& yaml, Finalists finalists = {}, int first_block_of_form = 1) {
    std::string values;
    for (int i = 1; i <= points; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
    Diagnostics diagnostics("n.yaml");
    const auto experiment =
        parse_experiment("name: n\nworkloads: [{name: w, command: [/bin/true]}]\naxes: {sysfs.f: [" + values +
                             "]}\nsysfs: {f: {path: /sys/f, values: [" + values + "]}}\n" + yaml,
                         "n.yaml", diagnostics);
    ResolveWorld world;
    AxisOffer offer;
    for (int i = 1; i <= points; ++i) offer.values.push_back({std::to_string(i), static_cast<double>(i)});
    world.offers.offers["sysfs.f"] = offer;
    auto plan = resolve_plan(*experiment, world, diagnostics);
    EXPECT_TRUE(plan) << diagnostics.text();
    plan_ = std::move(*plan);
    strategy_ = make_strategy({plan_, {}, std::move(finalists), first_block_of_form});
  }

  // Runs to the end; `measure` gives the objective, or nothing for a disturbed trial.
  template <class Measure>
  void run(Measure measure, std::size_t at_most = 10000) {
    while (const PlannedTrial* trial = strategy_->next(history_)) {
      if (keys.size() >= at_most) return;
      const std::optional<double> value = measure(*trial);
      FinishedTrial done = as_planned(*trial);
      done.counts = value.has_value();
      done.may_pass = !value.has_value();
      done.objective = value;
      done.slot_s = 10;
      keys.push_back(trial->key);
      if (!is_idle(trial->role)) ++trials;
      of_point[trial->point] += is_idle(trial->role) ? 0 : 1;
      history_.add(done);
    }
  }

  FinishedTrial warm_up(int nth) const {
    FinishedTrial trial = as_planned(planned_trial(plan_.points[0], {0, 1, TrialRole::warm_up, nth}, 1));
    trial.objective = 1.0;
    trial.slot_s = 10;
    return trial;
  }

  Plan plan_;
  std::unique_ptr<Strategy> strategy_;
  History history_;
  std::vector<std::string> keys;
  std::map<int, int> of_point;
  int trials = 0;
};

const std::string quiet = "objective: time\norder: listed\n";

TEST(Blocks, BeginAndEndWithTheReference) {
  Night night(3, quiet + "repeat: 2\n");
  night.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_THAT(night.keys,
              ElementsAre("w sysfs.f=3 #1 first", "w sysfs.f=1 #1", "w sysfs.f=2 #1", "w sysfs.f=3 #1 last",
                          "w sysfs.f=3 #2 first", "w sysfs.f=1 #2", "w sysfs.f=2 #2", "w sysfs.f=3 #2 last"));
}

TEST(Blocks, IdleWindowsOfEachOperatingPointStandAroundThem) {
  Night night(2, "objective: energy\norder: listed\nrepeat: 1\n");
  night.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_THAT(night.keys, ElementsAre("idle sysfs.f=1 #1 before", "idle sysfs.f=2 #1 before",
                                      "w sysfs.f=2 #1 first", "w sysfs.f=1 #1", "w sysfs.f=2 #1 last",
                                      "idle sysfs.f=1 #1 after", "idle sysfs.f=2 #1 after"));
}

TEST(Blocks, AreShuffledEachInItsOwnWayAndAlwaysTheSame) {
  const std::string yaml = "objective: time\nrepeat: 2\nseed: 7\nconditions: {references: false}\n";
  Night a(8, yaml), b(8, yaml);
  a.run([](const PlannedTrial&) { return 1.0; });
  b.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_EQ(a.keys, b.keys);
  std::vector<std::string> first(a.keys.begin(), a.keys.begin() + 8),
      second(a.keys.begin() + 8, a.keys.end());
  for (auto* block : {&first, &second}) {
    for (std::string& key : *block) key = key.substr(0, key.find('#'));
  }
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(Blocks, RunADisturbedTrialAgainAtTheBlocksEndAndNotForEver) {
  Night night(2, quiet + "repeat: 2\nconditions: {references: false, reruns: 2}\n");
  night.run([](const PlannedTrial& trial) {
    return trial.point == 0 && trial.block == 1 ? std::nullopt : std::optional(1.0);
  });
  EXPECT_THAT(night.keys, ElementsAre("w sysfs.f=1 #1", "w sysfs.f=2 #1", "w sysfs.f=1 #1 rerun 1",
                                      "w sysfs.f=1 #1 rerun 2", "w sysfs.f=1 #2", "w sysfs.f=2 #2"));
}

TEST(Blocks, GoOnUntilTheIntervalsAreNarrowEnough) {
  Night night(4, "objective: time\nrepeat: {min: 3, max: 20, until: 2 %}\n");
  EXPECT_EQ(night.strategy_->announcement(night.history_),
            "3 blocks (15 trials), then more of all points that compare (at most 20 blocks a point, as many "
            "as take savings to "
            "±2 % by the scatter of the first ones)");
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise;
  // Point 1 scatters by 3 %, the others by 0.3 %.
  night.run([&](const PlannedTrial& trial) {
    return (10 - trial.point) * std::exp((trial.point == 1 ? 0.03 : 0.003) * noise(random));
  });
  // Decided once for all of them: to stop each when its own interval happens to be narrow is to stop on luck.
  EXPECT_GT(night.of_point[1], 3);
  EXPECT_LT(night.of_point[1], 20);
  EXPECT_EQ(night.of_point[0], night.of_point[1]);
  EXPECT_EQ(night.of_point[2], night.of_point[1]);
}

TEST(Blocks, ATrialBudgetIsSpentAsAnnounced) {
  for (const int budget : {20, 21, 22, 23, 24, 31, 40, 60}) {
    Night night(
        6, "objective: time\nrepeat: {min: 3, max: 50}\nbudget: " + std::to_string(budget) + " trials\n");
    const std::string said = night.strategy_->announcement(night.history_);
    if (budget == 21) {
      EXPECT_THAT(said, testing::EndsWith("buys the first 3 blocks (21 trials)"));
    } else if (budget == 22 || budget == 23) {
      EXPECT_THAT(
          said,
          HasSubstr("buys the first 3 blocks (21 trials); what is left is too little for a further block"));
    } else if (budget > 21) {
      EXPECT_THAT(said, HasSubstr("buys the first 3 blocks (21 trials) and " + std::to_string(budget - 21) +
                                  " more"));
    } else {
      EXPECT_THAT(said, HasSubstr("does not cover the first 3 blocks (21 trials): it stops after 20"));
    }
    std::mt19937_64 random(static_cast<std::uint64_t>(budget));
    std::normal_distribution<double> noise;
    night.run([&](const PlannedTrial& trial) { return (10 + trial.point) * std::exp(0.01 * noise(random)); });
    EXPECT_EQ(night.trials, budget == 22 || budget == 23 ? 21 : budget);
  }
}

TEST(Blocks, ABudgetGoesWhereTheIntervalsAreWidest) {
  Night night(6, "objective: time\nrepeat: {min: 3, max: 50}\nbudget: 60 trials\n");
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise;
  night.run([&](const PlannedTrial& trial) {
    return (10 + trial.point) * std::exp((trial.point == 2 ? 0.05 : 0.002) * noise(random));
  });
  for (const int quiet_point : {0, 1, 3, 4}) EXPECT_GT(night.of_point[2], night.of_point[quiet_point]);
}

TEST(Blocks, ATimeBudgetIsNeverOverdrawn) {
  Night night(6, "objective: time\nrepeat: {min: 3, max: 50}\nbudget: 5 min\n");  // trials cost 10 s
  EXPECT_EQ(night.strategy_->announcement(night.history_),
            "what the budget of 5 min 00 s buys is said after the first block");
  night.run([&](const PlannedTrial& trial) { return 10.0 + trial.point; }, 6);
  EXPECT_FALSE(night.strategy_->announces_all(night.history_));
  night.run([&](const PlannedTrial& trial) { return 10.0 + trial.point; }, 7);
  EXPECT_TRUE(night.strategy_->announces_all(night.history_));
  EXPECT_EQ(night.strategy_->announcement(night.history_),
            "at 10.0 s a trial, all told, the budget of 5 min 00 s buys about 30 trials: the first 3 blocks "
            "(21 trials) and "
            "about 9 more, where the intervals are widest (at most 50 blocks a point)");
  night.run([&](const PlannedTrial& trial) { return 10.0 + trial.point; });
  EXPECT_EQ(night.trials, 30);
  EXPECT_LE(night.history_.spent().value(), 300);
}

// "ETA 8 h" of a night that has an hour.
TEST(Blocks, WhatIsLeftKnowsTheTimeBudget) {
  Night night(6, "objective: time\nrepeat: 3\nbudget: 60 s\n");
  night.run([&](const PlannedTrial& trial) { return 10.0 + trial.point; }, 2);
  EXPECT_EQ(night.strategy_->remaining(night.history_), 4);
  Night search(6, "objective: time\nsearch: random\nbudget: 60 s\n");
  search.run([&](const PlannedTrial& trial) { return 10.0 + trial.point; }, 4);
  EXPECT_EQ(search.strategy_->remaining(search.history_), 2);
}

// "ETA 2 s", and 49 trials came.
TEST(Blocks, WhatIsLeftIsTheMostThatMayCome) {
  Night budget(8, "objective: time\nrepeat: {min: 3}\nbudget: 60 trials\n");
  EXPECT_EQ(budget.strategy_->remaining(budget.history_), 60);
  budget.run([&](const PlannedTrial&) { return 10.0; }, 11);
  EXPECT_EQ(budget.strategy_->remaining(budget.history_), 49);
  budget.run([&](const PlannedTrial&) { return 10.0; });
  EXPECT_EQ(budget.trials, 60);
  EXPECT_EQ(budget.strategy_->remaining(budget.history_), 0);
  // 8 points and the reference twice, in 3 to 6 blocks.
  Night until(8, "objective: time\nrepeat: {min: 3, max: 6}\n");
  EXPECT_EQ(until.strategy_->remaining(until.history_), 6 * (7 + 2));
  int begun = 0;
  std::mt19937_64 random(3);
  until.run([&](const PlannedTrial&) {
    EXPECT_GE(until.strategy_->remaining(until.history_), 0);
    return 10.0 + static_cast<double>(++begun % 3) + static_cast<double>(random() % 100) / 100;
  });
  EXPECT_EQ(until.trials, 6 * (7 + 2));
}

TEST(Blocks, AResumedNightGoesOnAsItWouldHave) {
  const std::string yaml = "objective: time\nrepeat: {min: 2, max: 9, until: 0.5 %}\nbudget: 50 trials\n";
  const auto measure = [](const PlannedTrial& trial) {
    std::mt19937_64 random(std::hash<std::string>{}(trial.key));
    return std::optional((10 + trial.point) * std::exp(0.01 * std::normal_distribution<double>()(random)));
  };
  Night whole(5, yaml);
  whole.run(measure);
  for (const std::size_t cut : {1, 7, 13, 17, 25, 40}) {
    Night first(5, yaml);
    first.run(measure, cut);
    Night second(5, yaml);
    second.history_ = first.history_;
    second.run(measure);
    first.keys.insert(first.keys.end(), second.keys.begin(), second.keys.end());
    EXPECT_EQ(first.keys, whole.keys) << "cut after " << cut;
  }
}

TEST(Blocks, AWarmUpOfARerunIsNoAttemptOfIt) {
  Night night(2, quiet + "repeat: 1\nconditions: {references: false, reruns: 1}\n");
  night.run([](const PlannedTrial& trial) { return trial.point == 0 ? std::nullopt : std::optional(1.0); },
            2);
  // The rerun was interrupted twice: two sessions warmed up for it.
  for (const int nth : {1, 2}) night.history_.add(night.warm_up(nth));
  ASSERT_NE(night.strategy_->next(night.history_), nullptr);
  EXPECT_EQ(night.strategy_->next(night.history_)->key, "w sysfs.f=1 #1 rerun 1");
}

TEST(Blocks, WarmUpsAreInTheTimeBudget) {
  Night night(3,
              "objective: time\norder: listed\nrepeat: 3\nbudget: 65 s\nconditions: {warm up: 2, references: "
              "false}\n");
  for (const int nth : {1, 2}) night.history_.add(night.warm_up(nth));
  night.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_EQ(night.trials,
            3);  // 20 s + 30 s; the next block would bring 20 s of warm-ups with its first trial
}

// ------------------------------------------------------------------ confirming

Finalists always(std::vector<int> points) {
  return [=](int) { return points; };
}

TEST(Confirming, TheFinalistsAndTheReferenceAreRunAgainInBlocksOfTheirOwn) {
  int asked_before = 0;
  Night night(4, quiet + "repeat: {min: 2, confirm: 4}\n", [&](int before) {
    asked_before = before;
    return std::vector<int>{1, 2};
  });
  EXPECT_EQ(
      night.strategy_->announcement(History()),
      "2 blocks (10 trials), at last 4 blocks of the best point, its rivals and the reference (20 trials "
      "at most; none where the reference is the best)");
  EXPECT_EQ(night.strategy_->remaining(night.history_), 10 + 20);
  night.run([](const PlannedTrial& trial) {
    EXPECT_EQ(trial.confirms, trial.block > 2) << trial.key;
    return 1.0;
  });
  EXPECT_EQ(asked_before, 3);
  EXPECT_EQ(night.strategy_->remaining(night.history_), 0);
  ASSERT_EQ(night.keys.size(), 10U + 4 * 4);
  EXPECT_THAT(std::vector<std::string>(night.keys.begin() + 10, night.keys.begin() + 14),
              ElementsAre("w sysfs.f=4 #3 first", "w sysfs.f=2 #3", "w sysfs.f=3 #3", "w sysfs.f=4 #3 last"));
}

// What an earlier form of the experiment added has references of then.
TEST(Confirming, OthersThanAnEarlierFormDidAreConfirmedInBlocksOfTheirOwn) {
  const std::string text = quiet + "repeat: {min: 2, confirm: 4}\n";
  const auto measure = [](const PlannedTrial&) { return 1.0; };
  // 26 of its 10 + 4 * 4, all; or killed in its third confirming block.
  for (const std::size_t killed_after : {26U, 20U}) {
    Night first(4, text, always({1, 0}));
    first.run(measure, killed_after);
    const int then = killed_after == 26 ? 6 : 5;
    Night second(4, text, always({2}), then + 1);
    second.history_ = first.history_;
    EXPECT_EQ(second.strategy_->next(second.history_)->block, then + 1);
    EXPECT_EQ(second.strategy_->remaining(second.history_), 4 * 3);
    second.run(measure, 4);
    // Killed in the middle of them, and gone on with.
    Night again(4, text, always({2}), then + 1);
    again.history_ = second.history_;
    again.run(measure);
    second.keys.insert(second.keys.end(), again.keys.begin(), again.keys.end());
    EXPECT_EQ(again.strategy_->remaining(again.history_), 0);
    std::vector<std::string> wanted;
    for (int block = then + 1; block <= then + 4; ++block) {
      for (const char* key : {"w sysfs.f=4 #{} first", "w sysfs.f=3 #{}", "w sysfs.f=4 #{} last"})
        wanted.push_back(fmt::format(fmt::runtime(key), block));
    }
    EXPECT_THAT(second.keys, testing::UnorderedElementsAreArray(wanted));
  }
  // One of those that were confirmed is what there is to confirm: it was, beside references of the same night.
  Night first(4, text, always({1, 0}));
  first.run(measure);
  Night second(4, text, always({1}), 7);
  second.history_ = first.history_;
  EXPECT_EQ(second.strategy_->next(second.history_), nullptr);
  EXPECT_EQ(second.strategy_->remaining(second.history_), 0);
}

TEST(Blocks, FurtherOnesOfAnEarlierFormAreNotFilledUp) {
  const std::string text = quiet + "repeat: {min: 2, max: 6}\nbudget: ";
  // The first form's further blocks are of points 1 and 2, which scatter.
  Night first(5, text + "24 trials\n");
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  first.run([&](const PlannedTrial& trial) { return trial.point < 2 ? 10 + normal(random) : 10.0; });
  ASSERT_GT(first.history_.trials().back().block, 2);
  const int last = first.history_.trials().back().block;
  // Of the second form 3 and 4 do: as if 1 and 2 were there no more.
  History told;
  for (FinishedTrial trial : first.history_.trials()) {
    if (trial.objective && trial.block <= 2) trial.objective = trial.point < 2 ? 10.0 : 10 + normal(random);
    told.add(trial);
  }
  Night second(5, text + "40 trials\n", {}, last + 1);
  second.history_ = told;
  second.run([&](const PlannedTrial& trial) {
    EXPECT_GT(trial.block, last) << trial.key;
    return 10 + normal(random);
  });
  EXPECT_GT(second.keys.size(), 3U);
}

TEST(Confirming, WithNothingToConfirmTheNightIsOver) {
  Night night(4, quiet + "repeat: {min: 2, confirm: 4}\n", always({}));
  night.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_EQ(night.trials, 10);
  EXPECT_EQ(night.strategy_->remaining(night.history_), 0);
}

TEST(Confirming, WithoutReferencesInEachBlockTheReferenceIsRunOnce) {
  Night night(3, quiet + "repeat: {min: 1, confirm: 4}\nconditions: {references: false}\n", always({0}));
  night.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_THAT(std::vector<std::string>(night.keys.begin() + 3, night.keys.begin() + 5),
              ElementsAre("w sysfs.f=1 #2", "w sysfs.f=3 #2"));
  EXPECT_EQ(night.trials, 3 + 4 * 2);
}

TEST(Confirming, ABudgetOfTrialsIsKeptForIt) {
  // 12 trials in the first blocks, 20 for the confirmation: 8 are left for further blocks, and no more are
  // run.
  Night night(5, quiet + "repeat: {min: 2, max: 9, confirm: 4}\nbudget: 40 trials\n", always({0, 1, 2}));
  EXPECT_EQ(night.strategy_->announcement(History()),
            "the budget of 40 trials buys the first 2 blocks (12 trials) and 8 more, where the intervals are "
            "widest (at most 9 blocks a point); at last 4 blocks of the best point, its rivals and the "
            "reference (20 trials at most; none where the reference is the best)");
  int confirming = 0;
  night.run([&](const PlannedTrial& trial) {
    confirming += trial.confirms ? 1 : 0;
    return 1.0;
  });
  EXPECT_EQ(night.trials, 40);
  EXPECT_EQ(confirming, 20);
}

TEST(Confirming, ABudgetOfTimeIsKeptForIt) {
  // 10 s a trial: 80 s for the first blocks, 200 s to confirm, 60 s for two further blocks of one point each.
  Night night(3, quiet + "repeat: {min: 2, max: 9, confirm: 4}\nbudget: 340 s\n", always({0, 1}));
  double confirming = 0;
  night.run([&](const PlannedTrial& trial) {
    confirming += trial.confirms ? 1 : 0;
    return 1.0;
  });
  EXPECT_EQ(confirming, 4 * 4);
  EXPECT_LE(night.trials, 34);
  EXPECT_GE(night.trials, 8 + 16 + 3);
}

TEST(Blocks, WhatRepeatDoesNotAskForIsLeftUnspent) {
  Night night(6, "objective: time\nrepeat: 3\nbudget: 100 trials\n");
  EXPECT_EQ(night.strategy_->announcement(night.history_),
            "the budget of 100 trials buys the first 3 blocks (21 trials); `repeat` asks for no more, and 79 "
            "trials stay "
            "unspent: `repeat: {min: 3, max: N}` spends them");
  night.run([](const PlannedTrial&) { return 1.0; });
  EXPECT_EQ(night.trials, 21);
}

TEST(Confirming, WhatABudgetDoesNotBuyIsNotPromised) {
  const auto says = [](const std::string& budget) {
    Night night(4, quiet + "repeat: {min: 2, confirm: 4}\nbudget: " + budget + "\n", always({0, 1}));
    return night.strategy_->announcement(History());
  };
  EXPECT_EQ(says("6 trials"),
            "the budget of 6 trials does not cover the first 2 blocks (10 trials): it stops after 6");
  EXPECT_EQ(says("13 trials"),
            "the budget of 13 trials buys the first 2 blocks (10 trials); at last as many of the 4 blocks of "
            "the best "
            "point, its rivals and the reference as 3 trials are enough for (none where the reference is the "
            "best)");
  EXPECT_EQ(says("10 trials"),
            "the budget of 10 trials buys the first 2 blocks (10 trials); nothing is left to confirm the "
            "best point with");
  // A block takes 5 where all others are its rivals, and fewer where they are not.
  EXPECT_EQ(says("16 trials"),
            "the budget of 16 trials buys the first 2 blocks (10 trials); at last as many of the 4 blocks of "
            "the best "
            "point, its rivals and the reference as 6 trials are enough for (none where the reference is the "
            "best)");
}

TEST(Confirming, WhatIsLeftIsKnownAfterAKill) {
  const std::string yaml = quiet + "repeat: {min: 2, max: 9, confirm: 4}\nbudget: 300 s\n";
  Night whole(4, yaml, always({0, 1}));
  whole.run([](const PlannedTrial& trial) { return 1.0 + trial.point; });
  Night killed(4, yaml, always({0, 1}));
  killed.run([](const PlannedTrial& trial) { return 1.0 + trial.point; }, whole.keys.size() - 3);
  Night again(4, yaml, always({0, 1}));
  again.history_ = killed.history_;
  ASSERT_NE(again.strategy_->next(again.history_), nullptr);
  EXPECT_EQ(again.strategy_->remaining(again.history_), 3);
}

TEST(Confirming, GoesOnWhereItWasCutOff) {
  const auto measure = [](const PlannedTrial& trial) { return 1.0 + trial.point; };
  const std::string yaml = "objective: time\nrepeat: {min: 2, max: 9, confirm: 4}\nbudget: 420 s\n";
  Night whole(5, yaml, always({0, 1}));
  whole.run(measure);
  for (std::size_t cut = 0; cut < whole.keys.size(); ++cut) {
    Night first(5, yaml, always({0, 1}));
    first.run(measure, cut);
    Night second(5, yaml, always({0, 1}));
    second.history_ = first.history_;
    second.run(measure);
    first.keys.insert(first.keys.end(), second.keys.begin(), second.keys.end());
    EXPECT_EQ(first.keys, whole.keys) << "cut after " << cut;
  }
}

}  // namespace
}  // namespace dvfs_plan
