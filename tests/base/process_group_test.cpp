// What a trial leaves behind is ended, in a control group and without one.
#include "base/process_group.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/child.hpp"
#include "base/process_tree.hpp"
#include "base/spawn.hpp"
#include "base/sysfs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

// A daemon: a session of its own, nothing in its environment, adopted by whoever adopts orphans. Its pid is
// in `file`.
std::string daemon(const std::string& file) {
  return "setsid env -i sh -c 'echo $$ >" + file + "; exec sleep 60' >/dev/null 2>&1 & while [ ! -s " + file +
         " ]; do sleep 0.01; done; ";
}

pid_t pid_in(const std::string& file) {
  std::ifstream in(file);
  pid_t pid = 0;
  in >> pid;
  return pid;
}

bool runs(pid_t pid) {
  const auto state = Sysfs().text("/proc/" + std::to_string(pid) + "/status");
  return state && state->find("State:\tZ") == std::string::npos;
}

class Group : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) return;
    launcher_.group().use_control_group("dvfs-plan-test." + std::to_string(::getpid()));
    if (launcher_.group().entrance() < 0)
      GTEST_SKIP() << "no control group can be made here (no cgroup v2, or not ours to write)";
  }
  std::optional<Child> start(const std::string& script) {
    LaunchSpec spec{"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}, {}, {}};
    spec.grouped = true;
    auto launched = launcher_.launch(spec, clock_);
    EXPECT_EQ(launched.problem, "");
    return std::move(launched.child);
  }
  ChildResult wait(std::optional<Child>& child) { return child->wait({}, nullptr, clock_); }

  TemporaryFolder folder_;
  SystemClock clock_;
  Launcher launcher_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Group, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "ControlGroup" : "Orphans"; });

TEST_P(Group, ADaemonIsEndedWithTheLastChildAndNotBefore) {
  auto first = start(daemon(folder_.path() + "/of_first"));
  auto second = start(daemon(folder_.path() + "/of_second") + "sleep 0.3");
  EXPECT_EQ(wait(first).leftovers, 0);
  const pid_t of_first = pid_in(folder_.path() + "/of_first");
  EXPECT_TRUE(runs(of_first));
  EXPECT_EQ(wait(second).leftovers, 2);
  EXPECT_FALSE(runs(of_first));
  EXPECT_FALSE(runs(pid_in(folder_.path() + "/of_second")));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child, zombies included
}

TEST_P(Group, WhatStaysInTheWorksOwnProcessGroupIsCountedToo) {
  for (int i = 0; i < 10; ++i) {
    auto child = start("sleep 60 & sleep 60 & sleep 0.05");
    EXPECT_EQ(wait(child).leftovers, 2);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

// It computes, and ends before the work does or is what the work leaves: its CPU time is the work's.
TEST_P(Group, WhatAnOrphanUsedIsTold) {
  const std::string done = folder_.path() + "/done";
  const std::string computes = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; : >" + done + "; ";
  for (const char* then : {"", "exec sleep 60"}) {
    // Its shell has a moment to end by itself.
    auto child = start("(sh -c '" + computes + then + "' &); until [ -e " + done +
                       " ]; do sleep 0.01; done; sleep 0.5");
    const auto result = wait(child);
    EXPECT_GT((result.left_user_time + result.left_system_time).value(), 0.05);
    EXPECT_EQ(result.leftovers, *then == 0 ? 0 : 1);
    ::unlink(done.c_str());
  }
}

// A parent that ignores SIGCHLD is told nothing of its children, and wait4(2) nothing of what they used: the control group knows.
TEST_P(Group, WhatNobodyWaitedForIsTold) {
  if (launcher_.group().control_group().empty()) GTEST_SKIP() << "no control group: nobody knows";
  const std::string program =
      "import os, signal, time\n"
      "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
      "if os.fork() == 0:\n"
      "    while time.process_time() < 0.3: pass\n"
      "    os._exit(0)\n"
      "try: os.wait()\n"
      "except ChildProcessError: pass\n";
  for (const bool among_others : {false, true}) {
    auto other = start(among_others ? "sleep 0.6" : "true");
    if (!among_others) wait(other);
    auto child = start("exec /usr/bin/python3 -c '" + program + "'");
    const auto result = wait(child);
    const auto of_last = among_others ? wait(other) : result;
    EXPECT_LT((result.user_time + result.system_time).value(), 0.25);
    EXPECT_NEAR((of_last.left_user_time + of_last.left_system_time).value(), 0.3, 0.1);
  }
}

// What attached services used is known by such a group (systemd makes one of each of its services).
TEST_P(Group, AGroupIsTheirsWhereNobodyElseIsInIt) {
  if (launcher_.group().control_group().empty()) GTEST_SKIP() << "no control group";
  auto first = start("exec sleep 60"), second = start("exec sleep 60");
  const pid_t one = first->pid(), other = second->pid();
  const std::string group = launcher_.group().control_group() + "/trial";
  for (int i = 0; i < 1000 && control_group_of(other) != group; ++i) ::usleep(1000);
  EXPECT_EQ(control_group_of(one), group);
  EXPECT_EQ(control_groups_of_none_but({one, other, ::getpid()}), std::set<std::string>{group});
  EXPECT_EQ(control_groups_of_none_but({one, ::getpid()}), std::set<std::string>{});
  EXPECT_TRUE(use_of_control_group(group));
  ::kill(one, SIGKILL);
  ::kill(other, SIGKILL);
  wait(first);
  wait(second);
}

TEST_P(Group, ADaemonThatWasMovedOutOfTheGroupIsEndedAllTheSame) {
  const std::string group = launcher_.group().control_group();
  const std::string out =
      group.empty() ? "" : "echo 0 >" + group.substr(0, group.rfind('/')) + "/cgroup.procs; ";
  auto child = start(out + daemon(folder_.path() + "/moved"));
  EXPECT_EQ(wait(child).leftovers, 1);
  EXPECT_FALSE(runs(pid_in(folder_.path() + "/moved")));
}

// A service's server that emptied its environment, where no group can be made for it.
TEST_P(Group, AnOrphanOlderThanTheTrialStaysAndOneThatEndedByItselfIsNotCounted) {
  LaunchSpec service{"/bin/sh",
                     {"sh", "-c", daemon(folder_.path() + "/server") + "sleep 60"},
                     {"PATH=/usr/bin:/bin"},
                     {},
                     {},
                     {}};
  auto started = launcher_.launch(service, clock_);
  ASSERT_TRUE(started.child);
  while (pid_in(folder_.path() + "/server") == 0) ::usleep(1000);
  launcher_.group().own(started.child->pid());
  launcher_.group().disown(started.child->pid());
  started.child.reset();  // the server comes to us
  const pid_t server = pid_in(folder_.path() + "/server");
  ::usleep(50'000);  // the kernel tells starts apart by 10 ms
  auto work = start("(exec setsid sh -c '(exec true) & exec true') & sleep 0.2");
  EXPECT_EQ(wait(work).leftovers, 0);
  EXPECT_TRUE(runs(server));
  launcher_.group().end_left_behind(0);
  EXPECT_FALSE(runs(server));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

// Of a supervisor that a script had started before it became us by execve(2), or of a container whose process 1 we are.
TEST_P(Group, AnOrphanOfSomebodyElseThatComesToUsStays) {
  launcher_.group().has_only_marked("12-345");
  LaunchSpec spec{"/bin/sh",
                  {"sh", "-c", daemon(folder_.path() + "/left") + "sleep 0.3"},
                  {"PATH=/usr/bin:/bin", std::string(run_variable) + "=12-345"},
                  {},
                  {},
                  {}};
  spec.grouped = true;
  auto launched = launcher_.launch(spec, clock_);
  ASSERT_TRUE(launched.child);
  ::usleep(50'000);  // it is younger than the work, as the kernel tells starts apart
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t other = ::fork();
    if (other == 0) ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(::write(pipe[1], &other, sizeof other) == sizeof other ? 0 : 1);
  }
  pid_t other = 0;
  ASSERT_EQ(::read(pipe[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
  ::close(pipe[0]);
  ::close(pipe[1]);
  ::waitpid(parent, nullptr, 0);
  EXPECT_EQ(wait(launched.child).leftovers, 1);
  EXPECT_FALSE(runs(pid_in(folder_.path() + "/left")));
  EXPECT_TRUE(runs(other));
  ::kill(other, SIGKILL);
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);  // ours by adoption
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_P(Group, WhatIsNotOfItStays) {
  LaunchSpec meter{"/bin/sleep", {"sleep", "60"}, {}, {}, {}, {}};
  auto launched = launcher_.launch(meter, clock_);
  launcher_.group().own(launched.child->pid());
  auto work = start("exit 3");
  EXPECT_EQ(wait(work).exit_code, 3);
  EXPECT_TRUE(runs(launched.child->pid()));
  launcher_.group().disown(launched.child->pid());
}

TEST_P(Group, TheDeadRunsProcessesAreFoundByItsControlGroupOrByTheirMarks) {
  // As the guardian does when its run was killed: it has no children of the run.
  const std::string run = "test-" + std::to_string(::getpid());
  LaunchSpec spec{"/bin/sh",
                  {"sh", "-c", daemon(folder_.path() + "/unmarked") + "sleep 60"},
                  {"PATH=/usr/bin:/bin", std::string(run_variable) + "=" + run},
                  {},
                  {},
                  {}};
  spec.grouped = true;
  auto launched = launcher_.launch(spec, clock_);
  ASSERT_TRUE(launched.child);
  while (pid_in(folder_.path() + "/unmarked") == 0) ::usleep(1000);
  constexpr int rounds = 400;
  EXPECT_TRUE(end_processes_of(run, launcher_.group().control_group(), rounds));
  EXPECT_FALSE(runs(pid_in(folder_.path() + "/unmarked")));  // by its limits, where there is no group
  const auto result = wait(launched.child);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_EQ(result.leftovers, 0) << "others ended them; they came to us, who adopt them, dead";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

// A child of which one thread goes on for a minute, and not its first: it looks like a zombie, with an environment that is gone.
// `begins`: what it does before, in the child; false ends it.
template <typename Begins>
pid_t child_without_its_first_thread(Begins begins) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!begins()) ::_exit(1);
    std::thread([] { ::sleep(60); }).detach();
    ::syscall(SYS_exit, 0);
  }
  while (runs(child)) ::usleep(1000);
  return child;
}

TEST(ProcessTree, AProcessWhoseFirstThreadHasEndedLives) {
  const pid_t child = child_without_its_first_thread([] { return ::setpgid(0, 0) == 0; });
  EXPECT_EQ(living_of_group(child), std::set<pid_t>{child});
  EXPECT_FALSE(has_ended(child));
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(living_of_group(child), std::set<pid_t>{}) << "a zombie now";
  EXPECT_TRUE(has_ended(child));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(LimitMark, IsFoundOfAProcessWhoseFirstThreadHasEnded) {
  const std::string run = new_run();
  const auto marked = marked_limit(run);
  if (!marked || !limits_are_shown()) GTEST_SKIP() << "no limit that could carry a mark is shown here";
  const pid_t daemon = child_without_its_first_thread([&] {
    const rlimit lowered{marked->value, marked->value};
    return ::setsid() >= 0 && ::setrlimit(static_cast<__rlimit_resource_t>(marked->resource), &lowered) == 0;
  });
  ASSERT_EQ(::waitpid(daemon, nullptr, WNOHANG), 0) << "it goes on";
  ASSERT_TRUE(is_limited(daemon, run));
  EXPECT_TRUE(kill_limited(run));
  ::kill(daemon, SIGTERM);  // where it was not found
  int how = 0;
  EXPECT_EQ(::waitpid(daemon, &how, 0), daemon);
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

// A unit with LimitMSGQUEUE=0, a container.
TEST(LimitMark, IsThatOfFileLocksWhereQueuesAreForbidden) {
  const std::string run = new_run();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_MSGQUEUE, &none);
    const auto marked = marked_limit(run);
    if (!marked || marked->resource != RLIMIT_LOCKS) ::_exit(1);
    const rlimit lowered{marked->value, marked->value};
    ::_exit(::setrlimit(RLIMIT_LOCKS, &lowered) == 0 && is_limited(::getpid(), run) ? 0 : 2);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

TEST(LimitMark, StandsInTheLastBitsOfALimitThatIsLoweredAndNeverRaised) {
  for (const std::uint64_t limit :
       {819'200ULL, 262'144ULL, 1ULL << 50, static_cast<unsigned long long>(RLIM_INFINITY)}) {
    const auto mark = limit_mark("12-345", limit);
    ASSERT_TRUE(mark) << limit;
    EXPECT_LT(*mark, limit);
    EXPECT_EQ(*mark & 0xffff, *limit_mark("12-345", 819'200) & 0xffff) << "what the guardian looks for";
    EXPECT_NE(*mark & 0xffff, *limit_mark("12-346", limit) & 0xffff);
  }
  EXPECT_GT(*limit_mark("12-345", 819'200), 819'200U - 2 * 65'536);
  EXPECT_FALSE(limit_mark("12-345", 65'536));
}

// One run in 65 536 has the last bits of the limit that every process has by itself.
TEST(LimitMark, OfAnybodysLimitIsNone) {
  const std::string unlucky = "4711-86428376085128";
  ASSERT_EQ(*limit_mark(unlucky, 1ULL << 30) & 0xffff, 819'200U & 0xffff);
  SpawnSpec spec{"/bin/sh", {"sh", "-c", "ulimit -q 819200; ulimit -q 2>/dev/null; exec sleep 60"}};
  const Spawned spawned = spawn(spec);
  ASSERT_GT(spawned.pid, 0);
  EXPECT_FALSE(is_limited(spawned.pid, unlucky));
  EXPECT_FALSE(is_limited(::getpid(), unlucky));
  ::kill(spawned.pid, SIGKILL);
  ::waitpid(spawned.pid, nullptr, 0);
  for (int i = 0; i < 100; ++i) {
    const std::string run = new_run();
    EXPECT_NE(*limit_mark(run, 1ULL << 30) & 0xffff, 819'200U & 0xffff);
    EXPECT_FALSE(is_limited(::getpid(), run));
  }
}

TEST(ControlGroupTest, IsRemovedWithTheGroupsInItWhateverRunsThere) {
  auto group = ControlGroup::make("dvfs-plan-test-removed." + std::to_string(::getpid()));
  if (!group) GTEST_SKIP() << "no control group can be made here (no cgroup v2, or not ours to write)";
  const std::string path = group->path();
  EXPECT_TRUE(group->empty());
  std::filesystem::create_directory(path + "/inner");
  SpawnSpec spec{"/bin/sh", {"sh", "-c", "echo 0 >" + path + "/inner/cgroup.procs; exec sleep 60"}};
  spec.control_group = group->entrance();
  const Spawned spawned = spawn(spec);
  ASSERT_GT(spawned.pid, 0);
  EXPECT_EQ(spawned.outside_because, 0);
  EXPECT_FALSE(group->empty());
  group.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  int status = 0;
  EXPECT_EQ(::waitpid(spawned.pid, &status, 0), spawned.pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(SpawnTest, AControlGroupThatCannotBeEnteredIsToldAndTheProgramRuns) {
  const UniqueFd not_writable(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnSpec spec{"/bin/true", {"true"}};
  spec.control_group = not_writable.get();
  const Spawned spawned = spawn(spec);
  EXPECT_EQ(spawned.outside_because, EBADF);
  int status = -1;
  EXPECT_EQ(::waitpid(spawned.pid, &status, 0), spawned.pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace dvfs_plan
