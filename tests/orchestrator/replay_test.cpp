// Recorded landscapes: what is read, what is refused and how, what a play reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "orchestrator/replay/play.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

class Replay : public testing::Test {
 protected:
  std::string table(const std::string& text) {
    folder_.file("t.csv", text);
    return folder_ / "t.csv";
  }
  std::string refusal(const std::string& text) {
    std::vector<std::string> notes;
    try {
      read_landscapes(table(text), notes);
      return "read";
    } catch (const Error& error) {
      return std::string(error.what()) + "\n" + error.hint();
    }
  }
  TemporaryFolder folder_;
};

const std::string head = "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts\n";

TEST_F(Replay, ATableIsAWorkloadAGroupAndASettingAPoint) {
  std::vector<std::string> notes;
  const auto landscapes =
      read_landscapes(table(head + "b,\"conv, 3x3\",1000,800,,1,2,100,50\nb,\"conv, "
                                   "3x3\",1500,800,,1,1,90,90\nb,\"conv, 3x3\",1500,800,,2,1,94,94\n"
                                   "b,fft,1000,800,,1,1,10,10\nb,fft,1000,400,,1,,10,10\n"),
                      notes);
  ASSERT_EQ(landscapes.size(), 2U);
  EXPECT_EQ(landscapes[0].workload, "conv, 3x3");
  ASSERT_EQ(landscapes[0].plan.axes.size(), 1U);  // the memory clock does not vary
  EXPECT_EQ(landscapes[0].plan.points.size(), 2U);
  EXPECT_EQ(landscapes[0].plan.points[1].key, "core=1.5 GHz");
  EXPECT_TRUE(landscapes[0].plan.points[1].reference);
  EXPECT_DOUBLE_EQ(landscapes[0].joules(1), 92);
  EXPECT_EQ(landscapes[0].best(), 1);
  EXPECT_THAT(notes, ElementsAre((folder_ / "t.csv") + ":6: left out: no time or no energy"));
}

TEST_F(Replay, WhatCannotBeReadIsSaidWithItsLine) {
  const std::string path = folder_ / "t.csv";
  EXPECT_EQ(refusal("device,workload,seconds\nb,w,1\n"),
            path +
                ":1: the table has no column 'joules'\n"
                "the first line must hold "
                "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts");
  EXPECT_EQ(refusal(head + "b,w,fast,,,1,1,1,1\n"),
            path +
                ":2: the table holds 'fast' in column 'core_mhz', which is no number\nleave a field empty "
                "where nothing is known");
  EXPECT_EQ(refusal(head),
            path + ":1: the table has no row with seconds and joules\nnothing can be played on it");
  EXPECT_EQ(refusal(""), path + ":1: the table is empty\nits first line names the columns");
  std::vector<std::string> notes;
  EXPECT_THROW(read_landscapes(folder_ / "none.csv", notes), Error);
}

TEST_F(Replay, RowsWithHalfOfTheSettingsAreLeftOut) {
  std::vector<std::string> notes;
  const std::string text =
      "device,workload,core_mhz,mem_mhz,seconds,joules\nd,w,1000,,1,1\nd,w,2000,,1,1\nd,w,,500,1,1\nd,w,,800,"
      "1,1\n";
  EXPECT_EQ(
      refusal(text),
      (folder_ / "t.csv") + ":1: the table has no row with seconds and joules\nnothing can be played on it");
  EXPECT_EQ(
      refusal(head + "b,w,-5,,,1,1,1,1\n"),
      (folder_ / "t.csv") + ":2: the table holds -5 in column 'core_mhz'\na clock or power limit is above 0");
  EXPECT_EQ(refusal(head + "b,w,5,,,1,1e-300,1e300,1\n"),
            (folder_ / "t.csv") +
                ":2: the table holds 1e-300 in column 'seconds'\nsuch a value is no measurement; mend or "
                "delete the row");
}

std::string valley() {
  std::string text = head;
  for (int mhz = 500; mhz <= 1900; mhz += 100) {
    const double f = mhz / 1900.0, v = 1 + std::max(0.0, f - 0.6);
    const double seconds = 0.3 + 0.7 / f, watts = 60 + 140 * f * v * v;
    text += "b,w," + std::to_string(mhz) + ",,,1," + std::to_string(seconds) + "," +
            std::to_string(seconds * watts) + ",\n";
  }
  return text;
}

TEST_F(Replay, WithoutNoiseEverySearchThatSeesAllNamesTheBest) {
  std::vector<std::string> notes;
  const auto landscapes = read_landscapes(table(valley()), notes);
  PlayOptions options;
  for (const char* search : {"adaptive", "full"}) {
    options.search = search;
    options.trials = 15;
    const Play one = play(landscapes.front(), options, 1);
    EXPECT_EQ(one.chosen, landscapes.front().best()) << search;
    EXPECT_EQ(one.trials, 15) << search;
    EXPECT_EQ(one.bound.has_value(), options.search == "adaptive");
  }
}

TEST_F(Replay, ASeedIsAPlay) {
  std::vector<std::string> notes;
  const auto landscapes = read_landscapes(table(valley()), notes);
  PlayOptions options;
  options.noise_power = 0.05;
  for (const std::string& search : play_searches()) {
    options.search = search;
    const Play a = play(landscapes.front(), options, 3), b = play(landscapes.front(), options, 3);
    EXPECT_EQ(a.chosen, b.chosen) << search;
    EXPECT_EQ(a.trials, b.trials) << search;
    EXPECT_EQ(a.bound, b.bound) << search;
    EXPECT_LE(a.trials, search == "full" ? 15 : 12) << search;
  }
}

TEST_F(Replay, TrueRepeatsAreDrawnFromAndNotMadeUp) {
  std::vector<std::string> notes;
  const auto landscapes =
      read_landscapes(table(head + "b,w,500,,,1,1,10,\nb,w,500,,,2,1,12,\nb,w,600,,,1,1,20,\n"), notes);
  PlayOptions options;
  options.noise_power = 0.1;
  LandscapeTrials trials(landscapes.front(), options, 1);
  std::set<double> drawn;
  for (int i = 0; i < 50; ++i) drawn.insert(trials.run(0).joules);
  EXPECT_THAT(drawn, ElementsAre(10, 12));
  EXPECT_NE(trials.run(1).joules, 20);
}

TEST_F(Replay, OneSettingIsNoAxisAndStillPlays) {
  std::vector<std::string> notes;
  const auto landscapes = read_landscapes(table(head + "b,w,500,,,1,1,10,\n"), notes);
  for (const std::string& search : play_searches()) {
    PlayOptions options;
    options.search = search;
    options.trials = 3;
    EXPECT_EQ(play(landscapes.front(), options, 1).chosen, 0) << search;
  }
}

}  // namespace
}  // namespace dvfs_plan
