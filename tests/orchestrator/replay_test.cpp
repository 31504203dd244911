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
  // Blank lines make no row, and a field in quotes may be of several.
  EXPECT_THAT(refusal(head + "\r\n\n\"b\nb\",w,1000,,,1,1,1,1\nb,w,fast,,,1,1,1,1"),
              testing::StartsWith(path + ":6: the table holds 'fast'"));
  EXPECT_EQ(refusal(head),
            path + ":1: the table has no row with seconds and joules\nnothing can be played on it");
  EXPECT_EQ(refusal(""), path + ":1: the table is empty\nits first line names the columns");
  std::vector<std::string> notes;
  EXPECT_THROW(read_landscapes(folder_ / "none.csv", notes), Error);
}

TEST_F(Replay, WhatWouldBeMisreadIsRefused) {
  const std::string at = folder_ / "t.csv";
  // A misspelt axis would be none, and its settings repeats of one.
  EXPECT_EQ(refusal("device,workload,core_mzh,seconds,joules\nb,w,1000,1,1\n"),
            at + ":1: the table has a column 'core_mzh', which is not one of its kind (did you mean "
                 "'core_mhz'?)\nrename or delete it; the columns are "
                 "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts");
  EXPECT_EQ(refusal("device,workload,seconds,seconds,joules\nb,w,1,1,1\n"),
            at + ":1: the table has the column 'seconds' twice\ndelete one of them");
  EXPECT_EQ(refusal("device;workload;seconds;joules\nb;w;1,5;1\n"),
            at +
                ":1: the table has semicolons between its columns\nwrite commas between fields and points in "
                "decimals");
  EXPECT_EQ(
      refusal("device,workload,core_mhz,seconds,joules\nb,w,1000,1,5,2\n"),
      at + ":2: the table has 6 fields where the first line names 5\nwrite points in decimals, and quote a "
           "name that holds a comma");
  EXPECT_EQ(
      refusal("device,workload,core_mhz,seconds,joules\nb,w,1000,\"1,5\",2\n"),
      at + ":2: the table holds '1,5' in column 'seconds', which is no number\nleave a field empty where "
           "nothing is known");
  EXPECT_EQ(
      refusal(head + "b,w,1000,,,1,2,100,50\nb,w,1200,,,1,2,100000,50\n"),
      at + ":3: the table says 50 W on average, but 100000 J in 2 s are 50000 W\nwrite seconds, joules and "
           "watts");
  EXPECT_EQ(
      refusal(head + "b,w,1000,,,1,2,100,\nb,w,1200,,,1,2,100000,\n"),
      at + ":1: the table has power from 50 to 50000 W for 'w': the units of its rows differ\nwrite seconds "
           "and joules in every row");
  EXPECT_EQ(
      refusal(head + "b,w,1.2,,,1,2,100,\nb,w,1400,,,1,2,100,\n"),
      at + ":1: the table has 1.2 to 1400 in column 'core_mhz' for 'w': the units of its rows differ\nwrite "
           "MHz for clocks and W for limits in every row");
  EXPECT_EQ(
      refusal(head + "b,w,1000,,,1,2,100,\nb,w,1000,,,1,2,101,\n"),
      at + ":3: the table says again what line 2 says of this setting and repeat 1\nnumber the repeats in "
           "the column 'repeat', or delete the row");
  EXPECT_EQ(refusal("device,workload,core_mhz,seconds,joules\nb,w,1,1,1\nb,w,1,1,1\n"),
            at +
                ":3: the table says again what line 2 says of this setting\nnumber the repeats in the column "
                "'repeat', or delete the row");
  EXPECT_EQ(refusal("\xFF\xFE" + head), at + ":1: the table is UTF-16\nsave it as CSV in UTF-8");
  // A byte order mark in front of UTF-8 and empty lines say nothing wrong.
  EXPECT_EQ(refusal("\xEF\xBB\xBF" + head + "b,w,1000,,,1,2,100,50\n\n,,,,,,,,\n"), "read");
}

TEST_F(Replay, AnObjectiveIsWrittenAsInAnExperiment) {
  const auto why = [](const char* text) {
    try {
      objective_of_tables(text);
      return std::string("read");
    } catch (const Error& error) {
      return std::string(error.what()) + "\n" + error.hint();
    }
  };
  EXPECT_EQ(objective_of_tables("edp").minimise, Objective::edp);
  const auto spec =
      objective_of_tables("{minimise: energy, subject to: {slowdown: 5 %, power: \"< 300 W\"}}");
  ASSERT_EQ(spec.constraints.size(), 2U);
  EXPECT_EQ(constraint_text(spec.constraints[1]), "power < 300 W");
  const std::string hint =
      "\nwrite it as in an experiment: edp, or '{minimise: energy, subject to: {slowdown: 5 %}}'";
  EXPECT_EQ(
      why("enrgy"),
      "--objective: unknown objective 'enrgy' (did you mean 'energy'?); known: energy, time, edp, ed2p, "
      "cost" +
          hint);
  EXPECT_EQ(
      why("{minimise: energy, per: samples}"),
      "--objective: a table tells neither units of work nor domains: leave out 'per', 'across' and 'of'" +
          hint);
  EXPECT_EQ(
      why("{minimise: energy, subject to: {accuracy: \">= 0.7\"}}"),
      "--objective: a table has no metric 'accuracy': slowdown, power, time and energy can be constrained" +
          hint);
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
      (folder_ / "t.csv") + ":2: the table holds -5 in column 'core_mhz'\na clock or power limit is above 0, and at most 1e9");
  EXPECT_EQ(refusal(head + "b,w,5,,,1,1,-3,1\n"), (folder_ / "t.csv") +
                                                      ":2: the table holds -3 in column 'joules'\nsuch a "
                                                      "value is no measurement; mend or delete the row");
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

TEST_F(Replay, RegretIsOfTheObjectiveAmongWhatHoldsTheConstraints) {
  std::vector<std::string> notes;
  auto landscapes = read_landscapes(table(valley()), notes);
  Landscape& board = landscapes.front();
  const int least = board.best();
  board.plan.experiment.objective = objective_of_tables("{minimise: energy, subject to: {slowdown: 5 %}}");
  const int within = board.constrained_best();
  ASSERT_NE(within, least);  // the least energy is too slow
  EXPECT_FALSE(board.holds_constraints(least));
  EXPECT_LE(board.seconds(within) / board.seconds(14), 1.05);
  PlayOptions options;
  options.trials = 15;
  const Play held = play(board, options, 1);
  EXPECT_EQ(held.chosen, within);
  EXPECT_FALSE(held.violates);
  EXPECT_GT(held.feasible.value_or(0), 0.5);
  EXPECT_EQ(held.regret, 0);
  board.plan.experiment.objective = objective_of_tables("edp");
  EXPECT_EQ(play(board, options, 1).chosen, board.best());
  EXPECT_GT(board.best(), least);
}

TEST_F(Replay, BlocksGoOnUntilTheirBoundIsLowEnough) {
  std::vector<std::string> notes;
  const auto landscapes = read_landscapes(table(valley()), notes);
  PlayOptions options;
  options.search = "full";
  options.noise_power = 0.01;
  options.trials = 20000;
  options.stop_regret = 0.01;
  const Play blocks = play(landscapes.front(), options, 1);
  EXPECT_EQ(blocks.trials % 15, 0);
  EXPECT_GT(blocks.trials, 30);
  EXPECT_LT(blocks.trials, 20000);
  ASSERT_TRUE(blocks.bound);
  EXPECT_LE(*blocks.bound, 0.01);
  EXPECT_LE(blocks.regret, *blocks.bound);
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
  // Each once before any comes again.
  for (int i = 0; i < 10; ++i) EXPECT_NE(trials.run(0).joules, trials.run(0).joules);
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
