// What a board delivered, and what held it down: the trial counts, filed under what was delivered; heat
// spoils it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "results/trial/judge.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

using testing::HasSubstr;

Channel channel(const std::string& quantity, const std::string& unit, ChannelKind kind = ChannelKind::gauge) {
  Channel one;
  one.name = "nvidia:gpu-0/" + quantity;
  one.probe = "nvidia";
  one.unit = unit;
  one.kind = kind;
  one.domain = "gpu-0";
  one.under_load_only = unit == "Hz";
  return one;
}

// Ten seconds of work, read ten times a second from a second before to a second after.
class BoardJudge : public testing::Test {
 protected:
  BoardJudge() {
    trial_.child.end = ChildResult::End::exited;
    trial_.child.started = 1000 * ms;
    trial_.child.ended = 11000 * ms;
    trial_.settings = {{0, "gpu-0", "1980 MHz", "1980 MHz", {}, {}, {}, 0, {}}};
    input_.channels = channels_;
    input_.energy_channels = {0};
    trial_.settings[0].clock =
        ClockRule{.requested = 1980e6,
                  .tolerance = delivered_tolerance({1950e6, 1965e6, 1980e6}, true, 1980e6),
                  .quantity = "core_clock"};
    trial_.power_limits_w = {{"gpu-0", 700}};
  }
  // `at` says clock, load, and the seconds that limits held it down so far.
  struct State {
    double hertz = 1980e6, load = 97, power_s = 0, heat_s = 0;
  };
  void play(const std::function<State(double)>& at) {
    for (int i = 0; i <= 120; ++i) {
      const Nanoseconds time = i * 100 * ms;
      const State now = at(static_cast<double>(i) * 0.1 - 1);
      trial_.readings.push_back({0, time, 100.0 * i, ReadingStatus::ok});
      trial_.readings.push_back({1, time, 3201e6, ReadingStatus::ok});
      trial_.readings.push_back({2, time, now.hertz, ReadingStatus::ok});
      trial_.readings.push_back({3, time, now.load, ReadingStatus::ok});
      trial_.readings.push_back({4, time, now.power_s, ReadingStatus::ok});
      trial_.readings.push_back({5, time, now.heat_s, ReadingStatus::ok});
    }
    judge(trial_, input_);
  }
  std::string event(const std::string& kind) const {
    for (const EventRecord& one : trial_.events) {
      if (one.kind == kind) return one.message;
    }
    return {};
  }

  std::vector<Channel> channels_{channel("energy", "J", ChannelKind::counter),
                                 channel("memory_clock", "Hz"),
                                 channel("core_clock", "Hz"),
                                 channel("utilisation", "%"),
                                 channel("throttle_power_cap", "s", ChannelKind::counter),
                                 channel("throttle_thermal", "s", ChannelKind::counter)};
  TrialRecord trial_;
  JudgeInput input_;
};

TEST_F(BoardJudge, OfSeveralBoardsOneThatComputesNothingIsNamed) {
  for (Channel one : {channel("energy", "J", ChannelKind::counter), channel("utilisation", "%")}) {
    one.name.replace(7, 5, "gpu-1");
    one.domain = "gpu-1";
    channels_.push_back(one);
  }
  input_.channels = channels_;
  input_.energy_channels = {0, 6};
  for (int i = 0; i <= 120; ++i) {
    trial_.readings.push_back({6, i * 100 * ms, 7.0 * i, ReadingStatus::ok});
    trial_.readings.push_back(
        {7, i * 100 * ms, i < 5 ? 80.0 : 0.0, ReadingStatus::ok});  // busy before what counts
  }
  play([](double) { return State{}; });
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_EQ(event("board_idle"),
            "gpu-1 computed nothing in what counts; what it drew is in the energy all the same");
  EXPECT_NEAR(*trial_.energy_j, 10700, 1);
}

TEST_F(BoardJudge, AClockWithinOneStepWasDelivered) {
  play([](double t) { return State{t < 5 ? 1980e6 : 1965e6, 97, 0, 0}; });
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_EQ(trial_.settings[0].as_requested, true);
  EXPECT_NEAR(*trial_.settings[0].delivered, 1972.5e6, 1e6);  // the core's, not the memory's
  EXPECT_EQ(event("not_delivered"), "");
  EXPECT_EQ(*trial_.conditions.power_cap_share, 0);
  EXPECT_EQ(*trial_.conditions.power_limit_w, 700);
}

TEST_F(BoardJudge, WhatThePowerLimitLeavesOfARequestCountsAsWhatItIs) {
  play([](double t) {
    const bool capped = t >= 0.8;
    return State{capped ? 1395e6 : 1980e6, 97, std::max(0.0, t - 0.8), 0};
  });
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_EQ(trial_.settings[0].as_requested, false);
  EXPECT_EQ(event("not_delivered"),
            "1980 MHz requested on gpu-0, 1441 MHz delivered (mean of 101 readings under load, 93 of them "
            "off), 92 % of the "
            "region at the 700 W limit");
  EXPECT_EQ(event("limited"), "");  // said once
  EXPECT_NEAR(*trial_.conditions.power_cap_share, 0.92, 1e-6);
  EXPECT_TRUE(trial_.energy_j);
}

TEST_F(BoardJudge, FivePercentOfTheReadingsMayBeOff) {
  play([](double t) { return State{t >= 2 && t < 2.45 ? 1395e6 : 1980e6, 97, 0, 0}; });
  EXPECT_EQ(trial_.settings[0].as_requested, true);
}

TEST_F(BoardJudge, AnIdleBoardsClockSaysNothingOfTheRequest) {
  // A data loader holds it up for half of the time: idle, it rests at 345 MHz.
  play([](double t) { return State{t < 5 ? 345e6 : 1980e6, t < 5 ? 0.0 : 97.0, 0, 0}; });
  EXPECT_EQ(trial_.settings[0].as_requested, true);
  EXPECT_EQ(trial_.settings[0].delivered_readings, 51);  // from 5 s to 10 s, both ends read
  EXPECT_EQ(*trial_.settings[0].delivered, 1980e6);
}

TEST_F(BoardJudge, ABoardThatWasIdleThroughoutDeliveredNobodyKnowsWhat) {
  play([](double) { return State{345e6, 0, 0, 0}; });
  EXPECT_FALSE(trial_.settings[0].as_requested);
  EXPECT_FALSE(trial_.settings[0].delivered);
  EXPECT_EQ(event("delivered_unknown"),
            "nothing tells at which clock gpu-0 really ran; 1980 MHz was requested");
}

TEST_F(BoardJudge, HeatSpoilsTheTrial) {
  play([](double t) { return State{t > 5 ? 1200e6 : 1980e6, 97, 0, std::max(0.0, t - 5)}; });
  EXPECT_EQ(trial_.verdict, Verdict::throttled);
  EXPECT_EQ(trial_.verdict_text, "gpu-0: 50 % of the region slowed by heat");
  EXPECT_NEAR(*trial_.conditions.thermal_share, 0.5, 1e-6);
  EXPECT_TRUE(may_pass(trial_.verdict));
}

TEST_F(BoardJudge, WithNoClockAskedForALimitIsToldAllTheSame) {
  trial_.settings.clear();
  play([](double t) { return State{1395e6, 97, std::max(0.0, t), 0}; });
  EXPECT_EQ(trial_.verdict, Verdict::ok);
  EXPECT_EQ(event("limited"), "gpu-0: 100 % of the region at the 700 W limit");
}

TEST_F(BoardJudge, ACounterThatWentBackIsNotKnown) {
  play([](double t) { return State{1980e6, 97, t < 5 ? 50.0 : 1.0, 0}; });
  EXPECT_FALSE(trial_.conditions.power_cap_share);
  EXPECT_EQ(trial_.verdict, Verdict::ok);
}

// A package under cpu.power_limit, whose counter is renewed between looks now and then.
TEST_F(BoardJudge, APackageThatDrawsItsLimitIsAtIt) {
  trial_.settings.clear();
  trial_.power_limits_w = {{"package-0", 100}};
  Channel package = channel("energy", "J", ChannelKind::counter);
  package.name = "rapl:package-0";
  package.domain = "package-0";
  channels_.push_back(package);
  input_.channels = channels_;
  double joules = 5;
  for (int i = 0; i <= 120; ++i) {
    // Busy and held down from 1 s to 6 s, then 60 W; above its limit before the trial begins.
    const double power = i <= 10 ? 140 : i <= 60 ? 98.5 : 60;
    if (i % 3 != 1) trial_.readings.push_back({6, i * 100 * ms, joules, ReadingStatus::ok});
    joules += 0.1 * power;
  }
  play([](double) { return State{}; });
  EXPECT_NEAR(*trial_.conditions.power_cap_share, 0.5, 0.02);
  EXPECT_EQ(*trial_.conditions.power_limit_w, 100);
  EXPECT_EQ(event("limited"), "package-0: 50 % of the region at the 100 W limit");
  EXPECT_EQ(trial_.verdict, Verdict::ok);
}

TEST_F(BoardJudge, APackageWithoutACounterSaysNothingOfItsLimit) {
  trial_.power_limits_w = {{"package-0", 100}, {"gpu-0", 700}};
  play([](double) { return State{}; });
  EXPECT_EQ(event("limited"), "");
  EXPECT_EQ(*trial_.conditions.power_cap_share, 0);  // the board's
  EXPECT_EQ(*trial_.conditions.power_limit_w, 700);
}

}  // namespace
}  // namespace dvfs_plan
