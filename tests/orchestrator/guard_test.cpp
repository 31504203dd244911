// The guard on files: journal before the first write, every setting put back by itself, nobody else's
// folder trusted. Signals, kills and power cuts of the whole program are in tests/system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "orchestrator/guard/applied_record.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/left_elsewhere.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/guard/state_places.hpp"
#include "orchestrator/settings/attribute_setting.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::Contains;
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

RestoreOutcome restored(const std::vector<SavedSetting>& settings, const Sysfs& sysfs) {
  SettingAccess access(sysfs, {});
  return restore_settings(settings, access);
}

TEST(Restore, OneThatFailsKeepsNoOtherFromBeingPutBack) {
  TemporaryFolder root;
  root.attribute("/sys/a", "changed");
  root.attribute("/sys/c", "changed");
  const Sysfs sysfs(root.path());
  const auto outcome =
      restored({{"k", "/sys/a", "1"}, {"k", "/sys/gone", "2"}, {"k", "/sys/c", "it's 3"}}, sysfs);
  EXPECT_EQ(*sysfs.text("/sys/a"), "1");
  EXPECT_EQ(*sysfs.text("/sys/c"), "it's 3");
  EXPECT_EQ(outcome.restored, 2);
  ASSERT_EQ(outcome.failures.size(), 1U);
  EXPECT_THAT(restore_commands(outcome), ElementsAre("echo 2 | sudo tee /sys/gone"));
  EXPECT_EQ(message_of([&] { require_restored(outcome); }),
            "1 of 3 settings could not be put back:\n  /sys/gone: wanted '2', found 'No such file or "
            "directory' (No such file or directory)");
}

TEST(Restore, OfWhatProgramsTakeAlongWhatTheyChangedAlone) {
  TemporaryFolder root;
  for (const char* name : {"/sys/moved", "/sys/others", "/sys/untouched", "/sys/went"})
    root.attribute(name, "now");
  const Sysfs sysfs(root.path());
  SettingAccess access(sysfs, {});
  std::vector<SavedSetting> settings;
  for (const char* name : {"/sys/moved", "/sys/others", "/sys/untouched", "/sys/went", "/sys/gone"})
    settings.push_back({"set.p", beside_setting(name), "before"});
  const AppliedByUs applied{{beside_setting("/sys/moved"), {"now"}},
                            {beside_setting("/sys/others"), {"ours"}},
                            {beside_setting("/sys/went"), {went_by_a_program}},
                            {beside_setting("/sys/gone"), {"ours"}}};
  const RestoreOutcome outcome = restore_settings(settings, access, {.applied = &applied});
  EXPECT_EQ(*sysfs.text("/sys/moved"), "before");
  EXPECT_EQ(*sysfs.text("/sys/went"), "before");
  EXPECT_EQ(*sysfs.text("/sys/others"), "now");
  EXPECT_EQ(*sysfs.text("/sys/untouched"), "now");
  EXPECT_TRUE(outcome.complete());
  EXPECT_EQ(counts_text(outcome),
            "2 settings put back, 0 were as before, 1 left as somebody else has set it");
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("/sys/others is 'now', which is neither what the run set "
                                                   "(ours) nor what was there before ('before')"),
                                         "while the programs of `set` were in use this changed, by somebody "
                                         "else or by what one of them began and that "
                                         "went on behind its end, and was left so: /sys/untouched was "
                                         "'before' and is 'now' (to put it back: echo "
                                         "before | sudo tee /sys/untouched)",
                                         "/sys/gone was 'before' and is not there any more: when it comes "
                                         "back it is to be set again: echo before | "
                                         "sudo tee /sys/gone"));
  // Where nothing is known (a setter that was killed half way) all of it is put back.
  std::set<std::string> unsettled;
  for (const SavedSetting& one : settings) unsettled.insert(one.path);
  restore_settings(settings, access, {.applied = &applied, .unsettled = &unsettled});
  EXPECT_EQ(*sysfs.text("/sys/untouched"), "before");
  EXPECT_EQ(*sysfs.text("/sys/others"), "before");
}

TEST(Restore, TheCommandsBringAProcessorOnlineFirst) {
  TemporaryFolder root;
  root.attribute("/sys/devices/system/cpu/cpu3/online", "0");
  root.attribute("/sys/devices/system/cpu/cpu4/online", "1");
  const Sysfs sysfs(root.path());
  const std::string cpus = "/sys/devices/system/cpu/", policy = cpus + "cpufreq/policy3/scaling_max_freq",
                    state = cpus + "cpu3/cpuidle/state1/disable",
                    other = cpus + "cpu4/cpuidle/state1/disable";
  const auto outcome = restored({{"k", policy, "3000000"}, {"k", state, "0"}, {"k", other, "0"}}, sysfs);
  EXPECT_THAT(restore_commands(outcome, sysfs),
              ElementsAre("echo 1 | sudo tee " + cpus + "cpu3/online", "echo 3000000 | sudo tee " + policy,
                          "echo 0 | sudo tee " + state, "echo 0 | sudo tee " + other));
}

// As proc_pid_mountinfo(5) has it, of a machine whose homes are mounted when somebody looks at them.
TEST(LeftByUsers, HomesOnANetworkAreNotLookedAt) {
  const std::string mounts =
      "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
      "30 22 0:44 / /home rw,relatime shared:30 - autofs /etc/auto.home rw,fd=5\n"
      "31 22 0:45 / /srv/data rw shared:31 - nfs4 server:/data rw,hard\n"
      "32 31 259:3 / /srv/data/local rw - xfs /dev/sdb1 rw\n"
      "33 22 0:46 / /mnt rw - fuse.sshfs a: rw\n"
      "34 22 259:4 / /mnt rw - ext4 /dev/sdc1 rw\n";
  for (const char* on : {"/home/alice", "/home", "/srv/data/bob"})
    EXPECT_TRUE(is_on_a_network(on, mounts)) << on;
  for (const char* local :
       {"/homes/alice", "/var/lib/postgres", "/srv/data/local/carol", "/srv/database", "/mnt/dave"})
    EXPECT_FALSE(is_on_a_network(local, mounts)) << local;
}

TEST(Restore, WritesOnlyWhatDiffers) {
  TemporaryFolder root;
  root.attribute("/sys/a", "same");
  const auto before = std::filesystem::last_write_time(root / "sys/a");
  const auto outcome = restored({{"k", "/sys/a", "same"}}, Sysfs(root.path()));
  EXPECT_EQ(outcome.unchanged, 1);
  EXPECT_EQ(std::filesystem::last_write_time(root / "sys/a"), before);
}

// What was written is all that can be done while the kernel cools, or keeps turbo off.
TEST(Restore, ALimitThatIsCappedIsBack) {
  TemporaryFolder root;
  const std::string policy = "/sys/devices/system/cpu/cpufreq/policy0/", file = policy + "scaling_max_freq";
  root.attribute(policy + "cpuinfo_max_freq", "3000000");
  // A kernel that takes the write and keeps its value.
  root.attribute(policy + "shown", "2000000");
  const auto keep = [&](const std::string& shown) {
    std::filesystem::remove(root.path() + file);
    root.attribute(file, shown);
    std::filesystem::permissions(root.path() + file, std::filesystem::perms::owner_all);
  };
  keep("2000000");
  const Sysfs sysfs(root.path());
  EXPECT_FALSE(attribute_setting(file, sysfs)->is_cooled());
  root.attribute("/sys/class/thermal/cooling_device0/type", "thermal-cpufreq-0");
  root.attribute("/sys/class/thermal/cooling_device0/cur_state", "2");
  EXPECT_TRUE(attribute_setting(file, sysfs)->is_cooled());
  keep("3000000");
  EXPECT_FALSE(attribute_setting(file, sysfs)->is_cooled()) << "nothing caps it";
  root.attribute("/sys/class/devfreq/gpu/available_frequencies", "100000000 500000000");
  root.attribute("/sys/class/devfreq/gpu/max_freq", "100000000");
  EXPECT_FALSE(attribute_setting("/sys/class/devfreq/gpu/max_freq", sysfs)->is_cooled());
  root.attribute("/sys/class/thermal/cooling_device1/type", "thermal-devfreq-0");
  root.attribute("/sys/class/thermal/cooling_device1/cur_state", "1");
  EXPECT_TRUE(attribute_setting("/sys/class/devfreq/gpu/max_freq", sysfs)->is_cooled());
}

TEST(Restore, AChoiceInBracketsCountsAsPutBack) {
  TemporaryFolder root;
  root.attribute("/sys/thp", "always [madvise] never");
  EXPECT_EQ(restored({{"k", "/sys/thp", "madvise"}}, Sysfs(root.path())).unchanged, 1);
}

// A journal alone does not say what the run had set: then, and where a setter was killed half way, all is put back, and it is said over what.
TEST(Restore, WhatIsKnownToBeSomebodyElsesIsLeftAndAnythingElsePutBack) {
  TemporaryFolder root;
  const Sysfs sysfs(root.path());
  SettingAccess access(sysfs, {});
  const std::vector<SavedSetting> saved{
      {"k", "/sys/a/power1_cap", "40"}, {"k", "/sys/b/power1_cap", "40"}, {"k", "/sys/c/power1_cap", "40"}};
  const auto put = [&](const std::string& a, const std::string& b, const std::string& c) {
    root.attribute("/sys/a/power1_cap", a);
    root.attribute("/sys/b/power1_cap", b);
    root.attribute("/sys/c/power1_cap", c);
  };
  const auto read = [&] {
    return *sysfs.text("/sys/a/power1_cap") + " " + *sysfs.text("/sys/b/power1_cap") + " " +
           *sysfs.text("/sys/c/power1_cap");
  };
  const AppliedByUs applied{{"/sys/a/power1_cap", {"10", "20"}}, {"/sys/b/power1_cap", {"10"}}};
  put("10", "30", "40");
  const auto known = restore_settings(saved, access, {&applied});
  EXPECT_EQ(read(), "40 30 40");
  EXPECT_EQ(counts_text(known), "1 settings put back, 1 were as before, 1 left as somebody else has set it");
  EXPECT_THAT(known.notes, ElementsAre("/sys/b/power1_cap is '30', which is neither what the run set (10) "
                                       "nor what was there before ('40'): somebody "
                                       "else changed it meanwhile, and it was left so; to put it back: echo "
                                       "40 | sudo tee /sys/b/power1_cap"));
  put("10", "30", "30");
  const std::set<std::string> unsettled{"/sys/b/power1_cap"};
  const auto half = restore_settings(saved, access, {&applied, &unsettled});
  EXPECT_EQ(read(), "40 40 30");
  EXPECT_EQ(half.notes.size(), 2U);
  EXPECT_THAT(
      half.notes,
      Contains(
          "/sys/b/power1_cap read '30' before it was put back: that the run had set this is not on record; "
          "if somebody else did, it is to be set again"));
  put("10", "30", "40");
  const auto nothing = restore_settings(saved, access);
  EXPECT_EQ(read(), "40 40 40");
  EXPECT_EQ(counts_text(nothing), "2 settings put back, 1 were as before");
  EXPECT_THAT(
      nothing.notes,
      ElementsAre("/sys/a/power1_cap read '10', /sys/b/power1_cap read '30' before they were put back: that "
                  "the run had set these is not on record; if somebody else did, they are to be set "
                  "again"));
  // The kernel changes such files by each other.
  root.attribute("/sys/limit", "30");
  const AppliedByUs of_file{{"/sys/limit", {"10"}}};
  const auto file = restore_settings({{"k", "/sys/limit", "40"}}, access, {&of_file});
  EXPECT_EQ(*sysfs.text("/sys/limit"), "40");
  EXPECT_THAT(
      file.notes,
      ElementsAre("/sys/limit read '30' before it was put back: that the run had set this is not on record; "
                  "if somebody else did, it is to be set again"));
}

// A record on disk says of files too what was set. What is not there is its owner's since it was put back, or all along: but for what the kernel changes
// together with a setting that is.
TEST(Restore, OfAFileThatIsNotOnRecordWhatItsOwnerSetIsLeft) {
  TemporaryFolder root;
  const Sysfs sysfs(root.path());
  SettingAccess access(sysfs, {});
  const std::string queue = "/sys/class/net/e/tx_queue_len",
                    policy = "/sys/devices/system/cpu/cpufreq/policy0/";
  const auto put = [&] {
    root.attribute(queue, "555");
    root.attribute(policy + "scaling_governor", "powersave");
    root.attribute(policy + "energy_performance_preference", "power");
  };
  const std::vector<SavedSetting> saved{{"k", queue, "1000"},
                                        {"k", policy + "scaling_governor", "schedutil"},
                                        {"k", policy + "energy_performance_preference", "default"}};
  const auto read = [&] {
    return *sysfs.text(queue) + " " + *sysfs.text(policy + "scaling_governor") + " " +
           *sysfs.text(policy + "energy_performance_preference");
  };
  const AppliedByUs applied{{policy + "scaling_governor", {"powersave"}}};
  const auto begun = [&](bool failed_before, const AppliedByUs& of) {
    put();
    KnownApplied known{&of};
    known.tried = failed_before;
    known.files_too = true;
    return restore_settings(saved, access, known);
  };
  const auto begun_unsettled = [&] {
    put();
    const std::set<std::string> unsettled{policy + "scaling_governor"};
    KnownApplied known{&applied, &unsettled};
    known.files_too = true;
    return restore_settings(saved, access, known);
  };
  const std::string left =
      queue +
      " is '555', which is neither what the run set (nothing) nor what was there before "
      "('1000'): somebody else changed it meanwhile, and it was left so; to put it back: "
      "echo 1000 | sudo tee " +
      queue;
  // The governor takes its preference along, at each end.
  const auto killed = begun(false, applied);
  EXPECT_EQ(read(), "555 schedutil default");
  EXPECT_EQ(counts_text(killed), "2 settings put back, 0 were as before, 1 left as somebody else has set it");
  EXPECT_THAT(killed.notes, ElementsAre(left));
  // Where the governor alone is still to be put back the preference may be its owner's by now.
  for (const bool is_unsettled : {false, true}) {
    const auto again = is_unsettled ? begun_unsettled() : begun(true, applied);
    EXPECT_EQ(read(), "555 schedutil default");
    EXPECT_THAT(
        again.notes,
        ElementsAre(left, policy + "energy_performance_preference read 'power' before it was put back: that "
                                   "the run had set this is not on record; if somebody else did, it is "
                                   "to be set again"));
  }
  // Nothing was set yet.
  const auto at_once = begun(false, {});
  EXPECT_EQ(read(), "555 powersave power");
  EXPECT_EQ(counts_text(at_once),
            "0 settings put back, 0 were as before, 3 left as somebody else has set them");
}

// What failed read then what is on record: another value is of somebody who has set it since, but where another that failed may take it along.
TEST(Restore, OfAFileThatCouldNotBePutBackWhatItsOwnerSetSinceIsLeft) {
  TemporaryFolder root;
  const Sysfs sysfs(root.path());
  SettingAccess access(sysfs, {});
  const std::string queue = "/sys/class/net/e/tx_queue_len",
                    policy = "/sys/devices/system/cpu/cpufreq/policy0/";
  const std::vector<SavedSetting> saved{{"k", queue, "1000"},
                                        {"k", policy + "scaling_governor", "schedutil"}};
  const auto after = [&](const AppliedByUs& failed, const std::string& of_queue,
                         const std::string& governor) {
    root.attribute(queue, of_queue);
    root.attribute(policy + "scaling_governor", governor);
    KnownApplied known{&failed};
    known.tried = known.files_too = true;
    const auto outcome = restore_settings(saved, access, known);
    return std::pair(*sysfs.text(queue) + " " + *sysfs.text(policy + "scaling_governor"), outcome.left);
  };
  const AppliedByUs one{{queue, {"300", "555"}}};
  EXPECT_EQ(after(one, "555", "schedutil"), std::pair(std::string("1000 schedutil"), 0)) << "as it was found";
  EXPECT_EQ(after(one, "777", "schedutil"), std::pair(std::string("777 schedutil"), 1));
  EXPECT_EQ(after({{policy + "scaling_governor", {"powersave"}}}, "1000", "performance"),
            std::pair(std::string("1000 performance"), 1));
  // A program's profile may have taken it along again.
  const std::string profile = command_setting({"set.profile", {"/bin/true"}, {"/bin/echo", "x"}, {}, "/"});
  const auto with_profile =
      after({{policy + "scaling_governor", {"powersave"}}, {profile, {"saver"}}}, "1000", "performance");
  EXPECT_EQ(with_profile, std::pair(std::string("1000 schedutil"), 0));
}

TEST(AppliedRecord, ComesBackAsWrittenAndIsOfOneRun) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  EXPECT_EQ(read_applied_record(state, "1-2"), std::nullopt);
  AppliedRecord record{"1-2",
                       {{"set:\tcap\\", {"10", "2\n0", ""}}, {"/sys/a", {}}},
                       {"/sys/a", "x\ty"},
                       {{"/sys/b", {"30"}}},
                       {},
                       true};
  write_applied_record(state, record);
  EXPECT_EQ(read_applied_record(state, "1-2"), record);
  EXPECT_EQ(read_applied_record(state, "1-3"), std::nullopt);
  const std::string text = *state.read("applied");
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    state.write_whole("applied", text.substr(0, size));
    EXPECT_EQ(read_applied_record(state, "1-2"), std::nullopt) << size;
  }
  // Nor one in which a disk changed a bit: a '1' becomes a '0' or a '3'.
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      state.write_whole("applied", changed);
      EXPECT_EQ(read_applied_record(state, "1-2"), std::nullopt) << i << ' ' << bit;
    }
  }
  remove_applied_record(state);
  EXPECT_FALSE(state.read("applied"));
}

// Which process was the run, by its number and when it was started: who is it now?
TEST(SessionRecord, ComesBackAsWrittenOrNotAtAll) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  write_session_record(state,
                       {"a.yaml", "now", "boot", 42, 1000, "42-1", "/run/r", "/sys/fs/cgroup/x", 2, 77});
  const auto record = read_session_record(state);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->pid, 42);
  EXPECT_EQ(record->started, 77);
  EXPECT_EQ(record->control_group, "/sys/fs/cgroup/x");
  std::string changed = *state.read("session");
  changed.replace(changed.find("42-1"), 1, "5");
  state.write_whole("session", changed);
  EXPECT_FALSE(read_session_record(state));
}

// A run that was killed under the version before, and the program was upgraded since.
TEST(AppliedRecord, OneOfTheVersionBeforeIsUnderstood) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  state.write_whole("applied",
                    "dvfs-plan applied 1\nrun\t7-1\napplied\t/sys/a\t10\t20\nunsettled\t/sys/b\nend\n");
  EXPECT_EQ(read_applied_record(state, "7-1"),
            (AppliedRecord{"7-1", {{"/sys/a", {"10", "20"}}}, {"/sys/b"}, {}}));
  state.write_whole("applied", "dvfs-plan applied 1\nrun\t7-1\napplied\t/sys/a\t10\t2");
  EXPECT_EQ(read_applied_record(state, "7-1"), std::nullopt);
  state.write_whole(
      "session",
      "experiment\ta.yaml\nsince\tnow\nboot_id\tb\npid\t7\nuser\t0\nrun\t7-1\nregion_folder\t/run/x\n"
      "control_group\t\nsettings\t2\n");
  const auto session = read_session_record(state);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->run, "7-1");
  EXPECT_EQ(session->settings, 2U);
  EXPECT_EQ(session->started, 0);
  EXPECT_FALSE(session_record_is_damaged(state));
  state.write_whole("session", "experiment\ta.yaml\nsi");
  EXPECT_FALSE(read_session_record(state));
  EXPECT_TRUE(session_record_is_damaged(state));
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
  std::filesystem::create_symlink(folder / "precious", folder / "state/journal");
  EXPECT_THAT(message_of([&] { state.read("journal"); }), HasSubstr("Too many levels of symbolic links"));
  state.write_durably("journal", "new");  // replaces the link, not what it points to
  EXPECT_EQ(folder.read("precious"), "keep me");
  EXPECT_EQ(state.read("journal"), "new");
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
  const Journal journal{
      "sweep.yaml", "now",
      "boot",       "",
      42,           1000,
      "run",        {{"cpu.frequency", "/sys/a", "1"}, {"sysfs.x", "/sys/b", "two\twords\n\\ and a third"}}};
  write_journal(state, journal);
  const auto read = read_journal(state);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings, journal.settings);
  EXPECT_EQ(read->run, "run");
  EXPECT_EQ(read->user, 1000U);
}

TEST(Journal, ADamagedOneIsNeverThrownAway) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  write_journal(state, {"sweep.yaml", "now", "boot", "", 42, 0, "run", {{"k", "/sys/a", "1"}}});
  const std::string whole = *state.read("journal");
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    state.write_durably("journal", whole.substr(0, size));
    EXPECT_THAT(message_of([&] { read_journal(state); }), HasSubstr("journal cannot be understood")) << size;
    EXPECT_TRUE(state.read("journal"));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      state.write_durably("journal", changed);
      EXPECT_THAT(message_of([&] { read_journal(state); }), HasSubstr("journal cannot be understood"))
          << i << ' ' << bit;
    }
  }
  std::string changed = whole;
  changed.replace(changed.find("/sys/a\t1") + 7, 1, "3");
  state.write_durably("journal", changed);
  EXPECT_THAT(
      message_of([&] { read_journal(state); }),
      HasSubstr("it was changed since it was written: its checksum is another; it says:\n  /sys/a was '3'"));
}

TEST(Journal, OneOfTheVersionBeforeIsUnderstood) {
  TemporaryFolder folder;
  StateFolder state(folder / "state");
  state.write_durably(
      "journal",
      "dvfs-plan journal 2\nexperiment\ta.yaml\nsaved_at\tnow\nboot_id\tb\nsysfs_root\t\npid\t7\n"
      "user\t0\nrun\t7-1\nsetting\tk\t/sys/a\t1\nend\n");
  const auto read = read_journal(state);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings, (std::vector<SavedSetting>{{"k", "/sys/a", "1"}}));
}

GuardWish wish(const TemporaryFolder& root, const TemporaryFolder& folder, const std::string& experiment) {
  return {.experiment = experiment, .state_folder = folder / "state", .sysfs_root = root.path()};
}

TEST(GuardClient, TheNextStartPutsBackWhatADeadRunLeft) {
  TemporaryFolder root, folder;
  machines::acpi_cpufreq(root);
  const Sysfs sysfs(root.path());
  const std::string limit = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq";
  {
    StateFolder state(folder / "state");
    write_journal(state, {"sweep.yaml",
                          "then",
                          "another boot",
                          root.path(),
                          1,
                          ::geteuid(),
                          "run",
                          {{"cpu.frequency", limit, "3000000"}}});
  }
  sysfs.write(limit, "1000000");
  GuardClient guard(wish(root, folder, "next.yaml"));
  ASSERT_TRUE(guard.found_journal());
  EXPECT_EQ(guard.found_journal()->restored, 1);
  EXPECT_EQ(*sysfs.text(limit), "3000000");
  EXPECT_FALSE(StateFolder(folder / "state").read("journal"));
}

TEST(GuardClient, TheNextStartLeavesWhatSomebodySetBehindADeadRun) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  const std::string limit = "/sys/class/hwmon/hwmon3/power1_cap";
  const auto leave = [&](const std::string& run) {
    StateFolder state(folder / "state");
    write_journal(state, {"sweep.yaml",
                          "then",
                          boot_id(sysfs),
                          root.path(),
                          1,
                          ::geteuid(),
                          "run",
                          {{"gpu.power_limit", limit, "3000000"}}});
    write_applied_record(state, {run, {{limit, {"1000000"}}}, {}, {}});
  };
  const auto next = [&] {
    GuardClient guard(wish(root, folder, "next.yaml"));
    EXPECT_FALSE(StateFolder(folder / "state").read("journal"));
    EXPECT_FALSE(StateFolder(folder / "state").read("applied"));
    return counts_text(*guard.found_journal());
  };
  root.attribute(limit, "3000000");
  leave("run");
  sysfs.write(limit, "1000000");
  EXPECT_EQ(next(), "1 settings put back, 0 were as before");
  EXPECT_EQ(*sysfs.text(limit), "3000000");
  leave("run");
  sysfs.write(limit, "2000000");
  EXPECT_EQ(next(), "0 settings put back, 0 were as before, 1 left as somebody else has set it");
  EXPECT_EQ(*sysfs.text(limit), "2000000");
  leave("another run");  // says nothing of this one
  EXPECT_EQ(next(), "1 settings put back, 0 were as before");
  EXPECT_EQ(*sysfs.text(limit), "3000000");
}

TEST(GuardClient, AJournalOfAnotherTreeIsLeftAlone) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  {
    StateFolder state(folder / "state");
    write_journal(
        state,
        {"sweep.yaml", "then", "boot", "/somewhere/else", 1, ::geteuid(), "run", {{"k", "/sys/a", "1"}}});
  }
  EXPECT_THAT(message_of([&] { GuardClient guard(wish(root, folder, "next.yaml")); }),
              HasSubstr("is of another machine tree ('/somewhere/else')"));
  EXPECT_TRUE(StateFolder(folder / "state").read("journal"));
}

TEST(GuardClient, WhatWentWithAReboot) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  const auto leave = [&](const std::string& boot) {
    StateFolder state(folder / "state");
    write_journal(
        state, {"sweep.yaml", "then", boot, root.path(), 1, ::geteuid(), "run", {{"k", "/sys/gone", "1"}}});
  };
  leave("another boot");
  {
    GuardClient guard(wish(root, folder, "next.yaml"));
    EXPECT_THAT(guard.found_journal()->notes,
                ElementsAre("/sys/gone is gone since the reboot; it was not put back"));
  }
  leave(boot_id(sysfs));
  EXPECT_THAT(message_of([&] { GuardClient guard(wish(root, folder, "next.yaml")); }),
              HasSubstr("1 of 1 settings could not be put back"));
  GuardWish giving_up = wish(root, folder, "restore");
  giving_up.discards = true;
  GuardClient gives_up(giving_up);
  EXPECT_FALSE(StateFolder(folder / "state").read("journal"));
  EXPECT_TRUE(StateFolder(folder / "state").read("journal.discarded"));
  // What is given up later is kept beside it.
  StateFolder state(folder / "state");
  for (const char* later : {"second", "second", "third"}) {
    Journal journal;
    journal.experiment = later;
    write_journal(state, journal);
    set_journal_aside(state);
  }
  EXPECT_THAT(*state.read("journal.discarded-2"), HasSubstr("second"));
  EXPECT_THAT(*state.read("journal.discarded-3"), HasSubstr("third"));
  EXPECT_FALSE(state.read("journal.discarded-4"));
}

TEST(GuardClient, ASecondSweepIsRefusedWithTheHolder) {
  TemporaryFolder root, folder;
  const Sysfs sysfs(root.path());
  GuardClient guard(wish(root, folder, "first.yaml"));
  EXPECT_THAT(message_of([&] { GuardClient second(wish(root, folder, "second.yaml")); }),
              HasSubstr("another sweep is running on this machine (pid " + std::to_string(::getpid()) +
                        ", first.yaml, since "));
}

// Nodes of a cluster share their users' homes: one of them must not wait for another, nor put back what is set on another.
TEST(StateFolderOfAUser, IsTheMachinesOwn) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(2);
    ::setenv("XDG_STATE_HOME", "/home/u/state", 1);
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    const std::string folder = default_state_folder();
    // With an id behind the name, where the machine has one.
    const bool has_id = Sysfs().text("/etc/machine-id").value_or("").size() == 32;
    const std::string named = std::string("/home/u/state/dvfs-plan/") + host;
    ::_exit(folder.starts_with(named) && folder.size() == named.size() + (has_id ? 9 : 0) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(MachineMarks, AreOfCardsThatWereMadeWithTheirAddress) {
  TemporaryFolder root;
  const Sysfs one(root.path());
  EXPECT_EQ(machine_marks(one), "");
  root.attribute("/sys/class/net/lo/address", "00:00:00:00:00:00");
  root.attribute("/sys/class/net/lo/addr_assign_type", "0");
  root.attribute("/sys/class/net/veth0/address", "02:42:ac:11:00:02");
  root.attribute("/sys/class/net/veth0/addr_assign_type", "3");
  EXPECT_EQ(machine_marks(one), "");
  root.attribute("/sys/class/net/eth0/address", "52:54:00:12:34:56");
  root.attribute("/sys/class/net/eth0/addr_assign_type", "0");
  root.attribute("/sys/class/net/eth0/device/vendor", "0x1af4");
  const std::string marks = machine_marks(one);
  EXPECT_EQ(marks.size(), 8U);
  EXPECT_EQ(marks.find(':'), std::string::npos);
  // A card more, or another one, of a machine that has kept one.
  EXPECT_EQ(share_a_mark(marks, "00000000\n" + marks), true);
  EXPECT_EQ(share_a_mark("00000000\n" + marks + "\n", marks), true);
  EXPECT_EQ(share_a_mark("00000000", marks), false);
  EXPECT_EQ(share_a_mark("", marks), std::nullopt);
  EXPECT_EQ(share_a_mark(marks, ""), std::nullopt);
}

}  // namespace
}  // namespace dvfs_plan
