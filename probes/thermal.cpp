#include <fmt/format.h>

#include <map>

#include "probes/probe_table.hpp"
#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {

namespace {

// Documentation/driver-api/thermal/sysfs-api.rst.
ProbeFinding find_thermal(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  auto probe = std::make_unique<SysfsProbe>("thermal", Seconds{0.5}, SysfsProbe::Answer::from_device);
  std::map<std::string, int> types;
  for (const std::string& zone : sysfs.list("/sys/class/thermal")) {
    if (!zone.starts_with("thermal_zone")) continue;
    const std::string folder = "/sys/class/thermal/" + zone;
    const auto type = sysfs.text(folder + "/type").value_or(zone);
    Channel channel;
    channel.unit = "C";
    channel.domain = types[type]++ == 0 ? type : fmt::format("{}.{}", type, zone.substr(12));
    channel.name = "thermal:" + channel.domain;
    probe->add(channel, sysfs, folder + "/temp", 1e-3);
  }
  ProbeFinding finding{"thermal", nullptr, {}, {}};
  if (probe->empty())
    finding.problem = "no zones in /sys/class/thermal";
  else
    finding.probe = std::move(probe);
  return finding;
}

const Registered<ProbeKind> thermal(
    {.name = "thermal", .place = 30, .what = "temperatures of thermal zones", .find = find_thermal});

}  // namespace
}  // namespace dvfs_plan
