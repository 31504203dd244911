// Several real children at once: the gate at which they wait, and what becomes of the others when one fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>

#include "base/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using End = ChildResult::End;

class ChildrenTest : public testing::Test {
 protected:
  ChildrenResult run(const std::vector<std::string>& scripts, Seconds timeout = Seconds{20},
                     bool gated = true) {
    StartGate gate;
    if (gated) gate = launcher_.make_gate();
    std::vector<Child> children;
    std::vector<ChildLimits> limits;
    std::vector<std::string> names;
    for (const std::string& script : scripts) {
      LaunchSpec spec{"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}, {}, {}};
      spec.grouped = spec.regions = true;
      spec.gate = gate.path();
      children.push_back(std::move(*launcher_.launch(spec, clock_).child));
      limits.push_back({timeout, Seconds{0.2}});
      names.push_back("number " + std::to_string(names.size() + 1));
    }
    auto result = wait_for_all(children, limits, names, gated ? &gate : nullptr, nullptr, clock_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // nothing is left, zombies included
    return result;
  }
  static std::string waits(const std::string& before, const std::string& after) {
    return before + "; echo \"ready $$\" 1<>\"$DVFS_PLAN_REGIONS\" >&1; : <\"$DVFS_PLAN_GO\"; " + after;
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  Launcher launcher_;
};

TEST_F(ChildrenTest, NoneBeginsBeforeTheLastIsReady) {
  const std::string file = folder_ / "order";
  std::vector<std::string> scripts;
  for (const char* late : {"0", "0.3", "0.1", "0.2", "0", "0.05", "0.15", "0.25"})
    scripts.push_back(waits("sleep " + std::string(late) + "; echo ready >>" + file, "echo begun >>" + file));
  const auto result = run(scripts);
  ASSERT_TRUE(result.gate_opened);
  EXPECT_EQ(result.gate_problem, "");
  std::ifstream lines(file);
  std::vector<std::string> said;
  for (std::string line; std::getline(lines, line);) said.push_back(line);
  ASSERT_EQ(said.size(), 16u);
  EXPECT_EQ(std::count(said.begin(), said.begin() + 8, "ready"), 8);
  for (const ChildResult& one : result.each) {
    EXPECT_EQ(one.end, End::exited);
    EXPECT_EQ(one.exit_code, 0);
    EXPECT_TRUE(one.regions.ready);
    EXPECT_EQ(one.regions.bad, 0u);
  }
}

TEST_F(ChildrenTest, TheFirstToEndWellLeavesTheOthersAlone) {
  const auto result = run({"exit 0", "sleep 2; echo all", "sleep 1"}, Seconds{20}, false);
  for (const ChildResult& one : result.each) EXPECT_EQ(one.end, End::exited);
  EXPECT_EQ(result.each[1].output.tail, "all\n");
  EXPECT_FALSE(result.gate_opened);
  EXPECT_LT(result.each[0].ended, result.each[2].ended);
  EXPECT_LT(result.each[2].ended, result.each[1].ended);
}

TEST_F(ChildrenTest, WhereOneFailsTheOthersAreEnded) {
  const std::string file = folder_ / "deaf";
  const auto result = run({"sleep 1000", "until [ -e " + file + " ]; do sleep 0.05; done; exit 3",
                           "trap '' TERM; : >" + file + "; sleep 1000 & wait; sleep 1000"},
                          Seconds{0}, false);
  EXPECT_EQ(result.each[0].end, End::ended_with_others);
  EXPECT_EQ(result.each[1].end, End::exited);
  EXPECT_EQ(result.each[1].exit_code, 3);
  EXPECT_EQ(result.each[2].end, End::ended_with_others);
  EXPECT_EQ(result.each[2].signal, SIGKILL);  // it did not listen to the first
}

TEST_F(ChildrenTest, OneThatEndsWithoutBeingReadyKeepsNobodyWaiting) {
  const auto result = run({waits("true", "echo begun"), "sleep 0.2"});
  EXPECT_EQ(result.gate_problem,
            "number 2 ended without announcing that it was ready, while others waited for it: either all "
            "that run at once "
            "announce it, or none");
  EXPECT_EQ(result.each[0].end, End::ended_with_others);
  EXPECT_EQ(result.each[0].output.tail, "");
}

TEST_F(ChildrenTest, OneThatIsNeverReadyIsNamedAtItsTimeout) {
  const auto result = run({waits("true", "echo begun"), "sleep 1000"}, Seconds{0.5});
  EXPECT_EQ(result.gate_problem, "number 2 was not ready within the time limit, while others waited for it");
  EXPECT_NE(result.each[1].end, End::exited);  // whose time is over first is chance; all are ended
}

TEST_F(ChildrenTest, WithoutAnyAnnouncementNobodyWaits) {
  const auto result = run({"echo one", "echo two"});
  EXPECT_EQ(result.gate_problem, "");
  EXPECT_FALSE(result.gate_opened);
  EXPECT_EQ(result.each[0].output.tail + result.each[1].output.tail, "one\ntwo\n");
}

}  // namespace
}  // namespace dvfs_plan
