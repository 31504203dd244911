// The line protocol on which workloads mark regions, byte by byte and from real children.
#include "base/region_marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

std::string words(const RegionMarks& marks) {
  std::string text;
  for (const RegionMark& mark : marks.marks) {
    text += mark.kind == RegionMark::Kind::begin ? "begin "
            : mark.kind == RegionMark::Kind::end ? "end "
                                                 : "metric ";
    text += mark.name + "@" + std::to_string(mark.time) + (mark.sent ? " sent; " : "; ");
  }
  return text;
}

TEST(RegionMarks, LinesMayArriveInPieces) {
  RegionMarks marks(100);
  marks.feed("beg", 200);
  marks.feed("in train\nend tra", 210);
  marks.feed("in 205\n\nmetric samples 64 1\nend last", 220);
  marks.finish(230);
  EXPECT_EQ(words(marks), "begin train@210; end train@205 sent; metric samples@220; end last@230; ");
  EXPECT_EQ(marks.marks[2].value, 64);
  EXPECT_EQ(marks.marks[2].unit, "1");
  EXPECT_EQ(marks.bad, 0U);
}

TEST(RegionMarks, TimesThatCannotBeAreNotBelieved) {
  RegionMarks marks(100);
  marks.feed("begin a 50\nend a 999\nbegin b 150\n", 200);
  EXPECT_EQ(words(marks), "begin a@200; end a@200; begin b@150 sent; ");
  EXPECT_EQ(marks.not_believed, 2U);
}

TEST(RegionMarks, MetricsBringTheirTimeToo) {
  RegionMarks marks(100);
  marks.feed(
      "metric loss 0.5 - 7 150\nmetric loss 0.4 - 7 999\nmetric loss 0.3 - 7 180\nmetric loss 0.2 - 8 190\n"
      "metric loss 0.1 - 8 190 x\n",
      200);
  EXPECT_EQ(words(marks), "metric loss@150 sent; metric loss@200; metric loss@200; metric loss@190 sent; ");
  EXPECT_EQ(marks.not_believed, 2U);
  EXPECT_EQ(marks.bad, 1U);
}

TEST(RegionMarks, AClockThatWasWrongOnceIsNotBelievedAgain) {
  RegionMarks marks(1000);
  marks.feed("begin work 5300 7\nbegin work 5000 8\n", 5000);  // one from the future, by 300
  marks.feed("end work 5100 7\nend work 5350 8\n", 5400);      // 300 too early: it would have been 100 long
  ASSERT_EQ(marks.marks.size(), 4U);
  EXPECT_EQ(marks.marks[0].time, 5000);
  EXPECT_EQ(marks.marks[2].time, 5400);
  EXPECT_EQ(marks.marks[3].time, 5350) << "another process's clock is its own";
  EXPECT_EQ(marks.not_believed, 2U) << "the one that could be is not believed either";
}

TEST(RegionMarks, AClockThatIsAnotherOneIsNotBelieved) {
  RegionMarks marks(1000);
  std::vector<std::string> asked;
  marks.believe_only([&](const std::string& process) {
    asked.push_back(process);
    return process != "7";
  });
  marks.feed("begin work 4000 7\nbegin work 4500 8\nbegin own\n", 5000);
  marks.feed("end work 5100 7\nend work 5350 8\n", 5400);
  EXPECT_EQ(words(marks),
            "begin work@5000; begin work@4500 sent; begin own@5000; end work@5400; end work@5350 sent; ");
  EXPECT_EQ(marks.not_believed, 2U);
  EXPECT_EQ(asked, (std::vector<std::string>{"7", "8"}));
}

TEST(RegionMarks, BadLinesAreKeptAndLoseNothingElse) {
  RegionMarks marks;
  marks.feed(
      "start x\nbegin\nbegin a - p extra\nmetric m\nmetric m x\nmetric m 1 J p extra\nlost x\nbegin ok\n",
      10);
  EXPECT_EQ(marks.bad, 7U);
  EXPECT_EQ(marks.lost, 2U);  // "begin" and "begin a - p extra" began something
  EXPECT_THAT(marks.bad_metrics, ElementsAre("m"));
  EXPECT_THAT(marks.bad_lines,
              ElementsAre("start x", "begin", "begin a - p extra", "metric m", "metric m x"));
  EXPECT_EQ(marks.marks.back().name, "ok");
  RegionMarks long_line;
  long_line.feed(std::string(100'000, 'x'), 1);
  long_line.feed("\nbegin ok\n", 2);
  EXPECT_EQ(long_line.bad, 1U);
  EXPECT_EQ(words(long_line), "begin ok@2; ");
}

TEST(RegionMarks, SayWhichProcessMadeThem) {
  RegionMarks marks;
  marks.feed("begin a - 17\nend a 5 17/3\nmetric m 1 - 17\nmetric m 2 J 18\n", 10);
  ASSERT_EQ(marks.marks.size(), 4U);
  EXPECT_EQ(marks.marks[0].process, "17");
  EXPECT_FALSE(marks.marks[0].sent);
  EXPECT_EQ(marks.marks[1].process, "17/3");
  EXPECT_EQ(marks.marks[2].unit, "");
  EXPECT_EQ(marks.marks[3].unit, "J");
  EXPECT_EQ(marks.marks[3].process, "18");
}

TEST(RegionMarks, LostOnesAreCounted) {
  RegionMarks marks;
  marks.feed("lost 3 17\nlost 2\n", 10);
  EXPECT_EQ(marks.lost, 5U);
  EXPECT_EQ(marks.bad, 0U);
}

TEST(RegionMarks, NamesThatAreBegunAndNeverEndedAreBounded) {
  RegionMarks marks(0);
  for (int i = 0; i < 150'000; ++i) marks.feed("begin s 1 " + std::to_string(i) + "\n", 1000);
  EXPECT_EQ(marks.lost, 50'000U);
}

// Beyond what is kept: epochs are whole, their steps are only counted, and metrics become sums.
TEST(RegionMarks, MillionsOfStepsInsideEpochsLoseNoEpoch) {
  RegionMarks marks(0);
  constexpr int epochs = 100, steps = 12'000;
  std::string text;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    text = "begin epoch 1 9\n";
    for (int step = 0; step < steps; ++step) text += "begin step 1 9\nend step 1 9\n";
    text += "end epoch 1 9\nmetric samples 64 - 9\nmetric loss " + std::to_string(epoch) + " - 9\n";
    marks.feed(text, 1000 + epoch);
  }
  const auto count = [&](RegionMark::Kind kind, const char* name) {
    return std::count_if(marks.marks.begin(), marks.marks.end(),
                         [&](const RegionMark& m) { return m.kind == kind && m.name == name; });
  };
  EXPECT_EQ(count(RegionMark::Kind::begin, "epoch"), epochs);
  EXPECT_EQ(count(RegionMark::Kind::end, "epoch"), epochs);
  EXPECT_EQ(count(RegionMark::Kind::begin, "step"), count(RegionMark::Kind::end, "step"));
  EXPECT_GT(marks.others_dropped, 1'000'000U);
  EXPECT_EQ(marks.lost, 0U);
  double samples = 0;
  for (const RegionMark& mark : marks.marks) samples += mark.name == "samples" ? mark.value : 0;
  const auto& more = marks.more_metrics.at({"samples", ""});
  EXPECT_EQ(samples + more.sum, 64.0 * epochs);
  EXPECT_EQ(marks.more_metrics.at({"loss", ""}).last, epochs - 1);
}

TEST(RegionMarks, WhatCannotBeKeptIsLostAndSaidSo) {
  RegionMarks marks(0);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "begin step 1 9\nend step 1 9\n";
  for (int i = 0; i < 12; ++i) marks.feed(text, 1000);
  EXPECT_GT(marks.lost, 0U);  // outermost steps, 1.2 million of them
  RegionMarks wanted(0, "step");
  wanted.feed("begin train 1 9\n", 1000);
  for (int i = 0; i < 6; ++i) wanted.feed(text, 1000);
  wanted.feed("end train 1 9\n", 1000);
  EXPECT_EQ(wanted.lost, 0U);
  // Of another process's region that nobody asked for, as many as may be.
  RegionMarks others(0, "train");
  others.feed("begin train 1 7\n", 1000);
  for (int i = 0; i < 12; ++i) others.feed(text, 1000);
  others.feed("end train 1 7\n", 1000);
  EXPECT_EQ(others.lost, 0U);
  EXPECT_GT(others.others_dropped, 0U);
  EXPECT_EQ(wanted.others_dropped, 0U);
  EXPECT_EQ(wanted.marks.size(), 1'200'002U);
}

class RegionChild : public testing::Test {
 protected:
  ChildResult run(const std::string& script) {
    LaunchSpec spec{"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}, {}, {}};
    spec.regions = true;
    auto launched = launcher_.launch(spec, clock_);
    EXPECT_TRUE(launched.child) << launched.problem;
    return launched.child->wait({}, nullptr, clock_);
  }
  SystemClock clock_;
  Launcher launcher_;
};

TEST_F(RegionChild, AShellMarksRegions) {
  const auto result =
      run("echo begin train >>$DVFS_PLAN_REGIONS; sleep 0.05; echo end train >>$DVFS_PLAN_REGIONS; . "
          "'" DVFS_PLAN_SOURCE "/experiments/regions/dvfs_plan_regions.sh'; dvfs_plan_metric loss 0.5");
  ASSERT_EQ(result.regions.marks.size(), 3U) << result.errors.tail;
  EXPECT_LT(result.regions.marks[0].time, result.regions.marks[1].time);
  EXPECT_GE(result.regions.marks[0].time, result.started);
  EXPECT_LE(result.regions.marks[1].time, result.ended);
}

TEST_F(RegionChild, ThePythonModuleMarksRegions) {
  const auto result = run("cd '" + std::string(DVFS_PLAN_SOURCE) +
                          "/experiments/regions' && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '\n"
                          "from dvfs_plan_regions import region, steps, metric\n"
                          "with region(\"train\"):\n"
                          "    for i in steps(\"step\", range(1000)): pass\n"
                          "metric(\"samples\", 1000)\n'");
  EXPECT_EQ(result.regions.marks.size(), 2003U) << result.errors.tail;
  EXPECT_EQ(result.regions.bad, 0U);
  EXPECT_TRUE(result.regions.all_sent());
  EXPECT_EQ(result.regions.not_believed, 0U);
  EXPECT_TRUE(result.regions.marks.back().sent) << "the metric";
}

TEST_F(RegionChild, WithoutTheVariableHelpersDoNothing) {
  LaunchSpec spec{"/bin/sh",
                  {"sh", "-c",
                   "cd '" + std::string(DVFS_PLAN_SOURCE) +
                       "/experiments/regions' && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import "
                       "dvfs_plan_regions as r\n"
                       "with r.region(\"a\"): r.metric(\"m\", 1)' && '" DVFS_PLAN_MARKS "' 10"},
                  {"PATH=/usr/bin:/bin"},
                  {},
                  {},
                  {}};
  auto launched = launcher_.launch(spec, clock_);
  const auto result = launched.child->wait({}, nullptr, clock_);
  EXPECT_EQ(result.exit_code, 0) << result.errors.tail;
  EXPECT_TRUE(result.regions.marks.empty());
}

TEST_F(RegionChild, AClockOfATimeNamespaceIsAnotherOne) {
  if (run("unshare --time --fork --monotonic 1 true").exit_code != 0)
    GTEST_SKIP() << "no time namespace may be made here: unshare --time";
  for (const char* behind : {"-1", "0"}) {
    const auto result = run("sleep 1.2; exec unshare --time --fork --monotonic " + std::string(behind) +
                            " /usr/bin/python3 -c '\nimport sys; sys.dont_write_bytecode = True\n"
                            "sys.path.insert(0, \"" DVFS_PLAN_SOURCE
                            "/experiments/regions\")\nimport time, dvfs_plan_regions as r\n"
                            "with r.region(\"a\"): time.sleep(0.5)\n'");
    ASSERT_EQ(result.regions.marks.size(), 2U) << result.errors.tail;
    EXPECT_EQ(result.regions.not_believed, 2U);
    EXPECT_GT(result.regions.marks[0].time, result.started + 1'200'000'000);
  }
}

TEST_F(RegionChild, TheHeaderMarksHundredThousandStepsWithoutLosingOne) {
  const auto result = run("'" DVFS_PLAN_MARKS "' 100000");
  ASSERT_EQ(result.regions.marks.size(), 200'003U) << result.errors.tail;
  EXPECT_TRUE(result.regions.marks.back().sent) << "the metric";
  EXPECT_EQ(result.regions.bad, 0U);
  EXPECT_EQ(result.regions.not_believed, 0U);
}

TEST_F(RegionChild, AHundredMegabytesDoNoHarm) {
  const auto flood =
      run("head -c 100000000 /dev/zero >>$DVFS_PLAN_REGIONS; echo begin late >>$DVFS_PLAN_REGIONS");
  EXPECT_EQ(flood.exit_code, 0);
  EXPECT_GE(flood.regions.bad, 1U);
}

// subprocess.Popen closes every descriptor but the standard ones and keeps the environment, as torchrun does
// for its ranks. What opens the number that a descriptor had must not be written to.
TEST_F(RegionChild, LaunchersThatCloseDescriptorsLoseNoMarkAndNoFileIsHit) {
  TemporaryFolder folder;
  const std::string script = R"(
import os, subprocess, sys
import dvfs_plan_regions as r
if len(sys.argv) > 1:  # two launchers deep
    code = subprocess.Popen([sys.executable, __file__] + sys.argv[2:]).wait()
    sys.exit(code)
files = [open(f'checkpoint{i}', 'wb') for i in range(200)]  # takes every low number there may be
r.begin('train')
os.close(r._fd)  # a daemon that closes all it knows of
late = open('late', 'wb')
os.dup2(late.fileno(), r._fd)
r.end('train')
r.metric('samples', 64)
for file in files: file.close()
)";
  std::ofstream(folder / "work.py") << script;
  const auto result = run("cd '" + folder.path() +
                          "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" DVFS_PLAN_SOURCE
                          "/experiments/regions' /usr/bin/python3 work.py again again");
  EXPECT_EQ(result.exit_code, 0) << result.errors.tail;
  ASSERT_EQ(result.regions.marks.size(), 3U) << result.errors.tail;
  EXPECT_EQ(result.regions.lost, 0U);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".py") continue;
    EXPECT_EQ(entry.file_size(), 0U) << entry.path();
  }
}

TEST_F(RegionChild, AHeaderWhoseDescriptorWasTakenByAFileWritesNothingIntoIt) {
  TemporaryFolder folder;
  const auto result = run("cd '" + folder.path() + "' && '" DVFS_PLAN_MARKS "' 10 0 steal");
  EXPECT_EQ(result.exit_code, 0) << result.errors.tail;
  EXPECT_EQ(result.regions.marks.size(), 23U) << result.errors.tail;
  EXPECT_EQ(std::filesystem::file_size(folder / "stolen"), 0U);
}

TEST_F(RegionChild, WhoCannotReachTheFifoSaysSoOnceAndIsHeardWhateverElseIsPrinted) {
  const std::string told = "cannot open the FIFO /nowhere/fifo: No such file or directory";
  const std::string lost = "DVFS_PLAN_REGIONS=/nowhere/fifo '" DVFS_PLAN_MARKS "' 10";
  const auto result = run(lost);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors.tail, "dvfs-plan: region marks are lost: " + told + "\n");
  EXPECT_EQ(result.errors.lost_marks, told);
  const auto flooded = run(lost + "; head -c 3000000 /dev/zero >&2");
  EXPECT_EQ(flooded.errors.tail.find("region marks"), std::string::npos);
  EXPECT_EQ(flooded.errors.lost_marks, told);
  EXPECT_EQ(run("printf 'dvfs-plan: region ' >&2; sleep 0.1; printf 'marks are lost: x y\\nz' >&2")
                .errors.lost_marks,
            "x y");
  EXPECT_EQ(run("echo nothing of the kind >&2").errors.lost_marks, "");
  const auto python = run("cd '" DVFS_PLAN_SOURCE
                          "/experiments/regions' && DVFS_PLAN_REGIONS=/nowhere/fifo "
                          "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import dvfs_plan_regions as r\n"
                          "with r.region(\"a\"): r.metric(\"m\", 1)'");
  EXPECT_EQ(python.errors.tail, "dvfs-plan: region marks are lost: " + told + "\n");
}

// A daemon that closed standard error: what took its number is a file of its own.
TEST_F(RegionChild, ThatMarksAreLostIsNotToldIntoAFile) {
  TemporaryFolder folder;
  const auto result = run("cd '" + folder.path() +
                          "' && DVFS_PLAN_REGIONS=/nowhere/fifo PYTHONDONTWRITEBYTECODE=1 "
                          "PYTHONPATH='" DVFS_PLAN_SOURCE
                          "/experiments/regions' /usr/bin/python3 -c '\n"
                          "import dvfs_plan_regions as r, os\n"
                          "os.close(2); file = open(\"checkpoint\", \"wb\"); assert file.fileno() == 2\n"
                          "r.begin(\"a\"); r.end(\"a\")'");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(folder / "checkpoint"), 0U);
}

TEST_F(RegionChild, AForkedChildThatUnwindsEndsNothing) {
  const auto result = run("cd '" DVFS_PLAN_SOURCE
                          "/experiments/regions' && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '\n"
                          "import dvfs_plan_regions as r, os, sys\n"
                          "with r.region(\"train\"):\n"
                          "    if os.fork() == 0: sys.exit(0)\n"
                          "    os.wait()\n'");
  EXPECT_EQ(result.regions.marks.size(), 2U) << result.errors.tail;
}

TEST_F(RegionChild, NamesWithSpacesAndNamesThatAreTooLongAreMendedBySender) {
  const auto result = run("cd '" DVFS_PLAN_SOURCE
                          "/experiments/regions' && PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '\n"
                          "import dvfs_plan_regions as r\n"
                          "with r.region(\"train epoch\"): r.metric(\"im\\ng\", 5, \"img / s\")\n"
                          "with r.region(\"x\" * 100): pass'");
  ASSERT_EQ(result.regions.marks.size(), 5U) << result.errors.tail;
  EXPECT_EQ(result.regions.bad, 0U);
  EXPECT_EQ(result.regions.marks[0].name, "train_epoch");
  EXPECT_EQ(result.regions.marks[1].name, "im_g");
  EXPECT_EQ(result.regions.marks[1].unit, "img_/_s");
  EXPECT_EQ(result.regions.marks[3].name, std::string(64, 'x'));
}

// Nobody reads: the second that a first mark may wait is all that it costs, and no later mark waits.
TEST_F(RegionChild, AFifoThatNobodyReadsCostsAWorkloadOneWait) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "full").c_str(), 0600), 0);
  const auto result = run("DVFS_PLAN_REGIONS='" + (folder / "full") + "' '" DVFS_PLAN_MARKS "' 100000");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors.lost_marks, "cannot write to the FIFO: nobody reads it");
}

TEST_F(RegionChild, AFolderThatACleanerTookIsMadeAnew) {
  EXPECT_EQ(run("rm -r \"${DVFS_PLAN_REGIONS%/*}\"").exit_code, 0);
  const auto again = run("echo begin a >>$DVFS_PLAN_REGIONS");
  EXPECT_EQ(again.regions.marks.size(), 1U) << again.errors.tail << again.regions_problem;
}

TEST_F(RegionChild, EightProcessesMarkAtOnce) {
#ifdef __SANITIZE_THREAD__
  constexpr std::size_t steps = 2000;  // the reader is too slow under it to take what eight can write
#else
  constexpr std::size_t steps = 20000;
#endif
  const auto result = run("for i in 1 2 3 4 5 6 7 8; do RANK=$i '" DVFS_PLAN_MARKS "' " +
                          std::to_string(steps) + " >/dev/null & done; wait");
  EXPECT_EQ(result.regions.marks.size(), 8 * (2 * steps + 3));
  EXPECT_EQ(result.regions.bad, 0U);
  std::set<std::string> ranks;
  for (const RegionMark& mark : result.regions.marks)
    ranks.insert(mark.process.substr(mark.process.find('/')));
  EXPECT_THAT(ranks, ElementsAre("/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"));
}

TEST_F(RegionChild, TheFifoGoesWithTheLauncher) {
  std::string path;
  {
    Launcher launcher;
    LaunchSpec spec{"/bin/sh", {"sh", "-c", "echo $DVFS_PLAN_REGIONS"}, {"PATH=/bin"}, {}, {}, {}};
    spec.regions = true;
    auto launched = launcher.launch(spec, clock_);
    const auto result = launched.child->wait({}, nullptr, clock_);
    path = result.output.tail.substr(0, result.output.tail.size() - 1);
    EXPECT_EQ(path.substr(0, path.rfind('/')), launcher.region_folder());
  }
  EXPECT_FALSE(std::filesystem::exists(path.substr(0, path.rfind('/')))) << path;
}

}  // namespace
}  // namespace dvfs_plan
