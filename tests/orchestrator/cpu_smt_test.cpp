// cpu.smt on a tree of two cores with two threads each (CPUs 0 and 1, and 2 and 3 as their further threads), with a kernel of ours that does
// what cpuhp_smt_disable() and cpuhp_smt_enable() do to these files (kernel/cpu.c). The kernel itself: tests/system/test_threads.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/setting_access.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

const std::string cpus = "/sys/devices/system/cpu/";
const std::string control = cpus + "smt/control";
const std::string third = cpus + "cpufreq/policy2/", fourth = cpus + "cpufreq/policy3/";

class Threads : public testing::Test, public SettingWriter {
 protected:
  Threads() {
    root_.attribute(control, "on");
    root_.attribute(cpus + "online", "0-3");
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string own = cpus + "cpu" + std::to_string(cpu);
      if (cpu > 0) root_.attribute(own + "/online", "1");
      root_.attribute(own + "/topology/thread_siblings_list", cpu % 2 == 0 ? "0,2" : "1,3");
      comes(cpu);
    }
  }

  // A CPU's policy and idle states as its drivers make them.
  void comes(int cpu) {
    const std::string policy = cpus + "cpufreq/policy" + std::to_string(cpu) + "/";
    root_.attribute(policy + "affected_cpus", std::to_string(cpu));
    root_.attribute(policy + "related_cpus", std::to_string(cpu));
    root_.attribute(policy + "scaling_driver", "intel_cpufreq");
    root_.attribute(policy + "scaling_governor", "schedutil");
    root_.attribute(policy + "scaling_available_governors", "performance powersave schedutil");
    root_.attribute(policy + "scaling_min_freq", "800000");
    root_.attribute(policy + "scaling_max_freq", "3000000");
    root_.attribute(policy + "cpuinfo_min_freq", "800000");
    root_.attribute(policy + "cpuinfo_max_freq", "3000000");
    for (const char* state : {"state0", "state1"}) {
      const std::string idle = cpus + "cpu" + std::to_string(cpu) + "/cpuidle/" + state;
      root_.attribute(idle + "/name", std::string(state) == "state0" ? "POLL" : "C1");
      root_.attribute(idle + "/disable", "0");
    }
  }
  void kernel() {
    for (const int cpu : {2, 3}) {
      const std::string own = cpus + "cpu" + std::to_string(cpu);
      const std::string policy = cpus + "cpufreq/policy" + std::to_string(cpu);
      const bool there = sysfs_.exists(policy + "/scaling_max_freq");
      if (sysfs_.text(control) == "off" && there) {
        std::filesystem::remove_all(root_.path() + policy);
        std::filesystem::remove_all(root_.path() + own + "/cpuidle");
        root_.attribute(own + "/online", "0");
      } else if (sysfs_.text(control) == "on" && !there) {
        comes(cpu);
        root_.attribute(own + "/online", "1");
      }
    }
  }
  std::vector<WriteAnswer> write(const std::vector<SettingText>& requests) override {
    auto answers = writer_.write(requests);
    if (obeys_) kernel();
    return answers;
  }
  using SettingWriter::write;

  std::vector<KnobFinding> knobs(const std::vector<std::string>& axes) {
    auto found = find_knobs(axes, sysfs_, {});
    for (const KnobFinding& one : found) EXPECT_TRUE(one.knob) << one.axis << ": " << one.problem;
    return found;
  }
  static AxisValue word(const std::string& text) { return {text, std::nullopt}; }
  static AxisValue megahertz(double value) {
    return {std::to_string(static_cast<int>(value)) + " MHz", value * 1e6, Dimension::frequency};
  }
  static std::vector<std::string> targets(const std::vector<AppliedSetting>& applied) {
    std::vector<std::string> names;
    for (const AppliedSetting& one : applied) {
      EXPECT_EQ(one.problem, "");
      names.push_back(one.target);
    }
    return names;
  }

  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
  TrackingWriter writer_{sysfs_, {}};
  bool obeys_ = true;
};

// The only policy of a governor takes its tunables along: cpufreq/conservative of all policies together is made anew with the first one.
TEST_F(Threads, TheTunablesOfAGovernorThatOnlyAThreadHasAreSetAgain) {
  const std::string tunable = cpus + "cpufreq/conservative/up_threshold";
  root_.attribute(fourth + "scaling_governor", "conservative");
  root_.attribute(fourth + "scaling_available_governors", "performance powersave schedutil conservative");
  root_.attribute(tunable, "66");
  const auto found = knobs({"cpu.smt"});
  Knob& smt = *found[0].knob;
  const auto saved = smt.snapshot();
  EXPECT_TRUE(std::any_of(saved.begin(), saved.end(),
                          [&](const SavedSetting& one) { return one.path == tunable && one.value == "66"; }));
  EXPECT_THAT(targets(smt.apply(word("off"), *this)), ElementsAre("machine"));
  root_.attribute(tunable, "80");  // as it begins
  EXPECT_THAT(targets(smt.apply(word("on"), *this)), ElementsAre("machine"));
  EXPECT_EQ(sysfs_.text(tunable), "66");
}

TEST_F(Threads, InterruptsThatAreMovedForGoodAreTold) {
  root_.attribute("/proc/irq/4/smp_affinity_list", "2-3");
  root_.attribute("/proc/irq/9/smp_affinity_list", "3");
  root_.attribute("/proc/irq/1/smp_affinity_list", "0-3");
  const auto found = knobs({"cpu.smt"});
  const auto off = found[0].knob->apply(word("off"), *this);
  EXPECT_EQ(
      off.at(0).note,
      "interrupts 4,9 were bound to CPUs that are switched off now: the kernel moves them, and they are "
      "not put back (/proc/irq/N/smp_affinity_list)");
  EXPECT_EQ(found[0].knob->apply(word("on"), *this).at(0).note, "");
}

TEST_F(Threads, WhatAThreadHadSetIsSetAgainWhenItComesBack) {
  // Its owner's, and not what the drivers begin with.
  root_.attribute(fourth + "scaling_governor", "powersave");
  root_.attribute(fourth + "scaling_max_freq", "2000000");
  root_.attribute(cpus + "cpu3/cpuidle/state1/disable", "1");
  const auto found = knobs({"cpu.smt"});
  Knob& smt = *found[0].knob;
  EXPECT_THAT(targets(smt.apply(word("off"), *this)), ElementsAre("machine"));
  EXPECT_FALSE(sysfs_.exists(fourth + "scaling_governor"));
  EXPECT_EQ(smt.apply(word("on"), *this).at(0).applied, "on");
  EXPECT_EQ(sysfs_.text(fourth + "scaling_governor"), "powersave");
  EXPECT_EQ(sysfs_.text(fourth + "scaling_max_freq"), "2000000");
  EXPECT_EQ(sysfs_.text(cpus + "cpu3/cpuidle/state1/disable"), "1");
  EXPECT_EQ(sysfs_.text(third + "scaling_governor"), "schedutil");
}

TEST_F(Threads, WhileTheyAreOffTheOtherKnobsSetTheRest) {
  const auto found = knobs({"cpu.frequency", "cpu.governor", "cpu.cstates", "cpu.cores", "cpu.smt"});
  EXPECT_EQ(found[0].axis, "cpu.smt") << "it is set first";
  std::map<std::string, Knob*> by_name;
  for (const KnobFinding& one : found) by_name[one.axis] = one.knob.get();
  by_name["cpu.smt"]->apply(word("off"), *this);
  EXPECT_THAT(targets(by_name["cpu.frequency"]->apply(megahertz(1500), *this)),
              ElementsAre("policy0", "policy1"));
  EXPECT_THAT(targets(by_name["cpu.governor"]->apply(word("powersave"), *this)),
              ElementsAre("policy0", "policy1"));
  EXPECT_THAT(targets(by_name["cpu.cstates"]->apply(word("POLL"), *this)), ElementsAre("cpus 0-1"));
  EXPECT_THAT(by_name["cpu.cores"]->workload_cpus({"2", 2.0}), ElementsAre(0, 1));
  EXPECT_EQ(by_name["cpu.cores"]->apply({"3", 3.0}, *this).at(0).problem,
            "cpu.cores: asked for 3 CPUs, and 2 are there while cpu.smt is off: leave such points out with "
            "'exclude'");
  by_name["cpu.smt"]->apply(word("on"), *this);
  EXPECT_THAT(targets(by_name["cpu.frequency"]->apply(megahertz(1500), *this)),
              ElementsAre("policy0", "policy1", "policy2", "policy3"));
  EXPECT_EQ(sysfs_.text(fourth + "scaling_max_freq"), "1500000");
  EXPECT_THAT(by_name["cpu.cores"]->workload_cpus({"3", 3.0}), ElementsAre(0, 1, 2));
}

// Without cpu.smt among the axes nobody may take a CPU away in silence.
TEST_F(Threads, WhatSomebodyElseSwitchesOffIsAFault) {
  const auto found = knobs({"cpu.frequency"});
  root_.attribute(control, "off");
  kernel();
  const auto applied = found[0].knob->apply(megahertz(1500), *this);
  ASSERT_EQ(applied.size(), 4U);
  EXPECT_NE(applied[2].problem, "");
}

TEST_F(Threads, AllOfItIsPutBackTheSwitchFirst) {
  root_.attribute(fourth + "scaling_governor", "powersave");
  root_.attribute(cpus + "cpu1/online", "1");
  const auto found = knobs({"cpu.smt", "cpu.frequency"});
  const auto saved = settings_of(found);
  EXPECT_EQ(saved.front().path, control);
  found[0].knob->apply(word("off"), *this);
  found[1].knob->apply(megahertz(1500), *this);
  // The kernel has done it when write(2) returns; this one is asked behind it.
  SettingAccess access(sysfs_, {});
  restore_settings({saved.front()}, access, {&writer_.applied()});
  kernel();
  const auto outcome = restore_settings(saved, access, {&writer_.applied()});
  EXPECT_TRUE(outcome.complete());
  EXPECT_THAT(outcome.notes, ElementsAre());
  EXPECT_EQ(sysfs_.text(control), "on");
  EXPECT_EQ(sysfs_.text(fourth + "scaling_governor"), "powersave");
  EXPECT_EQ(sysfs_.text(cpus + "cpufreq/policy0/scaling_max_freq"), "3000000");
}

TEST_F(Threads, WhatIsNotDoneIsTold) {
  const auto found = knobs({"cpu.smt"});
  obeys_ = false;
  EXPECT_EQ(found[0].knob->apply(word("off"), *this).at(0).problem,
            "cpu.smt: /sys/devices/system/cpu/smt/control says off, and cpus 2-3 are online still");
  root_.attribute(control, "on");
  EXPECT_EQ(
      found[0].knob->apply(word("off"), *this).at(0).note,
      "/sys/devices/system/cpu/smt/control was 'on' before this trial; this run had set off: somebody else "
      "changed it");
}

TEST_F(Threads, WhereThereIsNothingToSwitchItSaysWhy) {
  const auto why = [&](const std::string& text) {
    root_.attribute(control, text);
    return find_knobs({"cpu.smt"}, sysfs_, {})[0].problem;
  };
  EXPECT_EQ(why("notsupported"),
            "the cores have one thread each here, or the firmware has switched the others off "
            "(/sys/devices/system/cpu/smt/control is 'notsupported')");
  EXPECT_EQ(
      why("forceoff"),
      "it is off for good: /sys/devices/system/cpu/smt/control is 'forceoff' (nosmt=force in /proc/cmdline)");
  EXPECT_EQ(why("off"),
            "it is off now, and of CPUs that are not there nothing can be put on record; switch it on for "
            "the sweep: "
            "echo on | sudo tee /sys/devices/system/cpu/smt/control");
  EXPECT_EQ(why("2"),
            "only 'on' and 'off' are known here, with more than one thread a core online; "
            "/sys/devices/system/cpu/smt/control is '2'");
  root_.attribute(control, "on");
  EXPECT_EQ(find_knobs({"cpu.smt@0"}, sysfs_, {})[0].problem,
            "SMT is one switch of the whole machine: it takes no '@'");
  std::filesystem::remove_all(root_.path() + cpus + "smt");
  EXPECT_EQ(find_knobs({"cpu.smt"}, sysfs_, {})[0].problem,
            "this kernel has no switch for it (no /sys/devices/system/cpu/smt/control)");
}

}  // namespace
}  // namespace dvfs_plan
