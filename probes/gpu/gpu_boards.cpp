#include "probes/gpu/gpu_boards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "probes/gpu/nvidia_smi.hpp"
#include "probes/gpu/nvml_library.hpp"

namespace dvfs_plan {
namespace {

const std::string drm_folder = "/sys/class/drm/";

// "00000000:00:06.0" -> "0000:00:06.0", in lower case as the kernel writes it.
std::string pci_address(std::string text) {
  if (text.size() == 16) text.erase(0, 4);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::vector<GpuBoard> by_nvml(const Sysfs& sysfs) {
  std::vector<GpuBoard> boards;
  const auto [library, problem, fix] = NvmlLibrary::open(sysfs);
  if (!library) return boards;
  const std::string driver = "NVIDIA " + library->driver_version();
  for (const auto& info : library->boards()) {
    GpuBoard board;
    board.index = info.index;
    board.uuid = info.uuid;
    board.name = info.name;
    board.pci = pci_address(info.pci);
    board.driver = driver;
    board.mig = library->mig_enabled(info.device).value_or(false);
    boards.push_back(board);
  }
  return boards;
}

std::vector<GpuBoard> by_nvidia_smi(const Sysfs& sysfs) {
  std::vector<GpuBoard> boards;
  const auto smi = NvidiaSmi::find(sysfs);
  if (!smi) return boards;
  const auto [table, problem] =
      smi->query({"index", "uuid", "name", "pci.bus_id", "driver_version", "mig.mode.current"});
  for (std::size_t row = 0; row < table.size(); ++row) {
    GpuBoard board;
    board.uuid = table.text(row, "uuid").value_or("");
    if (board.uuid.empty()) continue;
    board.index = static_cast<int>(table.number(row, "index").value_or(static_cast<double>(row)));
    board.name = table.text(row, "name").value_or("NVIDIA board");
    board.pci = pci_address(table.text(row, "pci.bus_id").value_or(""));
    board.driver = "NVIDIA " + table.text(row, "driver_version").value_or("");
    board.mig = table.text(row, "mig.mode.current") == "Enabled";
    boards.push_back(board);
  }
  return boards;
}

bool is_card(const std::string& name) {
  return name.starts_with("card") && name.find_first_not_of("0123456789", 4) == std::string::npos;
}

// AMD's and Intel's boards, each with its kernel driver.
std::vector<GpuBoard> by_drm(const Sysfs& sysfs) {
  std::vector<GpuBoard> boards;
  for (const std::string& card : sysfs.list(drm_folder)) {
    if (!is_card(card)) continue;
    const std::string device = drm_folder + card + "/device";
    const auto vendor = sysfs.text(device + "/vendor");
    if (vendor != "0x1002" && vendor != "0x8086") continue;
    GpuBoard board;
    board.vendor = vendor == "0x1002" ? GpuVendor::amd : GpuVendor::intel;
    board.folder = device;
    for (const std::string& line : split_lines(sysfs.text(device + "/uevent").value_or(""))) {
      if (line.starts_with("PCI_SLOT_NAME=")) board.pci = line.substr(14);
      if (line.starts_with("DRIVER=")) board.driver = line.substr(7);
    }
    // amdgpu of kernels before 6.7 has an empty product_name on boards without a FRU.
    auto model = sysfs.text(device + "/product_name");
    if (model.value_or("").empty()) model = sysfs.text(device + "/device");
    board.name = fmt::format("{} {}", board.vendor == GpuVendor::amd ? "AMD" : "Intel",
                             model.value_or("").empty() ? "GPU" : *model);
    board.uuid = sysfs.text(device + "/unique_id").value_or(board.pci.empty() ? card : board.pci);
    boards.push_back(board);
  }
  return boards;
}

std::string what_was_looked_for(const Sysfs& sysfs) {
  std::string text = "this machine has no GPU that can be read: ";
  const auto [library, problem, fix] = NvmlLibrary::open(sysfs);
  const auto smi = NvidiaSmi::find(sysfs);
  if (library || smi)
    text += "NVIDIA's driver finds no board" + (problem.empty() ? "" : " (" + problem + ")");
  else
    text += problem + ", and there is no nvidia-smi";
  text += sysfs.list(drm_folder).empty() ? "; there is no /sys/class/drm either (amdgpu, xe, i915)"
                                         : "; nor is there a board of amdgpu, xe or i915 in /sys/class/drm";
  return text + (fix.empty() ? "" : "; " + fix);
}

}  // namespace

std::string_view to_string(GpuVendor vendor) {
  switch (vendor) {
    case GpuVendor::nvidia:
      return "NVIDIA";
    case GpuVendor::amd:
      return "AMD";
    case GpuVendor::intel:
      return "Intel";
  }
  return "";
}

GpuBoards find_gpu_boards(const Sysfs& sysfs) {
  GpuBoards found;
  found.boards = by_nvml(sysfs);
  if (found.boards.empty()) found.boards = by_nvidia_smi(sysfs);
  int next = 0;
  for (const GpuBoard& board : found.boards) next = std::max(next, board.index + 1);
  for (GpuBoard& board : by_drm(sysfs)) {
    board.index = next++;
    found.boards.push_back(std::move(board));
  }
  for (GpuBoard& board : found.boards) board.domain = fmt::format("gpu-{}", board.index);
  if (found.boards.empty()) found.missing = what_was_looked_for(sysfs);
  return found;
}

bool has_gpu_boards(const Sysfs& sysfs) {
  if (!sysfs.list("/proc/driver/nvidia/gpus").empty()) return true;
  // Graphics inside a CPU have neither a cap nor an energy counter of their own.
  for (const GpuBoard& board : by_drm(sysfs)) {
    for (const std::string& hwmon : sysfs.list(board.folder + "/hwmon")) {
      const std::string folder = board.folder + "/hwmon/" + hwmon;
      if (sysfs.exists(folder + "/power1_cap") || sysfs.exists(folder + "/energy1_input")) return true;
    }
  }
  return false;
}

GpuChoice choose_boards(const std::vector<GpuBoard>& boards, const std::vector<std::string>& names) {
  GpuChoice choice;
  std::vector<std::string> known;
  for (const GpuBoard& board : boards)
    known.push_back(fmt::format("{} ({}, {})", board.index, board.name, board.uuid));
  for (const std::string& name : names) {
    std::vector<const GpuBoard*> meant;
    for (const GpuBoard& board : boards) {
      const bool by_uuid = name.size() >= 8 && board.uuid.starts_with(name);
      if (name == std::to_string(board.index) || name == board.domain || by_uuid || name == board.pci)
        meant.push_back(&board);
    }
    if (meant.size() != 1) {
      choice.problem = fmt::format("{} GPU '{}'; there {}: {}",
                                   meant.empty() ? "there is no" : "more than one is meant by",
                                   printable(name), known.size() == 1 ? "is" : "are", join(known, ", "));
      return choice;
    }
    const bool twice = std::any_of(choice.boards.begin(), choice.boards.end(),
                                   [&](const GpuBoard& b) { return b.uuid == meant.front()->uuid; });
    if (!twice) choice.boards.push_back(*meant.front());
  }
  return choice;
}

}  // namespace dvfs_plan
