// What was set, looked at again: on a tree of files, as the kernel's attributes are.
#include "orchestrator/settings/settings_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan {
namespace {

const std::string policy = "/sys/devices/system/cpu/cpufreq/policy0/";

class Watch : public testing::Test {
 protected:
  Watch() {
    root_.attribute(policy + "scaling_governor", "powersave");
    root_.attribute(policy + "scaling_max_freq", "3000000");
    root_.attribute(policy + "scaling_min_freq", "1000000");
    root_.attribute(policy + "scaling_setspeed", "<unsupported>");
    root_.attribute(policy + "bios_limit", "3000000");
    for (const char* file : {"scaling_governor", "scaling_max_freq", "scaling_min_freq", "scaling_setspeed"})
      settings_.push_back({"cpu.governor", policy + file, ""});
  }
  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
  SystemClock clock_;
  std::vector<SavedSetting> settings_;
};

TEST_F(Watch, NothingChangedIsNothingTold) {
  SettingsWatch watch(settings_, sysfs_, clock_);
  watch.begin();
  watch.look();
  EXPECT_TRUE(watch.end().value().empty());
}

TEST_F(Watch, AChangeIsSeenWhereItHappensAndSaysWhen) {
  SettingsWatch watch(settings_, sysfs_, clock_);
  watch.begin();
  const Nanoseconds before = clock_.now();
  root_.attribute(policy + "scaling_governor", "performance");
  watch.look();
  root_.attribute(policy + "scaling_governor", "powersave");  // and back again
  const auto changes = watch.end().value();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_FALSE(changes[0].by_firmware);
  ASSERT_TRUE(changes[0].first_seen);
  EXPECT_GE(*changes[0].first_seen, before);
  EXPECT_LE(*changes[0].first_seen, clock_.now());
  EXPECT_EQ(change_text(changes[0], *changes[0].first_seen - 250'000'000),
            "cpu.governor: " + policy +
                "scaling_governor was 'powersave' and reads 'performance', first seen 0.25 s after "
                "the trial began");
  watch.begin();
  EXPECT_TRUE(watch.end().value().empty());
}

TEST_F(Watch, WhatOnlyTheEndSawSaysSo) {
  SettingsWatch watch(settings_, sysfs_, clock_);
  watch.begin();
  root_.attribute(policy + "scaling_min_freq", "2000000");
  const auto changes = watch.end().value();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(change_text(changes[0], 0),
            "cpu.governor: " + policy +
                "scaling_min_freq was '1000000' and reads '2000000', seen at the trial's end");
}

TEST_F(Watch, EachLookOfTheSamplersPeriodIsMade) {
  // On a clock on which a look costs nothing: one that is slow is made more seldom, and a busy machine is
  // slow.
  VirtualClock clock;
  clock.sleep_until(1'000'000'000);
  SettingsWatch watch(settings_, sysfs_, clock);
  watch.begin();
  for (int i = 0; i < 20; ++i) watch.look();
  root_.attribute(policy + "scaling_governor", "performance");
  watch.look();
  EXPECT_TRUE(watch.end().value().front().first_seen);
}

TEST_F(Watch, ACapOfTheFirmwareThatComesOrGoesIsNobodysDoing) {
  SettingsWatch watch(settings_, sysfs_, clock_);
  watch.begin();
  root_.attribute(policy + "bios_limit", "1200000");
  root_.attribute(policy + "scaling_max_freq", "1200000");
  ASSERT_EQ(watch.end().value().size(), 1U);
  EXPECT_TRUE(watch.end().value()[0].by_firmware);
  watch.begin();
  root_.attribute(policy + "bios_limit", "3000000");
  root_.attribute(policy + "scaling_max_freq", "3000000");
  ASSERT_EQ(watch.end().value().size(), 1U);
  EXPECT_TRUE(watch.end().value()[0].by_firmware);
}

TEST_F(Watch, CoolingByTheKernelIsNobodysDoing) {
  root_.attribute("/sys/class/thermal/cooling_device0/type", "Processor");
  root_.attribute("/sys/class/thermal/cooling_device0/cur_state", "0");
  SettingsWatch watch(settings_, sysfs_, clock_);
  watch.begin();
  root_.attribute(policy + "scaling_max_freq", "2000000");
  EXPECT_FALSE(watch.end().value()[0].by_firmware);
  watch.begin();
  root_.attribute("/sys/class/thermal/cooling_device0/cur_state", "2");
  root_.attribute(policy + "scaling_max_freq", "1500000");
  EXPECT_TRUE(watch.end().value()[0].by_firmware);
}

}  // namespace
}  // namespace dvfs_plan
