// When a night stops by itself.
#include "orchestrator/run/brake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dvfs_plan {
namespace {

class BrakeTest : public testing::Test {
 protected:
  std::optional<std::string> ends(Verdict verdict, double began_s = 0, TrialRole role = TrialRole::point) {
    TrialRecord trial;
    trial.key = "w n=4 #" + std::to_string(++number_);
    trial.role = role;
    trial.verdict = verdict;
    trial.verdict_text = "why";
    trial.child.started = nanoseconds(Seconds{began_s});
    trial.child.ended = nanoseconds(Seconds{began_s + 0.1});
    trial.child.errors.tail = "\nthe disk is full\n";
    return brake_.stops_behind(trial);
  }
  Brake brake_{3};
  int number_ = 0;
};

TEST_F(BrakeTest, ThreeInARowThatFailAlike) {
  EXPECT_FALSE(ends(Verdict::exited));
  EXPECT_FALSE(ends(Verdict::exited));
  EXPECT_EQ(ends(Verdict::exited),
            "3 trials in a row failed in the same way (exited); the last, w n=4 #3: why; it said: the disk "
            "is full");
  EXPECT_THAT(brake_.keys(), testing::ElementsAre("w n=4 #1", "w n=4 #2", "w n=4 #3"));
}

// What was killed and does not end would run beside the next one.
TEST_F(BrakeTest, AtOnceWhereAProcessIsStuck) {
  TrialRecord trial;
  trial.key = "w n=4 #1";
  trial.role = TrialRole::point;
  trial.verdict = Verdict::timed_out;
  trial.child.stuck = 4711;
  EXPECT_EQ(
      Brake(0).stops_behind(trial),
      "w n=4 #1: process 4711 of it was killed and does not end: it waits within the kernel, for a driver or "
      "a file system");
}

TEST_F(BrakeTest, NotWhereAnotherCauseOrAGoodTrialIsBetween) {
  for (const Verdict verdict :
       {Verdict::exited, Verdict::exited, Verdict::signalled, Verdict::exited, Verdict::exited, Verdict::ok,
        Verdict::exited, Verdict::exited, Verdict::foreign_load, Verdict::exited})
    EXPECT_FALSE(ends(verdict));
}

TEST_F(BrakeTest, WarmUpsAndIdleWindowsNeitherCountNorBreakTheRow) {
  EXPECT_FALSE(ends(Verdict::exited));
  EXPECT_FALSE(ends(Verdict::ok, 0, TrialRole::idle_after));
  EXPECT_FALSE(ends(Verdict::exited, 0, TrialRole::warm_up));
  EXPECT_FALSE(ends(Verdict::exited));
  EXPECT_TRUE(ends(Verdict::exited));
}

TEST_F(BrakeTest, AMeterMayStallForTenSeconds) {
  for (double at = 0; at < 9.85; at += 0.2) EXPECT_FALSE(ends(Verdict::sensor_absent, at)) << at;
  EXPECT_TRUE(ends(Verdict::sensor_absent, 9.95));
  EXPECT_EQ(brake_.keys().size(), 51U);
}

TEST_F(BrakeTest, WhatPassesOrIsAResultEndsNothing) {
  for (const Verdict verdict :
       {Verdict::foreign_load, Verdict::throttled, Verdict::censored, Verdict::stopped}) {
    for (int i = 0; i < 9; ++i) EXPECT_FALSE(ends(verdict));
  }
}

TEST_F(BrakeTest, NeverIsNever) {
  brake_ = Brake(0);
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(ends(Verdict::exited));
}

}  // namespace
}  // namespace dvfs_plan
