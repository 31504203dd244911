#include <fmt/format.h>

#include <algorithm>

#include "probes/probe_table.hpp"
#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {
namespace {

// "power1_average" -> "power1" if the name has this form.
std::string stem_of(const std::string& file, std::string_view quantity, std::string_view suffix) {
  if (!file.starts_with(quantity) || !file.ends_with(suffix)) return {};
  const std::string stem = file.substr(0, file.size() - suffix.size());
  const std::string digits = stem.substr(quantity.size());
  const bool numbered = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  return numbered ? stem : std::string{};
}

constexpr Seconds usual_period{0.05};  // of sensors that do not say how often they renew

class HwmonFinder {
 public:
  HwmonFinder(const Sysfs& sysfs, SysfsProbe& probe) : sysfs_(sysfs), probe_(probe) {}

  void chip(const std::string& hwmon) {
    const std::string folder = "/sys/class/hwmon/" + hwmon;
    // Older drivers, the ACPI power meter's among them, keep all their files one folder down.
    const bool below = !sysfs_.exists(folder + "/name") && sysfs_.exists(folder + "/device/name");
    const std::string files = below ? folder + "/device" : folder;
    chip_ = sysfs_.text(files + "/name").value_or(hwmon);
    // A GPU's sensors belong to its own probe: an experiment without GPUs has nothing to do with them.
    if (chip_ == "amdgpu" || chip_ == "xe" || chip_ == "i915") return;
    unique_ = std::count(seen_.begin(), seen_.end(), chip_) == 0 ? chip_ : chip_ + "." + hwmon.substr(5);
    seen_.push_back(chip_);
    const bool acpi_meter = chip_ == "power_meter";  // measures the whole machine
    for (const std::string& file : sysfs_.list(files)) sensor(files, file, acpi_meter);
  }

  Seconds fastest() const { return fastest_; }

 private:
  void sensor(const std::string& folder, const std::string& file, bool acpi_meter) {
    if (const auto stem = stem_of(file, "energy", "_input"); !stem.empty()) {
      add(folder, file, stem, "J", ChannelKind::counter, acpi_meter);
    } else if (const auto average = stem_of(file, "power", "_average"); !average.empty()) {
      Seconds period = usual_period;
      std::optional<double> window;
      if (const auto interval = sysfs_.number(folder + "/" + average + "_average_interval")) {
        // The meter's own averaging time, in ms: reading faster only repeats it.
        period = Seconds{std::clamp(*interval * 1e-3, 0.005, 1.0)};
        // 0: the firmware does not tell (acpi_power_meter prints it where there is no _GAI).
        if (*interval > 0) window = *interval * 1e-3;
      }
      add(folder, file, average, "W", ChannelKind::gauge, acpi_meter, period, window);
    } else if (const auto input = stem_of(file, "power", "_input");
               !input.empty() && !sysfs_.exists(folder + "/" + input + "_average")) {
      add(folder, file, input, "W", ChannelKind::gauge, acpi_meter);
    }
  }

  void add(const std::string& folder, const std::string& file, const std::string& stem, const char* unit,
           ChannelKind kind, bool acpi_meter, Seconds period = usual_period,
           std::optional<double> window = std::nullopt) {
    fastest_ = std::min(fastest_, period);
    Channel channel;
    channel.unit = unit;
    channel.kind = kind;
    channel.averages_over_s = window;
    channel.name = fmt::format("hwmon:{}/{}", unique_, stem);
    const auto label = sysfs_.text(folder + "/" + stem + "_label");
    channel.domain = acpi_meter ? "system" : fmt::format("{}/{}", unique_, label.value_or(stem));
    // A rail or a board is part of the machine; where the machine as a whole is metered, never add them.
    if (!acpi_meter) channel.within = "system";
    probe_.add(channel, sysfs_, folder + "/" + file, 1e-6);
  }

  const Sysfs& sysfs_;
  SysfsProbe& probe_;
  std::string chip_, unique_;
  std::vector<std::string> seen_;
  Seconds fastest_{1};  // the shortest period of any sensor found
};

// ACPI power meters have their files below device/. Documentation/hwmon/sysfs-interface.rst,
// Documentation/hwmon/acpi_power_meter.rst.
ProbeFinding find_hwmon(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  auto probe = std::make_unique<SysfsProbe>("hwmon", Seconds{0.05}, SysfsProbe::Answer::from_device);
  HwmonFinder finder(sysfs, *probe);
  for (const std::string& hwmon : sysfs.list("/sys/class/hwmon")) finder.chip(hwmon);
  probe->set_period(finder.fastest());
  ProbeFinding finding{"hwmon", nullptr, {}, {}};
  if (probe->empty()) {
    finding.problem = "no power or energy sensor in /sys/class/hwmon";
    finding.fix = "servers with an ACPI power meter: sudo modprobe acpi_power_meter";
  } else {
    finding.probe = std::move(probe);
  }
  return finding;
}

const Registered<ProbeKind> hwmon(
    {.name = "hwmon",
     .place = 20,
     .what = "power and energy sensors of the board, ACPI power meters among them",
     .find = find_hwmon});

}  // namespace
}  // namespace dvfs_plan
