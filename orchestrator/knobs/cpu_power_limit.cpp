// cpu.power_limit: RAPL's limit on each package. Documentation/power/powercap/powercap.rst: a package is a zone with constraints, of
// which "long_term" and "short_term" are means over their windows. `enabled` says whether they are in force; writing it sets more bits of
// the register than it shows (set_floor_freq_default in intel_rapl_common.c), which could not be put back, so it is only looked at. The same
// package may have a second interface (intel-rapl-mmio), whose limits hold too: the lower one wins. Firmware may lock them: writing is
// refused then, or has no effect.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/gpu/gpu_knobs.hpp"

namespace dvfs_plan {
namespace {

const std::string powercap = "/sys/class/powercap/";

struct Zone {
  std::string folder;  // with '/'
  std::vector<std::string>
      limits;  // files of the long and the short term, the long one first; their windows stay as they are
  double highest_w = 0;
};
struct Package {
  std::string name;  // "package-0"
  std::vector<Zone> zones;
};

std::optional<double> watts_of(const std::string& file, const Sysfs& sysfs) {
  const auto microwatts = sysfs.number(file);
  return microwatts ? std::optional(*microwatts * 1e-6) : std::nullopt;
}

class PackagePowerLimit : public Knob {
 public:
  PackagePowerLimit(std::string axis, AxisOffer offer, std::vector<Package> packages, const Sysfs& sysfs)
      : axis_(std::move(axis)), offer_(std::move(offer)), packages_(std::move(packages)), sysfs_(sysfs) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for_each_zone([&](const Zone& zone) {
      for (const std::string& file : zone.limits) save_or_refuse(axis_, file, sysfs_, saved);
    });
    return saved;
  }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for_each_zone(
        [&](const Zone& zone) { paths.insert(paths.end(), zone.limits.begin(), zone.limits.end()); });
    return paths;
  }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for_each_zone([&](const Zone& zone) {
      for (SettingText& request : requests_of_zone(zone, value)) requests.push_back(std::move(request));
    });
    return requests;
  }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    for (const Package& package : packages_) {
      AppliedSetting setting{package.name, value.text, std::nullopt, {}};
      std::string refused;
      for (const Zone& zone : package.zones) {
        const auto requests = requests_of_zone(zone, value);
        const auto answers = writer.write(requests);
        for (std::size_t i = 0; i < answers.size() && refused.empty(); ++i) {
          if (!answers[i].problem.empty())
            refused =
                fmt::format("write {} to {}: {}; the firmware may have locked it (dmesg: 'locked by BIOS')",
                            requests[i].text, requests[i].path, answers[i].problem);
        }
      }
      read_back(package, value, setting, refused);
      applied.push_back(std::move(setting));
    }
    return applied;
  }

 private:
  template <class Do>
  void for_each_zone(Do what) const {
    for (const Package& package : packages_) {
      for (const Zone& zone : package.zones) what(zone);
    }
  }

  static std::vector<SettingText> requests_of_zone(const Zone& zone, const AxisValue& value) {
    std::vector<SettingText> requests;
    for (const std::string& file : zone.limits)
      requests.push_back({file, std::to_string(std::llround(value.watts().value() * 1e6))});
    return requests;
  }

  // The lowest of all its limits is in force.
  void read_back(const Package& package, const AxisValue& value, AppliedSetting& setting,
                 const std::string& refused) const {
    std::optional<double> lowest;
    std::string lowest_at, off;
    for (const Zone& zone : package.zones) {
      for (const std::string& file : zone.limits) {
        const auto text = sysfs_.text(file);
        const auto now = watts_of(file, sysfs_);
        if (text) setting.stands.push_back({axis_, file, *text});
        if (now && (!lowest || *now < *lowest)) {
          lowest = now;
          lowest_at = file;
        }
      }
      if (sysfs_.text(zone.folder + "enabled") != "1") off = zone.folder + "enabled";
    }
    if (lowest) {
      setting.applied = format_quantity(*lowest, Dimension::power);
      setting.power_limit = Watts{*lowest};
    }
    constexpr double rounding_w = 0.25;  // the register counts in eighths of a watt
    if (!refused.empty())
      setting.problem = fmt::format("{} {}: {}", axis_, package.name, refused);
    else if (!off.empty())
      setting.problem =
          fmt::format("{} {}: {} does not read 1: the limit is not in force", axis_, package.name, off);
    else if (!lowest || std::abs(*lowest - value.watts().value()) > rounding_w)
      setting.problem = fmt::format("{} {}: asked for {}, read back {} from {}", axis_, package.name,
                                    value.text, setting.applied.value_or("nothing"),
                                    lowest_at.empty() ? package.zones.front().limits.front() : lowest_at);
  }

  std::string axis_;
  AxisOffer offer_;
  std::vector<Package> packages_;
  const Sysfs& sysfs_;
};

// nullopt: it has no limit that may be set.
std::optional<Zone> read_zone(const std::string& folder, const Sysfs& sysfs) {
  Zone zone{folder, {}, 0};
  std::map<std::string, std::string> stems;  // by the constraint's name
  for (const std::string& file : sysfs.list(folder)) {
    if (!file.starts_with("constraint_") || !file.ends_with("_name")) continue;
    const std::string stem = folder + file.substr(0, file.size() - std::string("name").size());
    stems[sysfs.text(folder + file).value_or("")] = stem;
  }
  for (const char* term : {"long_term", "short_term"}) {
    const auto found = stems.find(term);
    if (found == stems.end() || !watts_of(found->second + "power_limit_uw", sysfs)) continue;
    zone.limits.push_back(found->second + "power_limit_uw");
  }
  if (!stems.contains("long_term") || zone.limits.empty() || !sysfs.exists(folder + "enabled"))
    return std::nullopt;
  // What it is made for; where that is not told, what it is allowed now (which may be "unlimited": 4095 W).
  zone.highest_w = watts_of(stems["long_term"] + "max_power_uw", sysfs).value_or(0);
  if (zone.highest_w <= 0) zone.highest_w = watts_of(zone.limits.front(), sysfs).value_or(0);
  return zone;
}

KnobFinding find_cpu_power_limit(const KnobRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  std::vector<Package> packages;
  std::vector<std::string> names;
  bool counts_only = false;
  std::string off;
  for (const std::string& zone : sysfs.list(powercap)) {
    // intel-rapl:0 and intel-rapl-mmio:0 are packages, intel-rapl:0:1 a part of one.
    if (!zone.starts_with("intel-rapl") || zone.find(':') == std::string::npos ||
        zone.find(':') != zone.rfind(':'))
      continue;
    const std::string folder = powercap + zone + "/", name = sysfs.text(folder + "name").value_or("");
    if (!name.starts_with("package")) continue;
    auto read = read_zone(folder, sysfs);
    counts_only = counts_only || !read;
    if (!read) continue;
    if (sysfs.text(folder + "enabled") != "1") off = folder + "enabled";
    auto known =
        std::find_if(packages.begin(), packages.end(), [&](const Package& one) { return one.name == name; });
    if (known == packages.end()) {
      names.push_back(name);
      packages.push_back({name, {}});
      known = packages.end() - 1;
    }
    known->zones.push_back(std::move(*read));
  }
  if (packages.empty())
    return {
        request.axis, nullptr,
        counts_only
            ? std::string("its packages are counted and not limited by this driver (no "
                          "constraint_0_power_limit_uw below "
                          "/sys/class/powercap/intel-rapl:0), as on AMD")
            : std::string(
                  "no package in /sys/class/powercap; on Intel's hardware: sudo modprobe intel_rapl_msr")};
  if (!off.empty())
    return {request.axis, nullptr,
            fmt::format("{} reads 0: its limits are not in force, and putting them into force changes more "
                        "of the register than could be put "
                        "back; the firmware's setup may, or an administrator: echo 1 | sudo tee {}",
                        off, off)};
  if (!request.target.empty()) {
    std::erase_if(packages, [&](const Package& one) { return one.name != request.target; });
    if (packages.empty())
      return {request.axis, nullptr,
              fmt::format("there is no {}{}; there are: {}", request.target,
                          did_you_mean(request.target, names), join(names, ", "))};
  }
  double highest = 1e9;
  for (const Package& package : packages) {
    double own = 0;
    for (const Zone& zone : package.zones) own = std::max(own, zone.highest_w);
    highest = std::min(highest, own);
  }
  if (highest < 1)
    return {request.axis, nullptr,
            "neither a greatest power nor a limit is told (constraint_0_max_power_uw)"};
  // How low it may go the kernel does not tell; below a quarter machines hardly move.
  return {request.axis,
          std::make_unique<PackagePowerLimit>(request.axis,
                                              offer_of_watts(std::ceil(highest / 4), std::floor(highest)),
                                              std::move(packages), sysfs),
          {}};
}

const Registered<KnobKind> cpu_power_limit(
    {.name = "cpu.power_limit",
     .place = 52,
     .what = "power limit of each package, long and short term (RAPL by powercap)",
     .find = find_cpu_power_limit});

}  // namespace
}  // namespace dvfs_plan
