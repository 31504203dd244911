#include "orchestrator/machine/used_boards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "probes/gpu/nvidia_smi.hpp"

namespace dvfs_plan {
namespace {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> names;
  for (std::string part; const char c : text + ",") {
    if (c != ',') {
      part += c;
      continue;
    }
    if (!trim(part).empty()) names.emplace_back(trim(part));
    part.clear();
  }
  return names;
}

// The boards named in axes, if every gpu axis names one.
std::vector<std::string> named_in_axes(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const AxisSpec& axis : experiment.axes) {
    if (!axis.name.starts_with("gpu.")) continue;
    const std::string target = split_axis_name(axis.name).target;
    if (target.empty()) return {};
    names.push_back(target);
  }
  return names;
}

// How an Instinct board is divided (SPX, CPX; NPS1), which is its owner's to choose: drivers/gpu/drm/amd/amdgpu,
// amdgpu_gfx.c and amdgpu_gmc.c. Empty for all others.
std::string partitions_of(const GpuBoard& board, const Sysfs& sysfs) {
  if (board.vendor != GpuVendor::amd) return {};
  std::vector<std::string> told;
  for (const char* what : {"compute", "memory"}) {
    const auto mode = sysfs.text(fmt::format("{}/current_{}_partition", board.folder, what));
    if (mode && !mode->empty()) told.push_back(fmt::format("{} partition {}", what, *mode));
  }
  return join(told, ", ");
}

}  // namespace

UsedBoards find_used_boards(const Experiment& experiment, const Sysfs& sysfs,
                            const std::map<std::string, std::string>& environment) {
  UsedBoards boards;
  if (!uses_gpus(experiment)) return boards;
  boards.all = find_gpu_boards(sysfs);
  if (boards.all.boards.empty()) return boards;
  std::vector<std::string> names;
  std::string by;
  if (experiment.gpus) {
    for (const RawValue& name : *experiment.gpus) names.push_back(name.text);
    by =
        "'gpus' in line " + std::to_string(experiment.gpus->empty() ? 0 : experiment.gpus->front().mark.line);
  } else if (names = named_in_axes(experiment); !names.empty()) {
    by = "the axes";
  } else if (const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
             visible != environment.end() && !visible->second.empty()) {
    names = split_list(visible->second);
    by = "CUDA_VISIBLE_DEVICES";
  }
  const bool sets = std::any_of(experiment.axes.begin(), experiment.axes.end(),
                                [](const AxisSpec& axis) { return axis.name.starts_with("gpu."); });
  if (names.empty() && sets && boards.all.boards.size() > 1) {
    // Clocks of boards that others may be about to use are not set on a guess; sudo drops
    // CUDA_VISIBLE_DEVICES.
    boards.problem = fmt::format(
        "this machine has {} boards: say which ones the workloads use, for example  gpus: [0]  or  gpus: all",
        boards.all.boards.size());
    return boards;
  }
  if (names.empty() || names == std::vector<std::string>{"all"}) {
    boards.used = boards.all.boards;
    return boards;
  }
  auto choice = choose_boards(boards.all.boards, names);
  if (!choice.problem.empty()) boards.problem = fmt::format("{}: {}", by, choice.problem);
  boards.used = std::move(choice.boards);
  return boards;
}

std::map<std::string, std::string> visible_devices(const UsedBoards& boards) {
  std::map<std::string, std::string> variables;
  const auto add = [&](const char* name, const std::string& value) {
    std::string& list = variables[name];
    list += (list.empty() ? "" : ",") + value;
  };
  // A board's place among its vendor's, in the order of their addresses.
  const auto place = [&](const GpuBoard& board) {
    return std::count_if(boards.all.boards.begin(), boards.all.boards.end(), [&](const GpuBoard& other) {
      return other.vendor == board.vendor && other.pci < board.pci;
    });
  };
  for (const GpuBoard& board : boards.used) {
    switch (board.vendor) {
      case GpuVendor::nvidia:
        add("CUDA_VISIBLE_DEVICES", board.uuid);
        break;
      case GpuVendor::amd:  // ROCm takes "GPU-" and the board's unique number, or its place
        add("ROCR_VISIBLE_DEVICES",
            board.uuid == board.pci ? std::to_string(place(board)) : "GPU-" + board.uuid);
        break;
      case GpuVendor::intel:
        add("ZE_AFFINITY_MASK", std::to_string(place(board)));
        variables["ZE_ENABLE_PCI_ID_DEVICE_ORDER"] = "1";
        break;
    }
  }
  return variables;
}

std::map<std::string, std::string> board_facts(const std::vector<GpuBoard>& boards, const Sysfs& sysfs) {
  std::map<std::string, std::string> facts;
  const bool nvidia = std::any_of(boards.begin(), boards.end(),
                                  [](const GpuBoard& board) { return board.vendor == GpuVendor::nvidia; });
  const auto smi = nvidia ? NvidiaSmi::find(sysfs) : std::nullopt;
  for (const GpuBoard& board : boards) {
    facts[board.domain] = fmt::format("{}, {}, {}", board.name, board.uuid, board.driver);
    if (const std::string how = partitions_of(board, sysfs); !how.empty())
      facts[board.domain + ".settings"] = how;
    if (board.vendor != GpuVendor::nvidia || !smi) continue;
    std::vector<std::string> details;
    const std::vector<std::pair<std::string, std::string>> fields{
        {"vbios_version", "VBIOS"},
        {"power.limit", "power limit"},
        {"power.default_limit", "default power limit"},
        {"clocks.applications.graphics", "application core clock"},
        {"clocks.applications.memory", "application memory clock"},
        {"clocks.max.sm", "highest core clock"},
        {"persistence_mode", "persistence mode"},
        {"ecc.mode.current", "ECC"},
        {"compute_mode", "compute mode"},
        {"mig.mode.current", "MIG"}};
    std::vector<std::string> names;
    for (const auto& [field, word] : fields) names.push_back(field);
    const SmiTable table = smi->query(names, board.uuid).table;
    for (const auto& [field, word] : fields) {
      if (const auto text = table.text(0, field)) details.push_back(word + " " + *text);
    }
    if (!details.empty()) facts[board.domain + ".settings"] = join(details, ", ");
  }
  return facts;
}

UsedBoards all_boards(const Sysfs& sysfs) {
  UsedBoards gpus;
  gpus.all = find_gpu_boards(sysfs);
  gpus.used = gpus.all.boards;
  return gpus;
}

std::map<std::string, double> power_limits(const std::vector<GpuBoard>& boards, const Sysfs& sysfs) {
  std::map<std::string, double> limits;
  const auto smi = NvidiaSmi::find(sysfs);
  for (const GpuBoard& board : boards) {
    if (board.vendor == GpuVendor::nvidia) {
      const auto watts =
          smi ? smi->query({"power.limit"}, board.uuid).table.number(0, "power.limit") : std::nullopt;
      if (watts) limits[board.domain] = *watts;
      continue;
    }
    for (const std::string& hwmon : sysfs.list(board.folder + "/hwmon")) {
      const std::string folder = board.folder + "/hwmon/" + hwmon + "/";
      const auto watts = sysfs.number(folder + "power1_cap");
      if (watts) limits[board.domain] = *watts * 1e-6;
    }
  }
  return limits;
}

}  // namespace dvfs_plan
