// The guard on files: journal before the first write, every setting put back by itself, nobody else's
// folder trusted. Signals, kills and power cuts of the whole program are in tests/system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/knob_guard.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Restore, OneThatFailsKeepsNoOtherFromBeingPutBack) {
  TemporaryFolder root;
  root.attribute("/sys/a", "changed");
  root.attribute("/sys/c", "changed");
  const Sysfs sysfs(root.path());
  const auto outcome =
      restore_settings({{"k", "/sys/a", "1"}, {"k", "/sys/gone", "2"}, {"k", "/sys/c", "it's 3"}}, sysfs);
  EXPECT_EQ(*sysfs.text("/sys/a"), "1");
  EXPECT_EQ(*sysfs.text("/sys/c"), "it's 3");
  EXPECT_EQ(outcome.restored, 2);
  ASSERT_EQ(outcome.failures.size(), 1U);
  EXPECT_THAT(restore_commands(outcome), ElementsAre("echo 2 | sudo tee /sys/gone"));
  EXPECT_EQ(message_of([&] { require_restored(outcome); }),
            "1 of 3 settings could not be put back:\n  /sys/gone: wanted '2', found 'No such file or "
            "directory' (No such file or directory)");
}

TEST(Restore, WritesOnlyWhatDiffers) {
  TemporaryFolder root;
  root.attribute("/sys/a", "same");
  const auto before = std::filesystem::last_write_time(root / "sys/a");
  const auto outcome = restore_settings({{"k", "/sys/a", "same"}}, Sysfs(root.path()));
  EXPECT_EQ(outcome.unchanged, 1);
  EXPECT_EQ(std::filesystem::last_write_time(root / "sys/a"), before);
}

TEST(Restore, AChoiceInBracketsCountsAsPutBack) {
  TemporaryFolder root;
  root.attribute("/sys/thp", "always [madvise] never");
  EXPECT_EQ(restore_settings({{"k", "/sys/thp", "madvise"}}, Sysfs(root.path())).unchanged, 1);
}

TEST(StateFolder, MustBeOursAlone) {
  TemporaryFolder folder;
  const std::string path = folder / "state";
  { StateFolder made(path); }
  struct stat info {};
  ::stat(path.c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  ::chmod(path.c_str(), 0755);
  EXPECT_THAT(message_of([&] { StateFolder again(path); }), HasSubstr("with mode 0700, found uid"));
  std::filesystem::create_symlink(path, folder / "link");
  EXPECT_THAT(message_of([&] { StateFolder through(folder / "link"); }), HasSubstr("open the state folder"));
}

TEST(StateFolder, FollowsNoLinkInsideEither) {
  TemporaryFolder folder;
  folder.file("precious", "keep me");
  StateFolder state(folder / "state");
  std::filesystem::create_symlink(folder / "precious", folder / "state/journal.json");
  EXPECT_THAT(message_of([&] { state.read("journal.json"); }),
              HasSubstr("Too many levels of symbolic links"));
  state.write_durably("journal.json", "new");  // replaces the link, not what it points to
  EXPECT_EQ(folder.read("precious"), "keep me");
  EXPECT_EQ(state.read("journal.json"), "new");
}

TEST(StateFolder, OneLockAMachine) {
  TemporaryFolder folder;
  StateFolder first(folder / "state"), second(folder / "state");
  const UniqueFd lock = first.try_lock();
  ASSERT_TRUE(lock);
  first.describe_holder(lock, "pid 1, sweep.yaml");
  EXPECT_FALSE(second.try_lock());
  EXPECT_EQ(second.lock_holder(), "pid 1, sweep.yaml");
}

TEST(Journal, ComesBackAsWritten) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  EXPECT_FALSE(read_journal(state));
  const Journal journal{"sweep.yaml",
                        "now",
                        "boot",
                        "",
                        42,
                        "run",
                        {{"cpu.frequency", "/sys/a", "1"}, {"sysfs.x", "/sys/b", "two words"}}};
  write_journal(state, journal);
  const auto read = read_journal(state);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings, journal.settings);
  EXPECT_EQ(read->run, "run");
}

TEST(Journal, ADamagedOneIsNeverThrownAway) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  state.write_durably("journal.json", "{\"version\": 1, \"settings\": [");
  EXPECT_THAT(message_of([&] { read_journal(state); }), HasSubstr("journal.json cannot be understood"));
  EXPECT_TRUE(state.read("journal.json"));
}

TEST(KnobGuard, TheNextStartPutsBackWhatADeadRunLeft) {
  TemporaryFolder root, folder;
  machines::acpi_cpufreq(root);
  const Sysfs sysfs(root.path());
  const SystemClock clock;
  const std::string limit = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq";
  {
    StateFolder state(folder / "state");
    write_journal(
        state,
        {"sweep.yaml", "then", "another boot", root.path(), 1, "run", {{"cpu.frequency", limit, "3000000"}}});
  }
  sysfs.write(limit, "1000000");
  KnobGuard guard(folder / "state", sysfs, "next.yaml", clock);
  ASSERT_TRUE(guard.found_journal());
  EXPECT_EQ(guard.found_journal()->restored, 1);
  EXPECT_EQ(*sysfs.text(limit), "3000000");
  EXPECT_FALSE(StateFolder(folder / "state").read("journal.json"));
}

TEST(KnobGuard, AJournalOfAnotherTreeIsLeftAlone) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  const SystemClock clock;
  {
    StateFolder state(folder / "state");
    write_journal(state, {"sweep.yaml", "then", "boot", "/somewhere/else", 1, "run", {{"k", "/sys/a", "1"}}});
  }
  EXPECT_THAT(message_of([&] { KnobGuard guard(folder / "state", sysfs, "next.yaml", clock); }),
              HasSubstr("is of another machine tree ('/somewhere/else')"));
  EXPECT_TRUE(StateFolder(folder / "state").read("journal.json"));
}

TEST(KnobGuard, WhatWentWithAReboot) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  const SystemClock clock;
  const auto leave = [&](const std::string& boot) {
    StateFolder state(folder / "state");
    write_journal(state, {"sweep.yaml", "then", boot, root.path(), 1, "run", {{"k", "/sys/gone", "1"}}});
  };
  leave("another boot");
  {
    KnobGuard guard(folder / "state", sysfs, "next.yaml", clock);
    EXPECT_THAT(guard.found_journal()->notes,
                ElementsAre("/sys/gone is gone since the reboot; it was not put back"));
  }
  leave(boot_id(sysfs));
  EXPECT_THAT(message_of([&] { KnobGuard guard(folder / "state", sysfs, "next.yaml", clock); }),
              HasSubstr("1 of 1 settings could not be put back"));
  KnobGuard gives_up(folder / "state", sysfs, "restore", clock, true);
  EXPECT_FALSE(StateFolder(folder / "state").read("journal.json"));
  EXPECT_TRUE(StateFolder(folder / "state").read("journal.discarded.json"));
}

TEST(KnobGuard, ASecondSweepIsRefusedWithTheHolder) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  const SystemClock clock;
  KnobGuard guard(folder / "state", sysfs, "first.yaml", clock);
  EXPECT_THAT(message_of([&] { KnobGuard second(folder / "state", sysfs, "second.yaml", clock); }),
              HasSubstr("another sweep is running on this machine (pid " + std::to_string(::getpid()) +
                        ", first.yaml, since "));
}

}  // namespace
}  // namespace dvfs_plan
