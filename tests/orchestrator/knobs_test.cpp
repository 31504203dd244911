// Knobs on recorded machines: what they offer, what they save, in which order they write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string cpufreq = "/sys/devices/system/cpu/cpufreq/";

class KnobTest : public testing::Test {
 protected:
  KnobFinding find(const std::string& axis, const std::vector<SysfsKnobSpec>& specs = {}) {
    auto found = find_knobs({axis}, sysfs_, {.sysfs = specs});
    return std::move(found.at(0));
  }
  std::vector<std::string> offers(const std::string& axis) {
    const auto finding = find(axis);
    if (!finding.knob) return {finding.problem};
    std::vector<std::string> texts;
    for (const AxisValue& value : finding.knob->offer().values) texts.push_back(value.text);
    return texts;
  }
  std::string problem(const std::string& axis) { return find(axis).problem; }
  std::string policy(int number, const std::string& file) {
    return *sysfs_.text(cpufreq + "policy" + std::to_string(number) + "/" + file);
  }

  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
  TrackingWriter writer_{sysfs_, {}};
};

AxisValue hertz(double value) {
  return {format(Hertz{value}), value, Dimension::frequency};
}

TEST_F(KnobTest, SlurmSetsClocksWithinAJobOnly) {
  machines::acpi_cpufreq(root_);
  const auto found = find_knobs({"cpu.frequency"}, sysfs_, {}, {}, {{"cpu.frequency", "slurm"}});
  ASSERT_EQ(found.at(0).knob, nullptr);
  EXPECT_THAT(
      found.at(0).problem,
      testing::AnyOf("'by: slurm' needs Slurm's commands, and srun is not in PATH",
                     "'by: slurm' sets the clock of a job's CPUs, and this is not within a job; write  "
                     "machines: {slurm: ...}  or start dvfs-plan by sbatch"));
}

TEST_F(KnobTest, AcpiCpufreqOffersItsTable) {
  machines::acpi_cpufreq(root_);
  EXPECT_THAT(offers("cpu.frequency"),
              ElementsAre("1 GHz", "1.4 GHz", "1.8 GHz", "2.2 GHz", "2.6 GHz", "3 GHz"));
  EXPECT_THAT(offers("cpu.turbo"), ElementsAre("off", "on"));
  EXPECT_EQ(problem("cpu.epp"),
            "driver acpi-cpufreq has no energy_performance_preference; it takes intel_pstate or amd-pstate "
            "in active mode");
}

TEST_F(KnobTest, IntelPstateIsContinuousInStepsOfTheBusClock) {
  machines::intel_pstate(root_, true);
  const auto offer = find("cpu.frequency").knob->offer();
  EXPECT_EQ(offer.values.size(), 41U);  // 0.8 to 4.8 GHz by 100 MHz
  EXPECT_EQ(offer.continuous->highest, 4.8e9);
  EXPECT_THAT(offers("cpu.governor"), ElementsAre("performance", "powersave"));
  EXPECT_THAT(offers("cpu.epp"),
              ElementsAre("default", "performance", "balance_performance", "balance_power", "power"));
}

TEST_F(KnobTest, IntelPstatePassiveHasTheGenericGovernorsAndNoPreference) {
  machines::intel_pstate(root_, false);
  EXPECT_THAT(offers("cpu.governor"), testing::Contains("userspace"));
  EXPECT_THAT(problem("cpu.epp"), HasSubstr("driver intel_cpufreq has no energy_performance_preference"));
}

TEST_F(KnobTest, AmdPstateSwitchesBoostByPolicy) {
  machines::amd_pstate_epp(root_);
  auto finding = find("cpu.turbo@policy2");
  ASSERT_TRUE(finding.knob) << finding.problem;
  const auto applied = finding.knob->apply({"off", {}}, writer_);
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].applied, "off");
  EXPECT_EQ(policy(2, "boost"), "0");
  EXPECT_EQ(policy(1, "boost"), "1");
  EXPECT_THAT(offers("cpu.frequency").front(), "545 MHz");
}

TEST_F(KnobTest, NoTurboIsTheOtherWayRound) {
  machines::intel_pstate(root_, true);
  auto finding = find("cpu.turbo");
  EXPECT_EQ(finding.knob->apply({"off", {}}, writer_)[0].applied, "off");
  EXPECT_EQ(*sysfs_.text("/sys/devices/system/cpu/intel_pstate/no_turbo"), "1");
  EXPECT_EQ(problem("cpu.turbo@policy0"),
            "turbo is one switch for the whole machine here (/sys/devices/system/cpu/intel_pstate/no_turbo); "
            "write cpu.turbo");
}

TEST_F(KnobTest, AHybridMachineOffersWhatItsCoresHaveInCommon) {
  machines::hybrid(root_);
  EXPECT_EQ(offers("cpu.frequency").back(), "3.4 GHz");
  EXPECT_EQ(offers("cpu.frequency@P-cores").back(), "4.7 GHz");
  EXPECT_EQ(offers("cpu.frequency@E-cores").back(), "3.4 GHz");
  find("cpu.frequency@E-cores").knob->apply(hertz(2e9), writer_);
  EXPECT_EQ(policy(8, "scaling_max_freq"), "2000000");
  EXPECT_EQ(policy(7, "scaling_max_freq"), "4700000");
}

TEST_F(KnobTest, OneSiblingOfACoreIsRefused) {
  machines::hybrid(root_);
  EXPECT_EQ(
      problem("cpu.frequency@0"),
      "cpu0 and cpu1 are threads of one core, which runs at the higher of their requests; name both: @0-1");
  EXPECT_EQ(
      problem("cpu.frequency@policy3"),
      "cpu3 and cpu2 are threads of one core, which runs at the higher of their requests; name both: @2-3");
  EXPECT_EQ(problem("cpu.frequency@0-1"), "");
  EXPECT_EQ(problem("cpu.frequency@8"), "");
}

TEST_F(KnobTest, TargetsThatMeanNothing) {
  machines::acpi_cpufreq(root_);
  EXPECT_EQ(problem("cpu.frequency@policy9"), "there is no policy9; there are: policy0, policy2");
  EXPECT_EQ(problem("cpu.frequency@fast"),
            "'@fast' is neither a policy, a list of CPUs such as 0-3, P-cores nor E-cores");
  EXPECT_EQ(problem("cpu.frequency@0"), "policy0 sets CPUs 0-1 together; name all of them or none");
  EXPECT_EQ(problem("cpu.frequency@0-9"), "cpu4 is not there or not online");
  EXPECT_EQ(problem("cpu.frequency@P-cores"),
            "'P-cores' is for hybrid machines; this one has no /sys/devices/cpu_core");
}

// Whoever changes a governor in the night loses them, and the governor is put back.
TEST_F(KnobTest, OfAFrequencyTheTunablesOfItsGovernorsAreSavedToo) {
  machines::acpi_cpufreq(root_);
  root_.attribute(cpufreq + "policy0/scaling_governor", "ondemand");
  root_.attribute(cpufreq + "ondemand/up_threshold", "77");
  std::vector<std::string> saved;
  for (const SavedSetting& setting : find("cpu.frequency").knob->snapshot())
    saved.push_back(setting.path + "=" + setting.value);
  EXPECT_THAT(saved, testing::Contains(cpufreq + "ondemand/up_threshold=77"));
}

TEST_F(KnobTest, OnePolicyLeavesTheOtherAlone) {
  machines::acpi_cpufreq(root_);
  auto finding = find("cpu.frequency@policy2");
  const auto applied = finding.knob->apply(hertz(1.8e9), writer_);
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].target, "policy2");
  EXPECT_EQ(applied[0].applied, "1.8 GHz");
  EXPECT_EQ(policy(2, "scaling_min_freq") + policy(2, "scaling_max_freq"), "18000001800000");
  EXPECT_EQ(policy(0, "scaling_min_freq") + policy(0, "scaling_max_freq"), "10000003000000");
  for (const SavedSetting& setting : finding.knob->snapshot())
    EXPECT_EQ(setting.path.find("policy0"), std::string::npos);
}

TEST_F(KnobTest, SavesAllThatAGovernorMayResetInTheOrderToPutItBack) {
  machines::intel_pstate(root_, true);
  std::vector<std::string> files;
  for (const SavedSetting& setting : find("cpu.governor@policy1").knob->snapshot())
    files.push_back(setting.path.substr(setting.path.rfind('/') + 1) + "=" + setting.value);
  EXPECT_THAT(files,
              ElementsAre("scaling_governor=powersave", "no_turbo=0", "scaling_max_freq=4800000",
                          "scaling_min_freq=800000", "energy_performance_preference=balance_performance"));
}

TEST_F(KnobTest, AFirmwaresCapIsNotSavedAsTheOwnersLimit) {
  machines::acpi_cpufreq(root_);
  root_.attribute(cpufreq + "policy0/scaling_max_freq", "2200000");
  root_.attribute(cpufreq + "policy0/bios_limit", "2200000");
  root_.attribute(cpufreq + "policy2/scaling_max_freq", "2600000");  // the owner's own
  std::vector<std::string> saved;
  for (const SavedSetting& setting : find("cpu.frequency").knob->snapshot()) {
    if (setting.path.ends_with("scaling_max_freq")) saved.push_back(setting.value);
  }
  EXPECT_THAT(saved, ElementsAre("3000000", "2600000"));
}

// intel_pstate caps every policy where its owner has turbo off: that is no limit of his own.
TEST_F(KnobTest, TheCapOfTurboThatIsOffIsNotSavedAsTheOwnersLimit) {
  machines::intel_pstate(root_, true);
  root_.attribute("/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
  root_.attribute(cpufreq + "policy0/base_frequency", "2500000");
  root_.attribute(cpufreq + "policy0/scaling_max_freq", "2500000");
  root_.attribute(cpufreq + "policy1/base_frequency", "2500000");
  root_.attribute(cpufreq + "policy1/scaling_max_freq", "2000000");  // the owner's own
  root_.attribute(cpufreq + "policy2/base_frequency", "2500000");
  root_.attribute(cpufreq + "policy2/scaling_max_freq", "2500000");
  root_.attribute(cpufreq + "policy2/cpuinfo_max_freq", "2500000");  // from Linux 6.11 on
  std::map<std::string, std::string> saved;
  for (const SavedSetting& setting : find("cpu.frequency").knob->snapshot()) {
    if (setting.path.ends_with("scaling_max_freq")) saved[setting.path] = setting.value;
  }
  EXPECT_EQ(saved[cpufreq + "policy0/scaling_max_freq"], "4800000");
  EXPECT_EQ(saved[cpufreq + "policy1/scaling_max_freq"], "2000000");
  EXPECT_EQ(saved[cpufreq + "policy2/scaling_max_freq"], "2147483647");
}

TEST_F(KnobTest, ReadsBackAndSaysBothValues) {
  machines::acpi_cpufreq(root_);
  auto finding = find("cpu.frequency@policy0");
  // A kernel that takes the write and keeps its value: the file always reads 2200000.
  std::filesystem::remove(root_.path() + cpufreq + "policy0/bios_limit");
  root_.attribute(cpufreq + "policy0/bios_limit", "2200000");
  std::filesystem::remove(root_.path() + cpufreq + "policy0/scaling_max_freq");
  std::filesystem::create_symlink("/dev/null", root_.path() + cpufreq + "policy0/scaling_max_freq");
  EXPECT_EQ(finding.knob->apply(hertz(3e9), writer_)[0].problem,
            "cpufreq policy0: its limits cannot be read back");
  std::filesystem::remove(root_.path() + cpufreq + "policy0/scaling_max_freq");
  std::filesystem::create_symlink("/dev/full", root_.path() + cpufreq + "policy0/scaling_max_freq");
  EXPECT_EQ(finding.knob->apply(hertz(3e9), writer_)[0].problem,
            "cpufreq policy0: set 3 GHz: No space left on device");
}

// Which of the two limits was written first.
std::string first_written(const TemporaryFolder& root, const std::function<void()>& act) {
  const int watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ::inotify_add_watch(watch, (root.path() + cpufreq + "policy0").c_str(), IN_CLOSE_WRITE);
  act();
  alignas(inotify_event) char buffer[4096];
  const ssize_t size = ::read(watch, buffer, sizeof buffer);
  ::close(watch);
  return size > 0 ? reinterpret_cast<const inotify_event*>(buffer)->name : "nothing";
}

TEST_F(KnobTest, LimitsNeverCross) {
  machines::acpi_cpufreq(root_);
  auto finding = find("cpu.frequency@policy0");
  EXPECT_EQ(first_written(root_, [&] { finding.knob->apply(hertz(1e9), writer_); }),
            "scaling_max_freq");  // min is 1.0: max may fall onto it
  EXPECT_EQ(first_written(root_, [&] { finding.knob->apply(hertz(2.6e9), writer_); }),
            "scaling_max_freq");  // raise max first
  EXPECT_EQ(first_written(root_, [&] { finding.knob->apply(hertz(1.4e9), writer_); }),
            "scaling_min_freq");  // lower min first
}

TEST_F(KnobTest, UncoreAndDevfreqPinBothLimits) {
  machines::hybrid(root_);
  auto uncore = find("cpu.uncore");
  EXPECT_EQ(uncore.knob->offer().values.size(), 37U);
  EXPECT_EQ(uncore.knob->apply(hertz(2.4e9), writer_)[0].applied, "2.4 GHz");
  EXPECT_EQ(*sysfs_.text("/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz"),
            "2400000");

  const std::string device = "/sys/class/devfreq/17000000.gpu/";
  root_.attribute(device + "available_frequencies", "76800000 153600000 921600000");
  root_.attribute(device + "min_freq", "76800000");
  root_.attribute(device + "max_freq", "921600000");
  auto devfreq = find("devfreq.17000000.gpu");
  ASSERT_TRUE(devfreq.knob) << devfreq.problem;
  EXPECT_EQ(devfreq.knob->apply(hertz(153.6e6), writer_)[0].applied, "153.6 MHz");
  EXPECT_EQ(problem("devfreq.gpu"),
            "there is no device 'gpu' in /sys/class/devfreq; there are: 17000000.gpu");
}

// TPMI: clusters with limits of their own, beside the packages that set all of them alike.
TEST_F(KnobTest, UncoreClustersAreSetAndPutBackOneByOne) {
  const std::string folder = "/sys/devices/system/cpu/intel_uncore_frequency/";
  for (const auto& [name, package, low, high] : {std::tuple{"uncore00", "0", "800000", "2200000"},
                                                 {"uncore01", "0", "1000000", "2400000"},
                                                 {"uncore02", "1", "800000", "2200000"},
                                                 {"package_00_die_00", "", "800000", "2400000"},
                                                 {"package_01_die_00", "", "800000", "2200000"}}) {
    const std::string place = folder + name + "/";
    root_.attribute(place + "initial_min_freq_khz", "800000");
    root_.attribute(place + "initial_max_freq_khz", "2400000");
    root_.attribute(place + "min_freq_khz", low);
    root_.attribute(place + "max_freq_khz", high);
    if (*package != 0) root_.attribute(place + "package_id", package);
  }
  auto all = find("cpu.uncore");
  ASSERT_TRUE(all.knob) << all.problem;
  EXPECT_EQ(all.knob->snapshot().size(), 6U);
  EXPECT_EQ(all.knob->apply(hertz(1.6e9), writer_).size(), 3U);
  EXPECT_EQ(*sysfs_.text(folder + "uncore01/max_freq_khz"), "1600000");
  EXPECT_EQ(*sysfs_.text(folder + "package_00_die_00/max_freq_khz"), "2400000");  // the kernel's own business
  const auto targets = [&](const std::string& axis) {
    const auto finding = find(axis);
    std::set<std::string> found;
    for (const std::string& path : finding.knob ? finding.knob->writes() : std::vector<std::string>{})
      found.insert(path.substr(folder.size(), 8));
    return found;
  };
  EXPECT_THAT(targets("cpu.uncore@package_00_die_00"), ElementsAre("uncore00", "uncore01"));
  EXPECT_THAT(targets("cpu.uncore@package_01_die_00"), ElementsAre("uncore02"));
  EXPECT_THAT(targets("cpu.uncore@uncore01"), ElementsAre("uncore01"));
  EXPECT_EQ(problem("cpu.uncore@uncore07"), "there is no uncore07 in " + folder);
}

TEST_F(KnobTest, CoresComeWholeBeforeTheirSecondThreads) {
  machines::hybrid(root_);
  auto finding = find("cpu.cores");
  EXPECT_THAT(finding.knob->workload_cpus({"6", 6.0}), ElementsAre(0, 2, 4, 6, 8, 9));
}

TEST_F(KnobTest, SysfsKnobWritesOnlyWhatIsNamedBelowSys) {
  root_.attribute("/sys/kernel/mm/thp/enabled", "always [madvise] never");
  const std::vector<SysfsKnobSpec> good{
      {"thp", {}, {"/sys/kernel/mm/thp/enabled", {}}, {{"always", {}}, {"never", {}}}}};
  auto finding = find("sysfs.thp", good);
  ASSERT_TRUE(finding.knob) << finding.problem;
  EXPECT_EQ(finding.knob->snapshot().at(0).value, "madvise");
  EXPECT_EQ(finding.knob->apply({"never", {}}, writer_)[0].applied, "never");

  root_.attribute("/etc/secret", "x");
  std::filesystem::create_symlink(root_ / "etc/secret", root_ / "sys/link");
  const std::vector<SysfsKnobSpec> bad{{"out", {}, {"/sys/link", {}}, {{"1", {}}}}};
  EXPECT_THAT(find("sysfs.out", bad).problem, HasSubstr("which is not below /sys"));
  const std::string governor = "/sys/devices/system/cpu/cpufreq/policy7/scaling_governor";
  root_.attribute(governor, "userspace");
  const std::vector<SysfsKnobSpec> governors{
      {"gov", {}, {governor, {}}, {{"userspace", {}}, {"performance", {}}}}};
  EXPECT_EQ(
      find("sysfs.gov", governors).problem,
      governor +
          " takes its policies' setspeed and its governor's tunables along, and of those this axis puts "
          "nothing back: cpu.governor sets it and puts all of it back");
  root_.attribute("/sys/devices/system/cpu/cpu3/online", "1");
  const std::vector<SysfsKnobSpec> hotplug{
      {"on", {}, {"/sys/devices/system/cpu/cpu3/online", {}}, {{"0", {}}, {"1", {}}}}};
  EXPECT_EQ(
      find("sysfs.on", hotplug).problem,
      "/sys/devices/system/cpu/cpu3/online switches CPUs off, which takes their limits, their idle states "
      "and their governor's tunables along, and of those this axis puts nothing back: cpu.smt switches "
      "further threads off and puts all of it back, cpu.cores leaves cores idle");
  const std::vector<SysfsKnobSpec> missing{{"m", {}, {"/sys/none", {}}, {{"1", {}}}}};
  EXPECT_EQ(find("sysfs.m", missing).problem, "/sys/none: No such file or directory");
  EXPECT_EQ(find("sysfs.tph", good).problem,
            "add its file and allowed values:  sysfs: {tph: {path: /sys/..., values: [...]}} (did you mean "
            "'thp'?)");
}

TEST_F(KnobTest, AMachineWithoutCpufreqSaysSo) {
  EXPECT_THAT(problem("cpu.frequency"), HasSubstr("this machine has no cpufreq"));
}

std::string idle(int cpu, int state) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpuidle/state" + std::to_string(state) +
         "/disable";
}

TEST_F(KnobTest, TheDeepestIdleStateIsAllowedAndWhatTheDriverKeepsOffStaysOff) {
  machines::idle_states(root_);
  EXPECT_THAT(offers("cpu.cstates"), ElementsAre("POLL", "C1", "C6"));
  auto finding = find("cpu.cstates");
  const auto saved = finding.knob->snapshot();
  EXPECT_EQ(saved.size(), 16U);
  auto applied = finding.knob->apply({"C1", {}}, writer_);
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].target, "cpus 0-3");
  EXPECT_EQ(applied[0].applied, "C1");
  EXPECT_EQ(applied[0].problem, "");
  for (int cpu = 0; cpu < 4; ++cpu) {
    EXPECT_EQ(*sysfs_.text(idle(cpu, 1)), "0");
    EXPECT_EQ(*sysfs_.text(idle(cpu, 2)), "1");
    EXPECT_EQ(*sysfs_.text(idle(cpu, 3)), "1");
  }
  EXPECT_EQ(finding.knob->apply({"C6", {}}, writer_)[0].applied, "C6");
  EXPECT_EQ(*sysfs_.text(idle(2, 2)), "1");  // C1E, which the driver keeps off
  EXPECT_EQ(*sysfs_.text(idle(2, 3)), "0");
  EXPECT_EQ(finding.knob->apply({"POLL", {}}, writer_)[0].applied, "POLL");
  EXPECT_EQ(*sysfs_.text(idle(1, 1)), "1");
  SettingAccess access(sysfs_, {});
  EXPECT_TRUE(restore_settings(saved, access).complete());
  EXPECT_EQ(finding.knob->snapshot(), saved);
}

TEST_F(KnobTest, OneCpuThatDoesOtherwiseIsNamed) {
  machines::idle_states(root_);
  auto finding = find("cpu.cstates");
  class KeepsOne : public SettingWriter {
   public:
    explicit KeepsOne(SettingWriter& writer) : writer_(writer) {}
    std::vector<WriteAnswer> write(const std::vector<SettingText>& requests) override {
      std::vector<WriteAnswer> answers;
      for (const SettingText& one : requests)
        answers.push_back(one.path == idle(2, 3) ? WriteAnswer{}
                                                 : writer_.write(std::vector<SettingText>{one}).front());
      return answers;
    }
    SettingWriter& writer_;
  } keeps(writer_);
  const auto applied = finding.knob->apply({"C1", {}}, keeps);
  ASSERT_EQ(applied.size(), 2U);
  EXPECT_EQ(applied[0].target, "cpus 0-1,3");
  EXPECT_EQ(applied[0].problem, "");
  EXPECT_EQ(applied[1].problem,
            "cpu.cstates cpu2: asked for C1, the deepest state that is not disabled is C6");
}

TEST_F(KnobTest, SaysWhereNoIdleStatesAre) {
  machines::acpi_cpufreq(root_);
  EXPECT_EQ(problem("cpu.cstates"),
            "the kernel manages no idle states of cpu0 (no cpuidle below /sys/devices/system/cpu/cpu0): in a "
            "virtual machine the host does; on "
            "hardware look for idle=, cpuidle.off or intel_idle.max_cstate in /proc/cmdline");
  EXPECT_EQ(problem("cpu.cstates@fast"), "'@fast' is no list of CPUs such as 0-3");
}

const std::string capped = "/sys/class/powercap/";

AxisValue watts(double value) {
  return {format_quantity(value, Dimension::power), value, Dimension::power};
}

TEST_F(KnobTest, APackagesLimitIsSetByAllItsInterfacesBothTerms) {
  machines::rapl_limits(root_);
  auto finding = find("cpu.power_limit");
  ASSERT_TRUE(finding.knob) << finding.problem;
  EXPECT_EQ(offers_text(finding.knob->offer()), "42 W to 165 W");
  const auto saved = finding.knob->snapshot();
  EXPECT_EQ(saved.size(), 6U);  // three zones of two limits
  const auto applied = finding.knob->apply(watts(100), writer_);
  ASSERT_EQ(applied.size(), 2U);
  EXPECT_EQ(applied[0].target, "package-0");
  EXPECT_EQ(applied[0].applied, "100 W");
  EXPECT_EQ(applied[0].power_limit->value(), 100);
  EXPECT_EQ(applied[0].stands.size(), 4U);
  for (const char* zone : {"intel-rapl:0", "intel-rapl:1", "intel-rapl-mmio:0"}) {
    for (const char* constraint : {"0", "1"})
      EXPECT_EQ(*sysfs_.text(capped + zone + "/constraint_" + constraint + "_power_limit_uw"), "100000000");
    EXPECT_EQ(*sysfs_.text(capped + zone + "/constraint_0_time_window_us"), "999424");
  }
  SettingAccess access(sysfs_, {});
  EXPECT_TRUE(restore_settings(saved, access).complete());
  EXPECT_EQ(finding.knob->snapshot(), saved);
}

TEST_F(KnobTest, ALimitThatIsOffOrLockedOrLowerElsewhereIsNotInForce) {
  machines::rapl_limits(root_);
  class Locked : public SettingWriter {
   public:
    Locked(SettingWriter& writer, std::string path, std::string problem)
        : writer_(writer), path_(std::move(path)), problem_(std::move(problem)) {}
    std::vector<WriteAnswer> write(const std::vector<SettingText>& requests) override {
      std::vector<WriteAnswer> answers;
      for (const SettingText& one : requests)
        answers.push_back(one.path.starts_with(path_) ? WriteAnswer{problem_}
                                                      : writer_.write(std::vector<SettingText>{one}).front());
      return answers;
    }
    SettingWriter& writer_;
    std::string path_, problem_;
  };
  auto finding = find("cpu.power_limit@package-0");
  Locked refused(writer_, capped + "intel-rapl:0/constraint_0", "Permission denied");
  EXPECT_EQ(finding.knob->apply(watts(150), refused)[0].problem,
            "cpu.power_limit@package-0 package-0: write 150000000 to "
            "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw: Permission denied; the "
            "firmware may have locked it (dmesg: 'locked by BIOS')");
  Locked in_silence(writer_, capped + "intel-rapl-mmio:0", "");
  EXPECT_EQ(finding.knob->apply(watts(160), in_silence)[0].problem,
            "cpu.power_limit@package-0 package-0: asked for 160 W, read back 150 W from "
            "/sys/class/powercap/intel-rapl-mmio:0/constraint_0_power_limit_uw");
  root_.attribute(capped + "intel-rapl:0/enabled", "0");
  EXPECT_EQ(finding.knob->apply(watts(100), writer_)[0].problem,
            "cpu.power_limit@package-0 package-0: /sys/class/powercap/intel-rapl:0/enabled does not read 1: "
            "the limit is not in force");
  EXPECT_EQ(problem("cpu.power_limit"),
            "/sys/class/powercap/intel-rapl:0/enabled reads 0: its limits are not in force, and putting them "
            "into force changes more of the register "
            "than could be put back; the firmware's setup may, or an administrator: echo 1 | sudo tee "
            "/sys/class/powercap/intel-rapl:0/enabled");
}

TEST_F(KnobTest, SaysWhyAPackageCannotBeLimited) {
  machines::rapl(root_, false);
  EXPECT_EQ(problem("cpu.power_limit"),
            "its packages are counted and not limited by this driver (no constraint_0_power_limit_uw below "
            "/sys/class/powercap/intel-rapl:0), as "
            "on AMD");
  machines::rapl_limits(root_);
  EXPECT_EQ(problem("cpu.power_limit@package-7"),
            "there is no package-7 (did you mean 'package-0'?); there are: package-0, package-1");
}

// libcpupower reads and writes fixed paths; a mount namespace puts a recorded machine there. What it finds
// and does must be what the plain-file access finds and does, on which the other tests stand.
class LibcpupowerTest : public testing::TestWithParam<void (*)(const TemporaryFolder&)> {};

std::string described(const CpufreqAccess& access) {
  std::string text;
  for (const CpufreqPolicy& p : access.policies()) {
    text += p.name + " cpus " + format_cpu_list(p.cpus) + " " + p.driver + " " + p.governor + " [";
    auto governors = p.governors;
    std::sort(governors.begin(), governors.end());
    for (const auto& g : governors) text += g + " ";
    text += "] " + std::to_string(p.lowest_khz) + ".." + std::to_string(p.highest_khz) + " now " +
            std::to_string(p.min_khz) + ".." + std::to_string(p.max_khz) + " table";
    for (const long khz : p.available_khz) text += " " + std::to_string(khz);
    text += p.bios_limit_khz ? " limit " + std::to_string(*p.bios_limit_khz) + "\n" : "\n";
  }
  return text;
}

// The child's work: 0 if libcpupower agrees, 77 if this system allows no namespaces.
int compare_in_namespace(const TemporaryFolder& root) {
  if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  const auto files = cpufreq_by_files(Sysfs(root.path()));
  if (::mount((root.path() + "/sys/devices/system/cpu").c_str(), "/sys/devices/system/cpu", nullptr, MS_BIND,
              nullptr) != 0)
    return 77;
  const auto library = cpufreq_by_libcpupower();
  if (described(*files) != described(*library)) return 1;
  const std::string policy = library->policies().front().path;
  const Sysfs sysfs;
  if (sysfs.write(policy + "/scaling_min_freq", "1000000") != 0 ||
      sysfs.write(policy + "/scaling_max_freq", "1400000") != 0 ||
      sysfs.write(policy + "/scaling_governor", "performance") != 0)
    return 2;
  if (described(*files) != described(*library)) return 3;
  const auto now = library->policies().front();
  return now.min_khz == 1000000 && now.max_khz == 1400000 && now.governor == "performance" ? 0 : 4;
}

TEST_P(LibcpupowerTest, AgreesWithPlainFiles) {
  TemporaryFolder root;
  GetParam()(root);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(compare_in_namespace(root));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this system allows no mount namespaces";
  EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
}

INSTANTIATE_TEST_SUITE_P(Machines, LibcpupowerTest,
                         testing::Values(
                             machines::acpi_cpufreq, machines::amd_pstate_epp, machines::hybrid,
                             +[](const TemporaryFolder& root) { machines::intel_pstate(root, true); }));

}  // namespace
}  // namespace dvfs_plan
