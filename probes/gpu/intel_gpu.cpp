// Intel boards and integrated graphics under xe or i915: hwmon's energy counters, and the clock that each
// GT really runs at.
#include <fmt/format.h>

#include "base/text.hpp"
#include "probes/gpu/board_channel.hpp"
#include "probes/gpu/intel_gt.hpp"
#include "probes/probe_table.hpp"
#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {
namespace {

Channel intel_channel(const GpuBoard& board, const std::string& quantity, const char* unit) {
  return board_channel("intel_gpu", board, quantity, unit);
}

void add_energy(const Sysfs& sysfs, const GpuBoard& board, SysfsProbe& probe) {
  for (const std::string& hwmon : sysfs.list(board.folder + "/hwmon")) {
    const std::string folder = board.folder + "/hwmon/" + hwmon + "/";
    // xe: energy1 is the card's, energy2 the package's, which the card's holds. i915: energy1 is the whole.
    for (const int number : {1, 2}) {
      const std::string file = fmt::format("{}energy{}_input", folder, number);
      if (!sysfs.exists(file)) continue;
      const std::string label =
          sysfs.text(fmt::format("{}energy{}_label", folder, number)).value_or(number == 1 ? "" : "pkg");
      const bool part = number == 2 && sysfs.exists(folder + "energy1_input");
      Channel energy = intel_channel(board, part ? "energy_" + label : "energy", "J");
      energy.kind = ChannelKind::counter;
      if (part) {
        energy.domain = board.domain + "/" + label;
        energy.within = board.domain;
      }
      probe.add(energy, sysfs, file, 1e-6);
    }
    if (sysfs.exists(folder + "temp2_input"))
      probe.add(intel_channel(board, "temperature", "C"), sysfs, folder + "temp2_input", 1e-3);
    else if (sysfs.exists(folder + "temp1_input"))
      probe.add(intel_channel(board, "temperature", "C"), sysfs, folder + "temp1_input", 1e-3);
  }
}

// Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon, sysfs-driver-intel-i915-hwmon, sysfs-class-drm.
ProbeFinding find_intel_gpu(const ProbeRequest& request) {
  ProbeFinding finding{"intel_gpu", nullptr, {}, {}};
  auto probe = std::make_unique<SysfsProbe>("intel_gpu", Seconds{0.05}, SysfsProbe::Answer::from_device);
  for (const GpuBoard& board : request.boards) {
    if (board.vendor != GpuVendor::intel) continue;
    add_energy(request.sysfs, board, *probe);
    const auto gts = find_intel_gts(request.sysfs, board);
    // The media GT's clock is no one's axis: the first GT is the one that computes.
    if (gts.empty()) continue;
    Channel clock = intel_channel(board, "core_clock", "Hz");
    clock.under_load_only = true;
    constexpr bool sleeping_says_zero = true;  // in RC6
    probe->add(clock, request.sysfs, gts.front().actual_file, 1e6, sleeping_says_zero);
  }
  if (!probe->empty()) {
    finding.probe = std::move(probe);
  } else {
    finding.problem = "no board of the xe or i915 driver in /sys/class/drm";
    finding.fix = "look whether the driver is bound: lspci -k; sudo modprobe xe";
  }
  return finding;
}

const Registered<ProbeKind> intel_gpu(
    {.name = "intel_gpu",
     .place = 70,
     .what = "Intel boards and integrated graphics: energy counters and clocks of xe and i915",
     .boards_of = GpuVendor::intel,
     .find = find_intel_gpu});

}  // namespace
}  // namespace dvfs_plan
