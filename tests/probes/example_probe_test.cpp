// The example of CONTRIBUTING.md, compiled and run: a probe of one's own in one screen.
#include <gtest/gtest.h>

#include <algorithm>

#include "probes/probe_table.hpp"
#include "probes/sysfs_probe.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

// Fans tell of heat that the CPU's own sensors do not see. Documentation/hwmon/sysfs-interface.rst.
ProbeFinding find_fans(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  auto probe = std::make_unique<SysfsProbe>("fans", Seconds{1}, SysfsProbe::Answer::from_device);
  for (const std::string& hwmon : sysfs.list("/sys/class/hwmon")) {
    const std::string file = "/sys/class/hwmon/" + hwmon + "/fan1_input";
    if (!sysfs.exists(file)) continue;
    Channel channel;
    channel.name = "fans:" + hwmon;
    channel.unit = "Hz";
    channel.domain = hwmon;
    probe->add(channel, sysfs, file, 1.0 / 60);  // the file says revolutions a minute
  }
  ProbeFinding finding{"fans", nullptr, {}, {}};
  if (probe->empty())
    finding.problem = "no fan in /sys/class/hwmon";
  else
    finding.probe = std::move(probe);
  return finding;
}

const Registered<ProbeKind> fans({.name = "fans", .place = 45, .what = "speeds of fans", .find = find_fans});

TEST(ExampleProbe, ReadsAFanInHertz) {
  TemporaryFolder root;
  root.attribute("/sys/class/hwmon/hwmon3/fan1_input", "1200");
  const auto finding = find_probe("fans", {Sysfs(root.path())});
  ASSERT_TRUE(finding.probe);
  std::vector<Sample> samples(1);
  finding.probe->read(samples);
  EXPECT_DOUBLE_EQ(*samples[0].value, 20);
}

TEST(ExampleProbe, SaysWhatIsMissing) {
  TemporaryFolder root;
  EXPECT_EQ(find_probe("fans", {Sysfs(root.path())}).problem, "no fan in /sys/class/hwmon");
}

TEST(ExampleProbe, IsAmongAllProbesAtItsPlace) {
  TemporaryFolder root;
  std::vector<std::string> names;
  for (const ProbeFinding& finding : find_probes({Sysfs(root.path())})) names.push_back(finding.name);
  const auto place = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(place("cpufreq"), place("fans"));
  EXPECT_LT(place("fans"), std::ssize(names));
}

}  // namespace
}  // namespace dvfs_plan
