// AMD boards: hwmon for power, clocks and temperatures; the device's own files for load, memory and, of Instinct boards, energy.
#include <fmt/format.h>

#include <memory>

#include "probes/gpu/amdgpu_metrics.hpp"
#include "probes/gpu/board_channel.hpp"
#include "probes/probe_table.hpp"
#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {
namespace {

Channel amdgpu_channel(const GpuBoard& board, const std::string& quantity, const char* unit) {
  return board_channel("amdgpu", board, quantity, unit);
}

void add_board(const Sysfs& sysfs, const GpuBoard& board, SysfsProbe& probe) {
  // Instinct boards count their energy; where one does, that is what joules are made of.
  if (const auto counter = std::make_shared<GpuMetricsEnergy>(sysfs, board.folder); counter->read().value) {
    Channel energy = amdgpu_channel(board, "energy", "J");
    energy.kind = ChannelKind::counter;
    probe.add_read(std::move(energy), board.folder + "/gpu_metrics", [counter] { return counter->read(); });
  }
  for (const std::string& hwmon : sysfs.list(board.folder + "/hwmon")) {
    const std::string folder = board.folder + "/hwmon/" + hwmon + "/";
    const auto add = [&](Channel what, const std::string& file, double scale) {
      if (!sysfs.exists(folder + file)) return false;
      probe.add(std::move(what), sysfs, folder + file, scale);
      return true;
    };
    // power1_average is the firmware's own mean; newer boards have power1_input instead. Graphics inside a
    // CPU have no cap of their own, and what they tell is the whole socket's: the package that RAPL tells
    // already.
    Channel average = amdgpu_channel(board, "power_average", "W"),
            instant = amdgpu_channel(board, "power_instant", "W");
    if (!sysfs.exists(folder + "power1_cap")) average.within = instant.within = "package-0";
    if (!add(average, "power1_average", 1e-6)) add(instant, "power1_input", 1e-6);
    Channel core = amdgpu_channel(board, "core_clock", "Hz"),
            memory = amdgpu_channel(board, "memory_clock", "Hz");
    core.under_load_only = memory.under_load_only = true;
    add(core, "freq1_input", 1);
    add(memory, "freq2_input", 1);
    add(amdgpu_channel(board, "temperature", "C"), "temp1_input", 1e-3);
    add(amdgpu_channel(board, "junction_temperature", "C"), "temp2_input", 1e-3);
    add(amdgpu_channel(board, "memory_temperature", "C"), "temp3_input", 1e-3);
  }
  const auto add = [&](const std::string& quantity, const char* unit, const std::string& file) {
    if (sysfs.exists(board.folder + "/" + file))
      probe.add(amdgpu_channel(board, quantity, unit), sysfs, board.folder + "/" + file, 1);
  };
  add("utilisation", "%", "gpu_busy_percent");
  add("memory_used", "B", "mem_info_vram_used");
}

// Documentation/gpu/amdgpu/thermal.rst (hwmon), driver-misc.rst (gpu_busy_percent, mem_info_*).
ProbeFinding find_amdgpu(const ProbeRequest& request) {
  ProbeFinding finding{"amdgpu", nullptr, {}, {}};
  auto probe = std::make_unique<SysfsProbe>("amdgpu", Seconds{0.05}, SysfsProbe::Answer::from_device);
  for (const GpuBoard& board : request.boards) {
    if (board.vendor == GpuVendor::amd) add_board(request.sysfs, board, *probe);
  }
  if (!probe->empty()) {
    finding.probe = std::move(probe);
  } else {
    finding.problem = "no board of the amdgpu driver in /sys/class/drm";
    finding.fix = "look whether the driver is bound: lspci -k; sudo modprobe amdgpu";
  }
  return finding;
}

const Registered<ProbeKind> amdgpu(
    {.name = "amdgpu",
     .place = 60,
     .what = "AMD boards: energy (Instinct), power, clocks, temperature, use, by amdgpu",
     .boards_of = GpuVendor::amd,
     .find = find_amdgpu});

}  // namespace
}  // namespace dvfs_plan
