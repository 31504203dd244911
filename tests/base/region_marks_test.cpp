// The line protocol on which workloads mark regions, byte by byte and from real children.
#include "base/region_marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(RegionMarks, BadLinesAreKeptAndLoseNothingElse) {
  RegionMarks marks;
  marks.feed("start x\nbegin\nbegin a b c\nmetric m\nmetric m x\nmetric m 1 J extra\nbegin ok\n", 10);
  EXPECT_EQ(marks.bad, 6U);
  EXPECT_THAT(marks.bad_lines, ElementsAre("start x", "begin", "begin a b c", "metric m", "metric m x"));
  EXPECT_EQ(marks.marks.back().name, "ok");
  RegionMarks long_line;
  long_line.feed(std::string(100'000, 'x'), 1);
  long_line.feed("\nbegin ok\n", 2);
  EXPECT_EQ(long_line.bad, 1U);
  EXPECT_EQ(words(long_line), "begin ok@2; ");
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
      run("echo begin train >&$DVFS_PLAN_REGION_FD; sleep 0.05; echo end train >&$DVFS_PLAN_REGION_FD; echo "
          "metric loss 0.5 >&4");
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

TEST_F(RegionChild, TheHeaderMarksHundredThousandStepsWithoutLosingOne) {
  const auto result = run("'" DVFS_PLAN_MARKS "' 100000");
  EXPECT_EQ(result.regions.marks.size(), 200'003U) << result.errors.tail;
  EXPECT_EQ(result.regions.bad, 0U);
  EXPECT_EQ(result.regions.not_believed, 0U);
}

TEST_F(RegionChild, AClosedDescriptorAndAHundredMegabytesDoNoHarm) {
  EXPECT_EQ(run("exec 4>&-; exit 5").exit_code, 5);
  const auto flood = run("head -c 100000000 /dev/zero >&4; echo begin late >&4");
  EXPECT_EQ(flood.exit_code, 0);
  EXPECT_GE(flood.regions.bad, 1U);
}

}  // namespace
}  // namespace dvfs_plan
