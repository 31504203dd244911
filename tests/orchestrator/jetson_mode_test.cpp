// jetson.mode on a tree: a configuration in the form of Jetson AGX Orin's (Jetson Linux 35 and 36) and an nvpmodel of ours, which
// prints what the real one prints, sets the files that the configuration names, and asks to reboot where the real one does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guardian/known_settings.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/nvpmodel_setting.hpp"
#include "orchestrator/settings/setting_access.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* configuration = R"(# nvpmodel.conf
< PARAM TYPE=FILE NAME=CPU_ONLINE >
CORE_0 /sys/devices/system/cpu/cpu0/online
CORE_1 /sys/devices/system/cpu/cpu1/online

< PARAM TYPE=FILE NAME=GPU_POWER_CONTROL_ENABLE >
GPU_PWR_CNTL_EN /sys/devices/gpu.0/power/control

< PARAM TYPE=FILE NAME=GPU_POWER_CONTROL_DISABLE >
GPU_PWR_CNTL_DIS /sys/devices/gpu.0/power/control

< PARAM TYPE=CLOCK NAME=CPU_A78_0 >
FREQ_TABLE /sys/devices/system/cpu/cpu0/cpufreq/scaling_available_frequencies
MAX_FREQ /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq
MIN_FREQ /sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq
FREQ_TABLE_KNEXT /sys/devices/system/cpu/cpu0/cpufreq/scaling_available_frequencies
MAX_FREQ_KNEXT /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq
MIN_FREQ_KNEXT /sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq

< PARAM TYPE=CLOCK NAME=GPU >
MAX_FREQ /sys/devices/17000000.ga10b/devfreq/17000000.ga10b/max_freq

< POWER_MODEL ID=0 NAME=MAXN >
CPU_ONLINE CORE_0 1
CPU_ONLINE CORE_1 1
CPU_A78_0 MAX_FREQ -1
GPU MAX_FREQ -1

< POWER_MODEL ID=1 NAME=MODE_15W >
CPU_ONLINE CORE_1 0
CPU_A78_0 MAX_FREQ 1113600
GPU MAX_FREQ 420750000

< POWER_MODEL ID=2 NAME=MODE_30W >
CPU_ONLINE CORE_1 1
CPU_A78_0 MAX_FREQ 1728000
GPU MAX_FREQ 624750000

< POWER_MODEL ID=3 NAME=MODE_50W >
CPU_ONLINE CORE_1 1

# mandatory section to configure the default power mode
< PM_CONFIG DEFAULT=2 >
)";

// Mode 3 takes a reboot. What it prints: developer guides and captures of R35 and R36.
constexpr const char* program = R"sh(#!/bin/sh
root=${0%/usr/sbin/nvpmodel}
cpu=$root/sys/devices/system/cpu
gpu=$root/sys/devices/17000000.ga10b/devfreq/17000000.ga10b
name() { sed -n "s/^< POWER_MODEL ID=$1 NAME=\(.*\) >/\1/p" $root/etc/nvpmodel.conf; }
echo "NVPM WARN: Golden image context is already created" >&2
if [ "$1" = -q ]; then
  mode=$(cat $root/mode)
  [ -n "$mode" ] || { echo "NVPM ERROR: failed to read PMODE status" >&2; exit 255; }
  echo "NV Power Mode: $(name $mode)"
  echo $mode
  exit 0
fi
[ ! -e $root/refuses ] || { echo "NVPM ERROR: Error opening /var/lib/nvpmodel/status: 13" >&2; exit 255; }
[ ! -e $root/lies ] || exit 0
case $2 in
  0) echo 1 >$cpu/cpu1/online; echo 2201600 >$cpu/cpu0/cpufreq/scaling_max_freq; echo 1300500000 >$gpu/max_freq;;
  1) echo 0 >$cpu/cpu1/online; echo 1113600 >$cpu/cpu0/cpufreq/scaling_max_freq; echo 420750000 >$gpu/max_freq;;
  2) echo 1 >$cpu/cpu1/online; echo 1728000 >$cpu/cpu0/cpufreq/scaling_max_freq; echo 624750000 >$gpu/max_freq;;
  3) echo "NVPM WARN: Reboot required for changing to this power mode: 3"
     echo "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:"
     read answer && [ "$answer" = YES ] && echo "NVPM WARN: rebooting" && touch $root/rebooted
     echo "NVPM ERROR: bad input!"; echo "NVPM ERROR: optMask is 1, no request for power mode"; exit 0;;
esac
echo $2 >$root/mode
)sh";

constexpr const char* online = "/sys/devices/system/cpu/cpu1/online";
constexpr const char* cpu_limit = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq";
constexpr const char* gpu_limit = "/sys/devices/17000000.ga10b/devfreq/17000000.ga10b/max_freq";

class Jetson : public testing::Test {
 protected:
  Jetson() {
    root_.file(nvpmodel_configuration, configuration);
    root_.file(nvpmodel_program, program);
    ::chmod((root_.path() + nvpmodel_program).c_str(), 0755);
    root_.attribute("/mode", "2");
    root_.attribute("/sys/devices/system/cpu/cpu0/online", "1");
    root_.attribute(online, "1");
    root_.attribute(cpu_limit, "1728000");
    root_.attribute("/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "115200");
    root_.attribute(gpu_limit, "624750000");
  }
  std::unique_ptr<Knob> knob() {
    auto found = find_knobs({"jetson.mode"}, sysfs_, {});
    EXPECT_TRUE(found[0].knob) << found[0].problem;
    return std::move(found[0].knob);
  }
  static AxisValue mode(const std::string& name) { return {name, std::nullopt}; }

  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
  TrackingWriter writer_{sysfs_, {}};
};

TEST_F(Jetson, AModeIsSetByItsNameAndReadBack) {
  const auto jetson = knob();
  std::vector<std::string> offered;
  for (const AxisValue& value : jetson->offer().values) offered.push_back(value.text);
  EXPECT_THAT(offered, ElementsAre("MAXN", "MODE_15W", "MODE_30W", "MODE_50W"));
  const auto applied = jetson->apply(mode("MODE_15W"), writer_).at(0);
  EXPECT_EQ(applied.problem, "");
  EXPECT_EQ(applied.applied, "MODE_15W");
  EXPECT_EQ(sysfs_.text(online), "0");
  root_.attribute("/mode", "0");
  EXPECT_EQ(jetson->apply(mode("MODE_30W"), writer_).at(0).note,
            "the power mode was MAXN before this trial; this run had set MODE_15W: somebody else changed it");
}

// Its owner had lowered a limit below the mode's own: going back to the mode alone would raise it.
TEST_F(Jetson, WhatAModeWritesByTheWayIsPutBackAsItWas) {
  root_.attribute(cpu_limit, "1420800");
  const auto jetson = knob();
  const auto saved = jetson->snapshot();
  std::vector<std::string> paths;
  for (const SavedSetting& one : saved) paths.push_back(one.path);
  EXPECT_THAT(paths, ElementsAre("nvpmodel:mode", "/sys/devices/system/cpu/cpu0/online", online, cpu_limit,
                                 "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", gpu_limit))
      << "each once, and only what is there";
  for (const char* name : {"MODE_15W", "MAXN"}) {
    EXPECT_EQ(jetson->apply(mode(name), writer_).at(0).problem, "");
    SettingAccess access(sysfs_, {});
    const auto outcome = restore_settings(saved, access, {&writer_.applied()});
    EXPECT_TRUE(outcome.complete()) << name;
    EXPECT_THAT(outcome.notes, ElementsAre());
    EXPECT_EQ(root_.read("/mode"), "2\n");
    EXPECT_EQ(sysfs_.text(online), "1");
    EXPECT_EQ(sysfs_.text(cpu_limit), "1420800");
    EXPECT_EQ(sysfs_.text(gpu_limit), "624750000");
  }
}

TEST_F(Jetson, AModeThatTakesARebootIsNotSetAndNothingIsRebooted) {
  const auto applied = knob()->apply(mode("MODE_50W"), writer_).at(0);
  EXPECT_EQ(applied.problem,
            "jetson.mode: asked for MODE_50W: mode 3 takes a reboot, so no sweep can set it: leave it out of "
            "the values");
  EXPECT_EQ(applied.applied, "MODE_30W");
  EXPECT_FALSE(sysfs_.exists("/rebooted"));
}

TEST_F(Jetson, RefusalsAndLiesAreToldAndTheWayBackIsNamed) {
  root_.file("/lies", "");
  EXPECT_EQ(knob()->apply(mode("MAXN"), writer_).at(0).problem,
            "jetson.mode: asked for MAXN, and nvpmodel says MODE_30W");
  root_.file("/refuses", "");
  EXPECT_EQ(knob()->apply(mode("MAXN"), writer_).at(0).problem,
            "jetson.mode: asked for MAXN: nvpmodel refuses (exit code 255): NVPM ERROR: Error opening "
            "/var/lib/nvpmodel/status: 13");
  root_.attribute("/mode", "0");
  SettingAccess access(sysfs_, {});
  const auto outcome = restore_settings({{"jetson.mode", "nvpmodel:mode", "2"}}, access);
  EXPECT_FALSE(outcome.complete());
  EXPECT_THAT(restore_commands(outcome), ElementsAre("sudo nvpmodel -m 2"));
  root_.file("/mode", "");
  try {
    knob()->snapshot();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "the power mode cannot be read now, so it could not be put back: nvpmodel -q does not tell the mode: "
        "NVPM ERROR: failed to read PMODE status");
  }
}

TEST(JetsonMode, OtherMachinesHaveNone) {
  TemporaryFolder root;
  const Sysfs sysfs(root.path());
  EXPECT_EQ(
      find_knobs({"jetson.mode"}, sysfs, {})[0].problem,
      "this machine has no power modes: there is no /usr/sbin/nvpmodel with /etc/nvpmodel.conf, as an NVIDIA "
      "Jetson has");
  EXPECT_EQ(find_knobs({"jetson.mode@0"}, sysfs, {})[0].problem,
            "a power mode is of the whole machine: it takes no '@'");
  // A guardian with more rights than its client sets none: the limits that a mode takes along are not the client's to put on record.
  EXPECT_FALSE(known_setting("nvpmodel:mode"));
}

}  // namespace
}  // namespace dvfs_plan
