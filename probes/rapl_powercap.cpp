// RAPL through /sys/class/powercap. Zones nest: intel-rapl:0 is a package, intel-rapl:0:1 a part of it.
#include <fmt/format.h>

#include "probes/attribute_reader.hpp"
#include "probes/rapl.hpp"
#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {
namespace {

const std::string class_folder = "/sys/class/powercap/";

// The package a zone belongs to: "1" for intel-rapl:1 and intel-rapl:1:0.
std::string package_of(const std::string& zone) {
  const auto first = zone.find(':');
  const auto second = zone.find(':', first + 1);
  return zone.substr(first + 1, second == std::string::npos ? second : second - first - 1);
}

}  // namespace

ProbeFinding find_rapl_powercap(const Sysfs& sysfs) {
  auto probe = std::make_unique<SysfsProbe>("rapl", Seconds{0.1}, SysfsProbe::Answer::from_memory);
  ProbeFinding finding{"rapl", nullptr, {}, {}};
  bool denied = false;
  bool psys = false;
  const auto zones = sysfs.list(class_folder);
  for (const std::string& zone : zones) {
    psys = psys || (zone.starts_with("intel-rapl:") && sysfs.text(class_folder + zone + "/name") == "psys");
  }
  for (const std::string& zone : zones) {
    // intel-rapl-mmio repeats the package's counter through another door.
    if (!zone.starts_with("intel-rapl:")) continue;
    const std::string folder = class_folder + zone;
    const auto name = sysfs.text(folder + "/name");
    if (!name || !sysfs.exists(folder + "/energy_uj")) continue;
    const bool top = zone.find(':') == zone.rfind(':');
    const std::string package =
        sysfs.text(class_folder + "intel-rapl:" + package_of(zone) + "/name").value_or("package");
    Channel channel;
    channel.unit = "J";
    channel.kind = ChannelKind::counter;
    // package-0 stays; the parts of a package get its number: dram-0, core-0.
    channel.domain = top ? *name : *name + package.substr(std::min(package.find('-'), package.size()));
    channel.name = "rapl:" + channel.domain;
    // DRAM is a domain of its own beside the package; core and uncore are inside it; psys holds all.
    if (!top && *name != "dram")
      channel.within = package;
    else if (psys && *name != "psys")
      channel.within = "psys";
    if (const auto range = sysfs.number(folder + "/max_energy_range_uj")) channel.wraps_at = *range * 1e-6;
    denied =
        denied || AttributeReader(sysfs, folder + "/energy_uj", 1).read().status == ReadingStatus::denied;
    probe->add(channel, sysfs, folder + "/energy_uj", 1e-6);
  }
  if (denied) {
    finding.problem = "energy_uj may be read by root only (since Linux 5.10)";
    finding.fix =
        "run with sudo, let an administrator install the guardian (README, Install), or: sudo chmod a+r "
        "/sys/class/powercap/intel-rapl:*/energy_uj";
  }
  if (probe->empty()) {
    finding.problem = "no RAPL zones in /sys/class/powercap";
    finding.fix = "on Intel and AMD hardware: sudo modprobe intel_rapl_msr";
  } else {
    finding.probe = std::move(probe);
  }
  return finding;
}

}  // namespace dvfs_plan
