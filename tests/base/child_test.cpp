// Real children: what a workload may do to us, and what we promise of it.
#include "base/child.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/sysfs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

class ChildTest : public testing::Test {
 protected:
  LaunchSpec shell(const std::string& script) {
    LaunchSpec spec{"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}, {}, {}};
    spec.grouped = true;
    return spec;
  }
  ChildResult run(const LaunchSpec& spec, ChildLimits limits = {}) {
    auto launched = launcher_.launch(spec, clock_);
    if (!launched.child) {
      ChildResult result;
      result.problem = launched.problem;
      return result;
    }
    return launched.child->wait(limits, nullptr, clock_);
  }
  SystemClock clock_;
  Launcher launcher_;
};

TEST_F(ChildTest, ExitCodeAndSignalAreToldApart) {
  const auto exited = run(shell("exit 7"));
  EXPECT_EQ(exited.end, ChildResult::End::exited);
  EXPECT_EQ(exited.exit_code, 7);
  EXPECT_EQ(exited.signal, 0);
  const auto signalled = run(shell("kill -SEGV $$"));
  EXPECT_EQ(signalled.end, ChildResult::End::signalled);
  EXPECT_EQ(signal_name(signalled.signal), "SIGSEGV");
}

TEST_F(ChildTest, ManyInARowLeaveNothingBehind) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(run(shell("exit 3")).exit_code, 3);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child, zombies included
}

TEST_F(ChildTest, SaysWhyAProgramCannotBeStarted) {
  EXPECT_EQ(run({"/nonexistent/program", {"program"}, {}, {}, {}, {}}).problem,
            "exec /nonexistent/program: No such file or directory");
  EXPECT_EQ(run({"/etc/passwd", {"passwd"}, {}, {}, {}, {}}).problem, "exec /etc/passwd: Permission denied");
  auto spec = shell("exit 0");
  spec.folder = "/nonexistent";
  EXPECT_EQ(run(spec).problem, "enter folder /nonexistent: No such file or directory");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(ChildTest, KeepsTheTailOfAFloodAndCountsItAll) {
  const auto result =
      run(shell("head -c 50000000 /dev/zero | tr '\\0' x; echo end"), {Seconds{60}, Seconds{1}, 1000});
  EXPECT_EQ(result.output.bytes, 50000004U);
  EXPECT_EQ(result.output.tail.size(), 1000U);
  EXPECT_TRUE(result.output.tail.ends_with("xend\n"));
  EXPECT_TRUE(result.output.truncated());
}

TEST_F(ChildTest, OutputAndErrorsAreKeptApart) {
  const auto result = run(shell("echo out; echo err >&2"));
  EXPECT_EQ(result.output.tail, "out\n");
  EXPECT_EQ(result.errors.tail, "err\n");
}

TEST_F(ChildTest, StandardInputIsEmpty) {
  EXPECT_EQ(run(shell("cat; echo done")).output.tail, "done\n");
}

TEST_F(ChildTest, ATimeoutEndsTheWholeGroupEvenIfItIgnoresSigterm) {
  const auto before = clock_.now();
  const auto result = run(shell("trap '' TERM; sleep 60 & sleep 60"), {Seconds{0.2}, Seconds{0.2}, 1000});
  EXPECT_EQ(result.end, ChildResult::End::timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(seconds(clock_.now() - before).value(), 30);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(ChildTest, ADaemonInASessionOfItsOwnIsEndedWithTheTrial) {
  TemporaryFolder folder;
  const auto result = run(shell("setsid sh -c 'echo $$ >" + folder.path() +
                                "/pid; exec sleep 60' >/dev/null 2>&1 & while [ ! -s " + folder.path() +
                                "/pid ]; do sleep 0.01; done"));
  EXPECT_EQ(result.end, ChildResult::End::exited);
  EXPECT_GE(result.leftovers, 1);
  const pid_t daemon = std::stoi(folder.read("pid"));
  EXPECT_EQ(::kill(daemon, 0), -1);
}

TEST_F(ChildTest, ABackgroundProcessThatHoldsTheOutputDoesNotHoldTheTrial) {
  const auto before = clock_.now();
  run(shell("sleep 60 & echo done"));
  EXPECT_LT(seconds(clock_.now() - before).value(), 30);
}

TEST_F(ChildTest, RusageIsThisChildsOwn) {
  // The greedy one first: a maximum over all children would show in the second.
  const auto greedy =
      run(shell("head -c 200000000 /dev/zero | tail -c 190000000 >/dev/null; exec sh -c ':'"));
  // What we use ourselves, and it does not, is not told as its.
  const auto modest = run({"/bin/true", {"true"}, {}, {}, {}, {}});
  ASSERT_TRUE(greedy.max_rss_bytes);
  EXPECT_GT(*greedy.max_rss_bytes, 190'000'000);
  EXPECT_EQ(modest.max_rss_bytes, std::nullopt);
}

TEST_F(ChildTest, InheritsNoDescriptorButTheStandardOnes) {
  UniqueFd open_file(::dup(STDIN_FILENO));                               // not close-on-exec
  EXPECT_EQ(run(shell("ls /proc/self/fd | wc -w")).output.tail, "4\n");  // 0, 1, 2 and ls's own
}

TEST_F(ChildTest, RunsAsAnotherUserWithNoneOfRootsGroups) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may run a child as somebody else";
  auto spec = shell("id -u; id -G");
  spec.run_as = find_user("nobody");
  ASSERT_TRUE(spec.run_as);
  EXPECT_EQ(run(spec).output.tail, "65534\n65534\n");
}

TEST_F(ChildTest, RunsOnTheCpusItIsGiven) {
  auto spec = shell("grep Cpus_allowed_list /proc/self/status");
  spec.cpus = {0};
  EXPECT_EQ(run(spec).output.tail, "Cpus_allowed_list:\t0\n");
}

TEST_F(ChildTest, OurIgnoredAndBlockedSignalsAreTheChildsDefaults) {
  Interruption interruption;  // blocks SIGINT, SIGTERM, SIGHUP and ignores SIGPIPE here
  const auto result = run(shell("grep -E 'SigBlk|SigIgn' /proc/self/status"));
  EXPECT_EQ(result.output.tail, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(ChildTest, AnInterruptionAsksTheWorkloadToEnd) {
  Interruption interruption;
  auto launched =
      launcher_.launch(shell("trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done"), clock_);
  ASSERT_TRUE(launched.child);
  std::thread somebody([] {
    ::usleep(200'000);
    ::kill(::getpid(), SIGINT);
  });
  const auto result = launched.child->wait({Seconds{60}, Seconds{10}, 1000}, &interruption, clock_);
  somebody.join();
  EXPECT_EQ(result.end, ChildResult::End::interrupted);
  EXPECT_EQ(result.output.tail, "bye\n");
}

// The kernel forgets a stop once the child has ended: it is seen when it happens.
TEST_F(ChildTest, AChildThatWasStoppedForAWhileIsToldOf) {
  Interruption interruption;
  for (const bool stop : {false, true}) {
    auto launched = launcher_.launch(shell("exec sleep 0.5"), clock_);
    ASSERT_TRUE(launched.child);
    std::thread somebody([&, pid = launched.child->pid()] {
      if (!stop) return;
      ::usleep(100'000);
      ::kill(pid, SIGSTOP);
      ::usleep(100'000);
      ::kill(pid, SIGCONT);
    });
    const auto result = launched.child->wait({Seconds{60}, Seconds{10}, 1000}, &interruption, clock_);
    somebody.join();
    EXPECT_EQ(result.end, ChildResult::End::exited);
    EXPECT_EQ(result.child_was_stopped, stop);
    EXPECT_FALSE(result.stopped_meanwhile);
  }
}

TEST(FindExecutable, LooksOnThePathOnlyForBareNames) {
  TemporaryFolder folder;
  folder.file("tool", "#!/bin/sh\n");
  EXPECT_EQ(find_executable("tool", ".", folder.path()), "");  // not executable
  std::filesystem::permissions(folder / "tool", std::filesystem::perms::owner_all);
  EXPECT_EQ(find_executable("tool", ".", "/nonexistent:" + folder.path()), folder / "tool");
  EXPECT_EQ(find_executable("./tool", folder.path(), ""), folder / "tool");
  EXPECT_EQ(find_executable("tool", folder.path(), ""), "");
}

}  // namespace
}  // namespace dvfs_plan
