#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
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
    if (chip_ == "amd_hsmp_hwmon") socket_ = sockets_++;
    for (const std::string& file : sysfs_.list(files)) sensor(files, file);
    if (chip_ == "ina3221") rails(files);
  }

  // How many ACPI power meters there are: of several none is known to be the machine's.
  void count_meters(const std::vector<std::string>& chips) {
    for (const std::string& hwmon : chips) {
      const std::string folder = "/sys/class/hwmon/" + hwmon;
      for (const std::string& name : {folder + "/name", folder + "/device/name"}) {
        if (sysfs_.text(name) != "power_meter") continue;
        ++meters_;
        break;
      }
    }
  }

  Seconds fastest() const { return fastest_; }

 private:
  void sensor(const std::string& folder, const std::string& file) {
    if (const auto stem = stem_of(file, "energy", "_input"); !stem.empty()) {
      add(folder, file, stem, "J", ChannelKind::counter);
    } else if (const auto average = stem_of(file, "power", "_average"); !average.empty()) {
      Seconds period = usual_period;
      std::optional<double> window;
      if (const auto interval = sysfs_.number(folder + "/" + average + "_average_interval")) {
        // The meter's own averaging time, in ms: reading faster only repeats it.
        period = Seconds{std::clamp(*interval * 1e-3, 0.005, 1.0)};
        // 0: the firmware does not tell (acpi_power_meter prints it where there is no _GAI).
        if (*interval > 0) window = *interval * 1e-3;
      }
      add(folder, file, average, "W", ChannelKind::gauge, period, window);
    } else if (const auto input = stem_of(file, "power", "_input");
               !input.empty() && !sysfs_.exists(folder + "/" + input + "_average")) {
      add(folder, file, input, "W", ChannelKind::gauge);
    }
  }

  void add(const std::string& folder, const std::string& file, const std::string& stem, const char* unit,
           ChannelKind kind, Seconds period = usual_period, std::optional<double> window = std::nullopt) {
    fastest_ = std::min(fastest_, period);
    Channel channel;
    channel.unit = unit;
    channel.kind = kind;
    channel.averages_over_s = window;
    channel.name = fmt::format("hwmon:{}/{}", unique_, stem);
    const auto label = sysfs_.text(folder + "/" + stem + "_label");
    channel.domain = fmt::format("{}/{}", unique_, label.value_or(stem));
    // A rail or a board is part of the machine; where the machine as a whole is metered, never add them.
    channel.within = "system";
    if (chip_ == "power_meter") place_meter(folder, stem, channel);
    if (chip_ == "amd_hsmp_hwmon") place_socket(std::to_string(socket_), channel);
    if (chip_ == "amd_energy") {
      constexpr std::string_view of_socket = "Esocket";
      // Of cores: each look at one interrupts it.
      if (!label || !label->starts_with(of_socket)) return;
      place_socket(label->substr(of_socket.size()), channel);
    }
    probe_.add(channel, sysfs_, folder + "/" + file, 1e-6);
  }

  // What an ACPI power meter measures says its firmware, or nobody. NVIDIA's Grace has one for each of these, and names it
  // (docs.nvidia.com/grace-perf-tuning-guide/power-thermals.html): the module holds Grace and the GPU with their memory, Grace holds the
  // CPU's rail and SysIO. Elsewhere a meter that is alone is the machine's (ACPI 6.5, 10.4: a power meter for the whole system).
  void place_meter(const std::string& folder, const std::string& stem, Channel& channel) const {
    const std::string said = sysfs_.text(folder + "/" + stem + "_oem_info").value_or("");
    struct Named {
      std::string_view begins, domain, within;
    };
    for (const Named& one :
         {Named{"Module Power Socket ", "module-", ""}, Named{"Grace Power Socket ", "grace-", "module-"},
          Named{"CPU Power Socket ", "grace-{}/cpu", "grace-"},
          Named{"SysIO Power Socket ", "grace-{}/sysio", "grace-"}}) {
      if (!said.starts_with(one.begins)) continue;
      const std::string socket = said.substr(one.begins.size());
      const auto place = one.domain.find("{}");
      channel.domain = place == std::string_view::npos ? std::string(one.domain) + socket
                                                       : std::string(one.domain.substr(0, place)) + socket +
                                                             std::string(one.domain.substr(place + 2));
      channel.within = one.within.empty() ? "system" : std::string(one.within) + socket;
      return;
    }
    if (meters_ > 1) return;
    channel.domain = "system";
    channel.within.clear();
  }

  // AMD's EPYC: what a socket has counted (amd_energy, Documentation/hwmon/amd_energy.rst; since Linux 5.13 from github.com/amd/amd_energy), and
  // what it draws (drivers/platform/x86/amd/hsmp/hwmon.c, one chip a socket, in their order). They are the packages that RAPL tells.
  static void place_socket(const std::string& socket, Channel& channel) {
    channel.domain = "package-" + socket;
    channel.within.clear();
  }

  // Volts and amperes of up to three supplies (Documentation/hwmon/ina3221.rst): on NVIDIA's Jetsons the rails of the module, VDD_IN the
  // whole of it where there is one. A supply that is not connected is called NC.
  void rails(const std::string& files) {
    std::vector<std::pair<int, std::string>> found;  // by number: the label
    for (const int n : {1, 2, 3}) {
      const std::string volts = fmt::format("{}/in{}", files, n),
                        amperes = fmt::format("{}/curr{}_input", files, n);
      const bool off = sysfs_.number(volts + "_enable") == 0;
      const std::string label = sysfs_.text(volts + "_label").value_or(fmt::format("in{}", n));
      const bool has_power = sysfs_.exists(fmt::format("{}/power{}_input", files, n));
      if (off || label == "NC" || has_power || !sysfs_.exists(volts + "_input") || !sysfs_.exists(amperes))
        continue;
      found.emplace_back(n, label);
    }
    const Seconds period{
        std::clamp(sysfs_.number(files + "/update_interval").value_or(50) * 1e-3, 0.005, 1.0)};
    for (const auto& [n, label] : found) {
      fastest_ = std::min(fastest_, period);
      Channel channel;
      channel.unit = "W";
      channel.kind = ChannelKind::gauge;
      channel.name = fmt::format("hwmon:{}/{}", unique_, label);
      const bool whole = label == "VDD_IN";
      channel.domain = whole ? "system" : fmt::format("{}/{}", unique_, label);
      if (!whole) channel.within = "system";
      probe_.add_product(channel, sysfs_, fmt::format("{}/in{}_input", files, n),
                         fmt::format("{}/curr{}_input", files, n), 1e-6);
    }
  }

  const Sysfs& sysfs_;
  SysfsProbe& probe_;
  std::string chip_, unique_;
  std::vector<std::string> seen_;
  int meters_ = 0;                // of ACPI
  int socket_ = 0, sockets_ = 0;  // of HSMP: the chip at hand, and how many so far
  Seconds fastest_{1};            // the shortest period of any sensor found
};

// ACPI power meters have their files below device/. Documentation/hwmon/sysfs-interface.rst,
// Documentation/hwmon/acpi_power_meter.rst.
ProbeFinding find_hwmon(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  auto probe = std::make_unique<SysfsProbe>("hwmon", Seconds{0.05}, SysfsProbe::Answer::from_device);
  HwmonFinder finder(sysfs, *probe);
  auto chips = sysfs.list("/sys/class/hwmon");
  std::sort(chips.begin(), chips.end(), NaturalOrder());
  finder.count_meters(chips);
  for (const std::string& hwmon : chips) finder.chip(hwmon);
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
