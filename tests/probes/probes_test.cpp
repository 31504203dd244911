// Finding and reading sensors on recorded machines; absent, denied, gone and zero kept apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/sysfs.hpp"
#include "base/text.hpp"
#include "probes/attribute_reader.hpp"
#include "probes/command_probe.hpp"
#include "probes/rapl.hpp"
#include "probes/sampler.hpp"
#include "results/energy/energy_source.hpp"
#include "tests/support/machines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

std::vector<std::string> channel_names(const ProbeFinding& finding) {
  std::vector<std::string> names;
  if (!finding.probe) return names;
  for (const Channel& channel : finding.probe->channels()) names.push_back(channel.name);
  return names;
}

const Channel& channel(const ProbeFinding& finding, const std::string& name) {
  for (const Channel& c : finding.probe->channels()) {
    if (c.name == name) return c;
  }
  throw std::runtime_error("no channel " + name);
}

TEST(RaplPowercap, EachDomainHasItsOwnRangeAndPlace) {
  TemporaryFolder root;
  machines::rapl(root, false);
  const auto finding = find_rapl_powercap(Sysfs(root.path()));
  EXPECT_THAT(channel_names(finding), ElementsAre("rapl:package-0", "rapl:core-0", "rapl:dram-0",
                                                  "rapl:package-1", "rapl:core-1", "rapl:dram-1"));
  EXPECT_DOUBLE_EQ(*channel(finding, "rapl:package-0").wraps_at, 262143.328850);
  EXPECT_DOUBLE_EQ(*channel(finding, "rapl:dram-0").wraps_at, 65712.999613);
  EXPECT_EQ(channel(finding, "rapl:core-1").within, "package-1");
  EXPECT_EQ(channel(finding, "rapl:dram-1").within, "");
  std::vector<Sample> samples(6);
  finding.probe->read(samples);
  EXPECT_DOUBLE_EQ(*samples[2].value, 65712.0);
}

TEST(RaplPowercap, PsysContainsPackagesAndDram) {
  TemporaryFolder root;
  machines::rapl(root, true);
  const auto finding = find_rapl_powercap(Sysfs(root.path()));
  EXPECT_EQ(channel(finding, "rapl:package-0").within, "psys");
  EXPECT_EQ(channel(finding, "rapl:dram-0").within, "psys");
  EXPECT_EQ(channel(finding, "rapl:core-0").within, "package-0");
}

TEST(RaplPowercap, SaysWhatIsMissing) {
  TemporaryFolder root;
  const auto finding = find_rapl_powercap(Sysfs(root.path()));
  EXPECT_FALSE(finding.probe);
  EXPECT_EQ(finding.problem, "no RAPL zones in /sys/class/powercap");
  EXPECT_EQ(finding.fix, "on Intel and AMD hardware: sudo modprobe intel_rapl_msr");
}

TEST(RaplPerf, ListsEventsPerPackageWithTheirScale) {
  TemporaryFolder root;
  const std::string pmu = "/sys/bus/event_source/devices/power/";
  root.attribute(pmu + "type", "15");
  root.attribute(pmu + "cpumask", "0,16");
  for (const auto& [event, code] : std::map<std::string, std::string>{
           {"energy-pkg", "0x02"}, {"energy-ram", "0x03"}, {"energy-psys", "0x05"}}) {
    root.attribute(pmu + "events/" + event, "event=" + code);
    root.attribute(pmu + "events/" + event + ".scale", "2.3283064365386962890625e-10");
    root.attribute(pmu + "events/" + event + ".unit", "Joules");
  }
  root.attribute("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
  root.attribute("/sys/devices/system/cpu/cpu16/topology/physical_package_id", "1");
  std::vector<std::string> found;
  for (const RaplEvent& event : list_rapl_events(Sysfs(root.path()))) {
    found.push_back(event.channel.domain + " type " + std::to_string(event.type) + " config " +
                    std::to_string(event.config) + " cpu " + std::to_string(event.cpu));
    EXPECT_DOUBLE_EQ(event.joules_per_unit, 2.3283064365386962890625e-10);
  }
  EXPECT_THAT(found, ElementsAre("package-0 type 15 config 2 cpu 0", "dram-0 type 15 config 3 cpu 0",
                                 "psys type 15 config 5 cpu 0", "package-1 type 15 config 2 cpu 16",
                                 "dram-1 type 15 config 3 cpu 16"));
}

// Linux 6.9 names a CPU of each die of AMD's, and the counter is the whole package's.
TEST(RaplPerf, OfAmdAPackageIsCountedOnce) {
  TemporaryFolder root;
  const std::string pmu = "/sys/bus/event_source/devices/power/";
  root.attribute(pmu + "type", "15");
  root.attribute(pmu + "cpumask", "0,8,64");
  root.attribute(pmu + "events/energy-pkg", "event=0x02");
  root.attribute(pmu + "events/energy-pkg.scale", "2.3283064365386962890625e-10");
  for (const auto& [cpu, package] : std::map<std::string, std::string>{{"0", "0"}, {"8", "0"}, {"64", "1"}}) {
    root.attribute("/sys/devices/system/cpu/cpu" + cpu + "/topology/physical_package_id", package);
    root.attribute("/sys/devices/system/cpu/cpu" + cpu + "/topology/die_id", cpu == "0" ? "0" : "1");
  }
  const auto domains = [&] {
    std::vector<std::string> found;
    for (const RaplEvent& event : list_rapl_events(Sysfs(root.path()))) found.push_back(event.channel.domain);
    return found;
  };
  root.attribute("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel");
  EXPECT_THAT(domains(), ElementsAre("package-0-die-0", "package-0-die-1", "package-1"));
  root.attribute("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD");
  EXPECT_THAT(domains(), ElementsAre("package-0", "package-1"));
}

TEST(Hwmon, FindsTheAcpiPowerMeterBelowDevice) {
  TemporaryFolder root;
  root.attribute("/sys/class/hwmon/hwmon1/device/name", "power_meter");
  root.attribute("/sys/class/hwmon/hwmon1/device/power1_average", "20000000");
  root.attribute("/sys/class/hwmon/hwmon1/device/power1_average_interval", "10");
  root.attribute("/sys/class/hwmon/hwmon1/device/power1_accuracy", "100.0%");
  const auto finding = find_probe("hwmon", {Sysfs(root.path())});
  EXPECT_THAT(channel_names(finding), ElementsAre("hwmon:power_meter/power1"));
  EXPECT_EQ(finding.probe->channels()[0].domain, "system");
  EXPECT_DOUBLE_EQ(finding.probe->period().value(), 0.01);
  std::vector<Sample> samples(1);
  finding.probe->read(samples);
  EXPECT_DOUBLE_EQ(*samples[0].value, 20.0);
  EXPECT_EQ(finding.probe->channels()[0].averages_over_s, 0.01);
  // The driver prints 0 where the firmware does not say over how long it averages.
  root.attribute("/sys/class/hwmon/hwmon1/device/power1_average_interval", "0");
  EXPECT_FALSE(find_probe("hwmon", {Sysfs(root.path())}).probe->channels()[0].averages_over_s);
}

TEST(Hwmon, RailsAreInsideTheSystemAndTwoChipsOfOneNameStayTwo) {
  TemporaryFolder root;
  for (const std::string chip : {"hwmon0", "hwmon1"}) {
    root.attribute("/sys/class/hwmon/" + chip + "/name", "ina3221");
    root.attribute("/sys/class/hwmon/" + chip + "/power1_input", "1500000");
    root.attribute("/sys/class/hwmon/" + chip + "/temp1_input", "40000");
  }
  root.attribute("/sys/class/hwmon/hwmon2/name", "energy_chip");
  root.attribute("/sys/class/hwmon/hwmon2/energy1_input", "123000000");
  const auto finding = find_probe("hwmon", {Sysfs(root.path())});
  EXPECT_THAT(channel_names(finding),
              ElementsAre("hwmon:ina3221/power1", "hwmon:ina3221.1/power1", "hwmon:energy_chip/energy1"));
  EXPECT_EQ(finding.probe->channels()[0].within, "system");
  EXPECT_EQ(finding.probe->channels()[2].kind, ChannelKind::counter);
}

// docs.nvidia.com/grace-perf-tuning-guide: each meter says by power1_oem_info what it measures.
TEST(Hwmon, GracesMetersAreWhatTheirFirmwareCallsThemAndNoneIsTheMachine) {
  TemporaryFolder root;
  int n = 0;
  for (const char* const said :
       {"SysIO Power Socket 0", "Module Power Socket 0", "Grace Power Socket 0", "CPU Power Socket 0"}) {
    const std::string device = fmt::format("/sys/class/hwmon/hwmon{}/device/", n++);
    root.attribute(device + "name", "power_meter");
    root.attribute(device + "power1_average", std::to_string(10'000'000 * n));
    root.attribute(device + "power1_average_interval", "50");
    root.attribute(device + "power1_oem_info", said);
  }
  const auto finding = find_probe("hwmon", {Sysfs(root.path())});
  std::vector<std::string> found;
  for (const Channel& channel : finding.probe->channels())
    found.push_back(channel.domain + " in " + channel.within);
  EXPECT_THAT(found, ElementsAre("grace-0/sysio in grace-0", "module-0 in system", "grace-0 in module-0",
                                 "grace-0/cpu in grace-0"));
  // The module is the widest; nothing is summed with what it is part of.
  EXPECT_EQ(energy_sources(finding.probe->channels(), {}).at(0).name, "module-0");
  EXPECT_EQ(energy_sources(finding.probe->channels(), std::vector<std::uint32_t>{1}).at(0).name, "grace-0");
}

TEST(Hwmon, OfSeveralMetersWithoutANameNoneIsTheMachine) {
  TemporaryFolder root;
  for (const char* const chip : {"hwmon0", "hwmon1"}) {
    root.attribute(std::string("/sys/class/hwmon/") + chip + "/device/name", "power_meter");
    root.attribute(std::string("/sys/class/hwmon/") + chip + "/device/power1_average", "20000000");
  }
  const auto finding = find_probe("hwmon", {Sysfs(root.path())});
  EXPECT_EQ(finding.probe->channels()[0].domain, "power_meter/power1");
  EXPECT_EQ(finding.probe->channels()[1].domain, "power_meter.1/power1");
}

// An EPYC with two sockets: amd_energy counts cores and sockets (its labels), HSMP's chips come one a socket (drivers/platform/x86/amd/hsmp/hwmon.c).
TEST(Probes, SocketsOfAnEpycAreThePackagesThatRaplTells) {
  TemporaryFolder root;
  const std::string energy = "/sys/class/hwmon/hwmon2/";
  root.attribute(energy + "name", "amd_energy");
  int n = 1;
  for (const char* label : {"Ecore000", "Ecore001", "Esocket0", "Esocket1"}) {
    root.attribute(fmt::format("{}energy{}_label", energy, n), label);
    root.attribute(fmt::format("{}energy{}_input", energy, n), std::to_string(1'000'000 * n));
    ++n;
  }
  for (const char* chip : {"hwmon10", "hwmon9"}) {
    root.attribute(std::string("/sys/class/hwmon/") + chip + "/name", "amd_hsmp_hwmon");
    root.attribute(std::string("/sys/class/hwmon/") + chip + "/power1_input",
                   chip == std::string("hwmon9") ? "120000000" : "140000000");
    root.attribute(std::string("/sys/class/hwmon/") + chip + "/power1_cap", "280000000");
  }
  const auto finding = find_probe("hwmon", {Sysfs(root.path())});
  EXPECT_THAT(channel_names(finding),
              ElementsAre("hwmon:amd_energy/energy3", "hwmon:amd_energy/energy4",
                          "hwmon:amd_hsmp_hwmon/power1", "hwmon:amd_hsmp_hwmon.10/power1"));
  std::vector<std::string> domains;
  for (const Channel& channel : finding.probe->channels()) domains.push_back(channel.domain);
  EXPECT_THAT(domains, ElementsAre("package-0", "package-1", "package-0", "package-1"));
  const auto sources = energy_sources(finding.probe->channels(), {});
  EXPECT_EQ(sources.at(0).name, "package-0 + package-1");
  EXPECT_EQ(sources.at(0).channels,
            (std::vector<std::uint32_t>{0, 1}));  // what counts, before what is looked at
}

// A Jetson Orin Nano's: millivolts and milliamperes of each rail (Documentation/hwmon/ina3221.rst), VDD_IN the whole module.
TEST(Hwmon, VoltsTimesAmperesOfAJetsonsRails) {
  TemporaryFolder root;
  const std::string chip = "/sys/class/hwmon/hwmon1/";
  root.attribute(chip + "name", "ina3221");
  root.attribute(chip + "update_interval", "20");
  const char* const labels[] = {"VDD_IN", "VDD_CPU_GPU_CV", "NC"};
  for (int n = 1; n <= 3; ++n) {
    root.attribute(fmt::format("{}in{}_label", chip, n), labels[n - 1]);
    root.attribute(fmt::format("{}in{}_enable", chip, n), "1");
    root.attribute(fmt::format("{}in{}_input", chip, n), "5000");
    root.attribute(fmt::format("{}curr{}_input", chip, n), std::to_string(1200 / n));
    root.attribute(fmt::format("{}in{}_input", chip, n + 3), "80");  // shunts: no supplies
  }
  root.attribute(chip + "in7_label", "sum of shunt voltages");
  root.attribute(chip + "curr4_input", "1800");
  auto finding = find_probe("hwmon", {Sysfs(root.path())});
  EXPECT_THAT(channel_names(finding), ElementsAre("hwmon:ina3221/VDD_IN", "hwmon:ina3221/VDD_CPU_GPU_CV"));
  EXPECT_EQ(finding.probe->channels()[0].domain, "system");
  EXPECT_EQ(finding.probe->channels()[1].within, "system");
  EXPECT_DOUBLE_EQ(finding.probe->period().value(), 0.02);
  std::vector<Sample> samples(2);
  finding.probe->read(samples);
  EXPECT_DOUBLE_EQ(*samples[0].value, 6.0);
  EXPECT_DOUBLE_EQ(*samples[1].value, 3.0);
  // One that is switched off is none.
  root.attribute(chip + "in2_enable", "0");
  finding = find_probe("hwmon", {Sysfs(root.path())});
  EXPECT_THAT(channel_names(finding), ElementsAre("hwmon:ina3221/VDD_IN"));
}

TEST(Cpufreq, TakesTheBestSourceOfTheDeliveredClock) {
  TemporaryFolder acpi, pstate;
  machines::acpi_cpufreq(acpi);
  acpi.attribute("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "cppc_cpufreq");
  machines::intel_pstate(pstate, true);
  EXPECT_EQ(find_probe("cpufreq", {Sysfs(acpi.path())}).probe->channels()[0].source,
            "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_cur_freq");
  const auto finding = find_probe("cpufreq", {Sysfs(pstate.path())});
  EXPECT_EQ(finding.probe->channels()[0].source, "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq");
  EXPECT_TRUE(finding.probe->channels()[0].under_load_only);  // APERF/MPERF
}

TEST(Cpufreq, WhatOnlyRepeatsTheRequestIsNoDeliveredClock) {
  const std::string policy = "/sys/devices/system/cpu/cpufreq/policy0/";
  TemporaryFolder root;
  root.attribute(policy + "scaling_driver", "acpi-cpufreq");
  root.attribute(policy + "scaling_cur_freq", "1000000");
  const auto none = find_probe("cpufreq", {Sysfs(root.path())});
  EXPECT_FALSE(none.probe);
  EXPECT_EQ(none.problem,
            "nothing tells at which clock the CPUs really run: there is neither APERF/MPERF nor a clock of "
            "the hardware's "
            "own, and scaling_cur_freq only repeats the request");
  // acpi-cpufreq reads back what it wrote; a driver with feedback counters tells.
  root.attribute(policy + "cpuinfo_cur_freq", "1000000");
  EXPECT_FALSE(find_probe("cpufreq", {Sysfs(root.path())}).probe);
  root.attribute(policy + "scaling_driver", "cppc_cpufreq");
  EXPECT_TRUE(find_probe("cpufreq", {Sysfs(root.path())}).probe);
}

TEST(Thermal, ZonesOfOneTypeStayApart) {
  TemporaryFolder root;
  for (const std::string zone : {"thermal_zone0", "thermal_zone1"}) {
    root.attribute("/sys/class/thermal/" + zone + "/type", "acpitz");
    root.attribute("/sys/class/thermal/" + zone + "/temp", "45500");
  }
  const auto finding = find_probe("thermal", {Sysfs(root.path())});
  EXPECT_THAT(channel_names(finding), ElementsAre("thermal:acpitz", "thermal:acpitz.1"));
  std::vector<Sample> samples(2);
  finding.probe->read(samples);
  EXPECT_DOUBLE_EQ(*samples[0].value, 45.5);
}

// ------------------------------------------------------------------ four things that are not one

TEST(Attribute, ZeroAbsentAndGoneAreDifferent) {
  TemporaryFolder root;
  root.attribute("/zero", "0");
  root.attribute("/empty", "");
  const Sysfs sysfs(root.path());
  const auto zero = AttributeReader(sysfs, "/zero", 1e-6).read();
  EXPECT_EQ(zero.value, 0.0);
  EXPECT_EQ(zero.status, ReadingStatus::ok);
  const auto empty = AttributeReader(sysfs, "/empty", 1).read();
  EXPECT_FALSE(empty.value);
  EXPECT_EQ(empty.status, ReadingStatus::absent);
  EXPECT_EQ(AttributeReader(sysfs, "/nowhere", 1).read().status, ReadingStatus::gone);
}

TEST(Attribute, DeniedIsSaidSo) {
  TemporaryFolder root;
  root.attribute("/secret", "5");
  std::filesystem::permissions(root.path(), std::filesystem::perms::all);
  std::filesystem::permissions(root / "secret", std::filesystem::perms::none);
  const auto look = [&] {
    return AttributeReader(Sysfs(root.path()), "/secret", 1).read().status == ReadingStatus::denied ? 0 : 1;
  };
  if (::geteuid() != 0) {
    EXPECT_EQ(look(), 0);
    return;
  }
  // Root may read anything: look as nobody.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setuid(65534) == 0 ? look() : 2);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// ------------------------------------------------------------------ a meter that is a program

TEST(CommandProbe, ReadsNameValueUnit) {
  EXPECT_EQ(parse_meter_line("wall 203.5 W", "wall", "W"), 203.5);
  EXPECT_EQ(parse_meter_line("wall 0.2 kW", "wall", "W"), 200.0);
  EXPECT_EQ(parse_meter_line("wall=17", "wall", "W"), 17.0);
  EXPECT_FALSE(parse_meter_line("wall 5 V", "wall", "W"));
  EXPECT_FALSE(parse_meter_line("wall 5 J", "wall", "W"));
  EXPECT_FALSE(parse_meter_line("wall N/A", "wall", "W"));
  EXPECT_FALSE(parse_meter_line("wallet 5 W", "wall", "W"));
}

CommandProbeSettings meter(const std::string& script);

// A line of a channel whose value is no number, or of another unit, spoils the trial as it was said; a word about the meter does not.
TEST(CommandProbe, ALineThatCannotBeReadIsNoReadingLeftOut) {
  for (const char* const bad :
       {"wall nan W", "wall 1,234 W", "wall inf W", "wall 0x14 W", "wall 5 VA", "wall=50,000 W"}) {
    Launcher launcher;
    const SystemClock clock;
    auto started = start_command_probe(
        meter(fmt::format("sleep 0.05; i=0; while :; do i=$((i+1)); echo wall $((100+i%7)).5 W; echo meter "
                          "is well; [ $i = 30 ] && echo '{}'; sleep 0.01; done",
                          bad)),
        launcher, clock);
    ASSERT_TRUE(started);
    started->begin();
    std::vector<Sample> samples(1);
    bool spoilt = false;
    int good = 0;
    for (int i = 0; i < 100 && !spoilt; ++i) {
      started->read(samples);
      good += samples[0].value && std::isfinite(*samples[0].value) ? 1 : 0;
      spoilt = samples[0].value && std::isnan(*samples[0].value);
      if (spoilt) {
        EXPECT_EQ(samples[0].text, bad);
      }
      ::usleep(10'000);
    }
    EXPECT_TRUE(spoilt) << bad;
    EXPECT_GT(good, 5) << bad;
  }
}

CommandProbeSettings meter(const std::string& script) {
  CommandProbeSettings settings;
  settings.name = "meter";
  settings.channels = {Channel{.name = "wall",
                               .probe = {},
                               .unit = "W",
                               .kind = ChannelKind::gauge,
                               .domain = "system",
                               .within = {},
                               .wraps_at = {},
                               .source = {}}};
  settings.launch = {"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, {}, {}, {}};
  return settings;
}

TEST(CommandProbe, StreamsAndTellsWhenTheMeterDied) {
  Launcher launcher;
  const SystemClock clock;
  auto probe = start_command_probe(
      meter("echo wall 100 W; echo noise; printf 'wall 10'; sleep 0.2; echo 5 W"), launcher, clock);
  std::vector<double> values;
  ReadingStatus last = ReadingStatus::ok;
  for (int i = 0; i < 500 && last != ReadingStatus::gone; ++i) {
    std::vector<Sample> samples(1);
    probe->read(samples);
    if (samples[0].value) values.push_back(*samples[0].value);
    last = samples[0].status;
    ::usleep(10'000);
  }
  EXPECT_THAT(values, ElementsAre(100.0, 105.0));  // half a line is not a reading
  EXPECT_EQ(last, ReadingStatus::gone);
}

TEST(CommandProbe, IsRunAnewWhereAsked) {
  Launcher launcher;
  const SystemClock clock;
  auto settings = meter("echo wall 7 W");
  settings.every = Seconds{0.05};
  auto probe = start_command_probe(std::move(settings), launcher, clock);
  int fresh = 0;
  for (int i = 0; i < 1000 && fresh < 3; ++i) {
    std::vector<Sample> samples(1);
    probe->read(samples);
    fresh += samples[0].value.has_value();
    ::usleep(5'000);
  }
  EXPECT_EQ(fresh, 3);
}

// A look finds each value that was told since the one before it, when it was told; where a rate was asked for, the last alone.
TEST(CommandProbe, IsHeardAtItsOwnPace) {
  for (const bool keeps_each : {true, false}) {
    Launcher launcher;
    const SystemClock clock;
    auto settings = meter(
        "sleep 0.05; i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo wall $((100+i)) W; sleep 0.005; done; "
        "sleep 60");
    settings.keeps_each = keeps_each;
    auto probe = start_command_probe(std::move(settings), launcher, clock);
    std::vector<Sample> samples(1);
    probe->begin();
    probe->read(samples);
    std::vector<double> values;
    std::vector<Nanoseconds> times;
    for (int looks = 0; looks < 1000 && (values.empty() || values.back() < 140); ++looks) {
      ::usleep(100'000);
      do {
        probe->read(samples);
        if (!samples[0].value) continue;
        values.push_back(*samples[0].value);
        times.push_back(samples[0].told_at.value_or(0));
      } while (probe->has_more());
    }
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    ASSERT_FALSE(values.empty());
    EXPECT_EQ(values.back(), 140);
    // Looks are 0.1 s apart, all of it takes 0.2 s. Lines that come while the machine stands still are read together, and of these the last
    // is one value: so not 40.
    if (keeps_each) {
      EXPECT_GT(values.size(), 20U);
      EXPECT_GT(times.back() - times.front(), static_cast<Nanoseconds>(values.size() - 1) * 4'000'000);
    } else {
      EXPECT_LT(values.size(), 20U);
    }
  }
}

// As daemons do: a session of its own and nothing in its environment, so that no mark shows whose it is. Its pid is in the file.
std::string meters_helper(const std::string& file) {
  return fmt::format("setsid env -i sh -c 'echo $$ >{}; exec sleep 60' >/dev/null 2>&1", file);
}

pid_t helper_in(const std::string& file) {
  pid_t pid = 0;
  for (int i = 0; i < 2000 && pid == 0; ++i, ::usleep(1000))
    pid = static_cast<pid_t>(parse_number(trim(Sysfs().text(file).value_or(""))).value_or(0));
  return pid;
}

bool lives(pid_t pid) {
  const auto state = Sysfs().text(fmt::format("/proc/{}/status", pid));
  return pid > 0 && state && state->find("State:\tZ") == std::string::npos;
}

class MetersHelpers : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Kinds, MetersHelpers, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "ControlGroup" : "Orphans"; });

TEST_P(MetersHelpers, EndWithTheMeterWhateverTheyTookAway) {
  const TemporaryFolder folder;
  const std::string kept = folder.path() + "/kept", left = folder.path() + "/left";
  Launcher launcher;
  if (GetParam()) {
    launcher.group().use_control_group("dvfs-plan-test-meter." + std::to_string(::getpid()));
    if (launcher.group().entrance() < 0)
      GTEST_SKIP() << "no control group can be made here (no cgroup v2, or not ours to write)";
  }
  const SystemClock clock;
  auto probe = start_command_probe(
      meter(fmt::format("{} & ({} &); echo wall 5 W; sleep 60", meters_helper(kept), meters_helper(left))),
      launcher, clock);
  const pid_t child = helper_in(kept), orphan = helper_in(left);
  ASSERT_TRUE(lives(child) && lives(orphan));
  ::usleep(50'000);  // the kernel tells starts apart by 10 ms
  LaunchSpec work{"/bin/true", {"true"}, {}, {}, {}, {}};
  work.grouped = true;
  auto trial = launcher.launch(work, clock);
  ASSERT_TRUE(trial.child);
  EXPECT_EQ(trial.child->wait({}, nullptr, clock).exit_code, 0);
  EXPECT_TRUE(lives(child));
  EXPECT_TRUE(lives(orphan)) << "it is older than the trial, so none of what that left";
  probe.reset();
  EXPECT_FALSE(lives(child));
  EXPECT_FALSE(lives(orphan));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child, zombies included
}

// ------------------------------------------------------------------ the sampler

class FakeClock : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  void sleep_until(Nanoseconds when) override { now_ = when; }
  std::string wall_time() const override { return "2026-01-01T00:00:00.000Z"; }
  Nanoseconds now_ = 1'000'000'000;
};

class CountingProbe : public Probe {
 public:
  CountingProbe(std::string name, Seconds period, const char* unit = "W", Nanoseconds cost = 0,
                bool asks_device = false)
      : name_(std::move(name)), period_(period), cost_(cost), asks_device_(asks_device) {
    channels_.push_back(Channel{.name = name_,
                                .probe = name_,
                                .unit = unit,
                                .kind = ChannelKind::gauge,
                                .domain = "system",
                                .within = {},
                                .wraps_at = {},
                                .source = {}});
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return asks_device_; }
  void read(std::span<Sample> samples) override {
    if (cost_ > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(cost_));
    samples[0] = {static_cast<double>(++reads_), ReadingStatus::ok};
  }

 private:
  std::string name_;
  Seconds period_;
  Nanoseconds cost_;
  bool asks_device_;
  std::vector<Channel> channels_;
  int reads_ = 0;
};

// Does not come back from a read as long as `hangs`.
class HangingProbe : public CountingProbe {
 public:
  explicit HangingProbe(const std::atomic<bool>& hangs, Seconds period = Seconds{0.01})
      : CountingProbe("hangs", period, "Hz", 0, true), hangs_(hangs) {}
  void read(std::span<Sample> samples) override {
    while (hangs_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CountingProbe::read(samples);
  }

 private:
  const std::atomic<bool>& hangs_;
};

std::vector<std::unique_ptr<Probe>> two_probes(Seconds fast, Seconds slow, const char* unit = "Hz",
                                               Nanoseconds cost = 0) {
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<CountingProbe>("fast", fast, unit, cost));
  probes.push_back(std::make_unique<CountingProbe>("slow", slow, unit, cost));
  return probes;
}

TEST(SampledProbe, IsReadOnItsOwnGridAndDoesNotCatchUpInABurst) {
  FakeClock clock;
  SampledProbe probe(std::make_unique<CountingProbe>("fast", Seconds{0.1}, "Hz"), 0, clock);
  const Nanoseconds start = clock.now_;
  probe.begin();
  EXPECT_EQ(probe.due(), start + 100'000'000);
  clock.now_ = start + 100'000'000;
  probe.read_due(clock.now_);
  EXPECT_EQ(probe.due(), start + 200'000'000);
  clock.now_ = start + 750'000'000;  // a stall of several periods
  probe.read_due(clock.now_);
  EXPECT_EQ(probe.due(), clock.now_ + 100'000'000);
}

TEST(Sampler, ReadsAtBothEdgesEvenOfAnInstant) {
  SystemClock clock;
  Sampler sampler(two_probes(Seconds{10}, Seconds{10}), clock);
  const Nanoseconds before = clock.now();
  sampler.start();
  const auto readings = sampler.stop();
  ASSERT_EQ(readings.size(), 4U);
  EXPECT_GE(readings.front().time, before);
  EXPECT_EQ(readings[0].channel, 0U);
  EXPECT_EQ(readings[1].channel, 1U);
}

TEST(Sampler, LetsGoOfProbesThatAreAlwaysDue) {
  // As two boards' counters are while they are looked at as fast as they answer: each read takes longer than
  // both periods. A stop that waits for a moment without work would wait for ever.
  SystemClock clock;
  Sampler sampler(two_probes(Seconds{0.001}, Seconds{0.001}, "Hz", 4 * 1'000'000), clock);
  for (int i = 0; i < 5; ++i) {
    sampler.start();
    clock.sleep_until(clock.now() + 30'000'000);
    EXPECT_GE(sampler.read_cost(0).value(), 0.004);
    EXPECT_GE(sampler.stop().size(), 6U);
  }
}

TEST(Sampler, AProbeThatTakesItsTimeHoldsUpNoOther) {
  // As an NVML counter does, beside one that is looked at 1000 times a second.
  SystemClock clock;
  constexpr Nanoseconds slow_read = 50'000'000;
  for (const bool declared : {true, false}) {
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::make_unique<CountingProbe>("slow", Seconds{0.001}, "Hz", slow_read, declared));
    probes.push_back(std::make_unique<CountingProbe>("quick", Seconds{0.001}, "Hz"));
    Sampler sampler(std::move(probes), clock);
    sampler.start();
    clock.sleep_until(clock.now() + 6 * slow_read);
    const auto readings = sampler.stop();
    const auto of = [&](std::uint32_t channel) {
      return std::count_if(readings.begin(), readings.end(),
                           [&](const Reading& reading) { return reading.channel == channel; });
    };
    EXPECT_LE(of(0), 9) << declared;  // it cannot be read more often
    // One that waited for it would be read as seldom; half of what is due leaves room for a busy machine.
    EXPECT_GE(of(1), 5 * of(0)) << declared;
    EXPECT_TRUE(std::is_sorted(readings.begin(), readings.end(),
                               [](const Reading& a, const Reading& b) { return a.time < b.time; }));
    EXPECT_TRUE(sampler.stuck().empty());
  }
}

TEST(Sampler, AProbeThatNeverComesBackCostsItsOwnReadingsOnly) {
  // As a driver that hangs. Whoever waits for it goes on after longest_read.
  SystemClock& clock = system_clock();
  static std::atomic<bool> hangs;
  hangs = false;
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<HangingProbe>(hangs));
  probes.push_back(std::make_unique<CountingProbe>("quick", Seconds{0.01}, "Hz"));
  Sampler sampler(std::move(probes), clock);
  sampler.start();
  hangs = true;
  clock.sleep_until(clock.now() + 50'000'000);
  const auto readings = sampler.stop();
  EXPECT_THAT(sampler.stuck(), testing::ElementsAre("hangs"));
  EXPECT_TRUE(std::any_of(readings.begin(), readings.end(), [](const Reading& r) {
    return r.channel == 0 && r.status == ReadingStatus::gone;
  }));
  EXPECT_GE(std::count_if(readings.begin(), readings.end(), [](const Reading& r) { return r.channel == 1; }),
            2);

  // It comes back while the next trial runs: what it says then is not of that trial's beginning.
  std::thread comes_back([&] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(longest_read + longest_read / 10));
    hangs = false;
  });
  sampler.start();
  EXPECT_THAT(sampler.stuck(), testing::ElementsAre("hangs"));
  comes_back.join();
  for (const Reading& reading : sampler.stop()) {
    EXPECT_TRUE(reading.channel == 1 || reading.status == ReadingStatus::gone);
  }
  std::vector<Reading> again;
  for (int i = 0; i < 1000; ++i) {
    sampler.start();
    const bool back = sampler.stuck().empty();
    again = sampler.stop();
    if (back) break;
    clock.sleep_until(clock.now() + 10'000'000);
  }
  EXPECT_TRUE(
      std::any_of(again.begin(), again.end(), [](const Reading& r) { return r.channel == 0 && r.value; }));
}

TEST(Sampler, WhoeverReadsFirstNobodyWaitsLongForAProbeThatHangs) {
  // Before a trial, at its start, and at its end where no read was due meanwhile.
  static std::atomic<bool> hangs;
  SystemClock& clock = system_clock();
  for (const char* when : {"look", "start", "stop"}) {
    hangs = false;
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::make_unique<HangingProbe>(hangs, Seconds{100}));
    probes.push_back(std::make_unique<CountingProbe>("quick", Seconds{0.01}, "Hz"));
    Sampler sampler(std::move(probes), clock);
    const Nanoseconds began = clock.now();
    if (when == std::string("look")) {
      hangs = true;
      EXPECT_EQ(sampler.look("Hz").size(), 1U);
    }
    if (when == std::string("start")) hangs = true;
    sampler.start();
    hangs = true;
    const auto readings = sampler.stop();
    EXPECT_THAT(sampler.stuck(), testing::ElementsAre("hangs")) << when;
    EXPECT_GE(
        std::count_if(readings.begin(), readings.end(), [](const Reading& r) { return r.channel == 1; }), 2);
    // Once: who did not come back is not waited for again.
    EXPECT_LT(clock.now() - began, 2 * longest_read) << when;
    hangs = false;
  }
}

class CrayPm : public testing::Test {
 protected:
  CrayPm() {
    write("freshness", "100");
    write("startup", "1");
    write("generation", "13");
    write("raw_scan_hz", "10");
    write("version", "2");
    write("power_cap", "0 W");
    write("energy", "500 J 1700000000 us");
    write("power", "310 W 1700000000 us");
    write("cpu_energy", "200 J");
    write("cpu_temp", "41 C");
    write("accel0_energy", "120 J");
  }
  void write(const std::string& file, const std::string& text) {
    root_.file("sys/cray/pm_counters/" + file, text + "\n");
  }
  std::vector<Sample> read(Probe& probe) {
    std::vector<Sample> samples(probe.channels().size());
    probe.read(samples);
    return samples;
  }
  TemporaryFolder root_;
};

TEST_F(CrayPm, TheNodeIsTheWholeAndItsPartsAreWithin) {
  const Sysfs sysfs(root_.path());
  const auto finding = find_probe("cray_pm", {.sysfs = sysfs});
  ASSERT_TRUE(finding.probe) << finding.problem;
  EXPECT_THAT(channel_names(finding),
              testing::UnorderedElementsAre("cray_pm:energy", "cray_pm:power", "cray_pm:cpu_energy",
                                            "cray_pm:accel0_energy"));
  EXPECT_EQ(channel(finding, "cray_pm:energy").domain, "system");
  EXPECT_EQ(channel(finding, "cray_pm:energy").within, "");
  EXPECT_EQ(channel(finding, "cray_pm:accel0_energy").domain, "accel0");
  EXPECT_EQ(channel(finding, "cray_pm:accel0_energy").within, "system");
  EXPECT_DOUBLE_EQ(finding.probe->period().value(), 0.05);
}

TEST_F(CrayPm, OnlyWhatIsFreshIsARead) {
  const Sysfs sysfs(root_.path());
  const auto finding = find_probe("cray_pm", {.sysfs = sysfs});
  Probe& probe = *finding.probe;
  for (const Sample& sample : read(probe)) EXPECT_TRUE(sample.value);
  write("energy", "501 J");  // the controller is about to say so
  for (const Sample& sample : read(probe)) {
    EXPECT_FALSE(sample.value);
    EXPECT_EQ(sample.status, ReadingStatus::ok);
  }
  write("freshness", "101");
  double most = 0;
  for (const Sample& sample : read(probe)) most = std::max(most, sample.value.value_or(0));
  EXPECT_DOUBLE_EQ(most, 501);
  // A trial's first read is one whether the controller said something since the last trial or not.
  probe.begin();
  for (const Sample& sample : read(probe)) EXPECT_TRUE(sample.value);
}

TEST_F(CrayPm, ACounterThatBeganAnewIsNoDifference) {
  const Sysfs sysfs(root_.path());
  const auto finding = find_probe("cray_pm", {.sysfs = sysfs});
  read(*finding.probe);
  write("startup", "2");
  write("freshness", "3");
  write("energy", "0 J");
  for (const Sample& sample : read(*finding.probe)) EXPECT_EQ(sample.status, ReadingStatus::gone);
  write("freshness", "4");
  write("cpu_energy", "broken");
  const auto samples = read(*finding.probe);
  EXPECT_EQ(std::count_if(samples.begin(), samples.end(),
                          [](const Sample& s) { return s.status == ReadingStatus::absent; }),
            1);
  EXPECT_EQ(
      std::count_if(samples.begin(), samples.end(), [](const Sample& s) { return s.value.has_value(); }), 3);
}

TEST(CrayPmOnOtherMachines, IsAbsentWithItsReason) {
  TemporaryFolder root;
  const Sysfs sysfs(root.path());
  const auto finding = find_probe("cray_pm", {.sysfs = sysfs});
  EXPECT_FALSE(finding.probe);
  EXPECT_EQ(finding.problem, "no /sys/cray/pm_counters: this is no Cray node");
}

TEST(SampledProbe, OfPowerIsReadAtRandomTimesAroundItsPeriod) {
  FakeClock clock;
  SampledProbe probe(std::make_unique<CountingProbe>("power", Seconds{0.1}, "W"), 0, clock);
  const Nanoseconds start = clock.now_;
  probe.begin();
  std::vector<double> phases;
  double last = 0;
  for (int i = 1; i <= 400; ++i) {
    clock.now_ = probe.due();
    probe.read_due(clock.now_);
    const double time = seconds(clock.now_ - start).value();
    phases.push_back(time / 0.1 - std::round(time / 0.1));
    EXPECT_GE(time - last, -1e-9);
    last = time;
  }
  // One a period on the average, everywhere within 0.4 of it to either side.
  EXPECT_NEAR(last, 0.1 * static_cast<double>(phases.size()), 0.2);
  const auto [low, high] = std::minmax_element(phases.begin(), phases.end());
  EXPECT_GT(*low, -0.401);
  EXPECT_LT(*low, -0.35);
  EXPECT_LT(*high, 0.401);
  EXPECT_GT(*high, 0.35);
}

TEST(Sampler, StartsAndStopsOverAndOver) {
  SystemClock clock;
  Sampler sampler(two_probes(Seconds{0.0005}, Seconds{0.002}), clock);
  for (int i = 0; i < 20; ++i) {
    sampler.start();
    clock.sleep_until(clock.now() + 5'000'000);
    const auto readings = sampler.stop();
    EXPECT_GE(readings.size(), 4U);
    for (std::size_t k = 1; k < readings.size(); ++k) EXPECT_GE(readings[k].time, readings[k - 1].time);
  }
}

}  // namespace
}  // namespace dvfs_plan
