#include "probes/gpu/board_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "probes/gpu/nvidia_smi.hpp"
#include "probes/gpu/nvml_library.hpp"

namespace dvfs_plan {
namespace {

std::string name_of(pid_t pid) {
  return Sysfs().text(fmt::format("/proc/{}/comm", pid)).value_or("");
}

class ByNvml : public BoardWatch {
 public:
  ByNvml(std::shared_ptr<NvmlLibrary> library, std::vector<GpuBoard> boards)
      : library_(std::move(library)), boards_(std::move(boards)) {}

  std::optional<std::vector<BoardProcess>> processes() override {
    std::vector<BoardProcess> all;
    bool known = false;
    for (const GpuBoard& board : boards_) {
      const auto found = library_->processes(library_->device_of(board.uuid));
      known = known || found.has_value();
      for (const auto& process : found.value_or(std::vector<nvml::ProcessInfo>{})) {
        const auto pid = static_cast<pid_t>(process.pid);
        all.push_back({board.domain, pid, name_of(pid)});
      }
    }
    if (!known) return std::nullopt;
    return all;
  }

  std::map<std::string, double> memory_used() override {
    std::map<std::string, double> used;
    for (const GpuBoard& board : boards_) {
      nvml::Memory memory{};
      if (library_->memory(library_->device_of(board.uuid), memory) == nvml::success)
        used[board.domain] = static_cast<double>(memory.used);
    }
    return used;
  }

 private:
  std::shared_ptr<NvmlLibrary> library_;
  std::vector<GpuBoard> boards_;
};

class BySmi : public BoardWatch {
 public:
  BySmi(NvidiaSmi smi, std::vector<GpuBoard> boards) : smi_(std::move(smi)), boards_(std::move(boards)) {}

  std::optional<std::vector<BoardProcess>> processes() override {
    const ProgramAnswer answer = smi_.run({"--query-compute-apps=gpu_uuid,pid", "--format=csv"});
    const SmiTable table = parse_smi_csv(answer.output);
    if (!answer.ran() || answer.exit_code != 0 || !table.has_header()) return std::nullopt;
    std::vector<BoardProcess> all;
    for (std::size_t row = 0; row < table.size(); ++row) {
      const auto domain = domain_of(table.text(row, "gpu_uuid").value_or(""));
      const auto pid = static_cast<pid_t>(table.number(row, "pid").value_or(0));
      if (!domain.empty()) all.push_back({domain, pid, name_of(pid)});
    }
    return all;
  }

  std::map<std::string, double> memory_used() override {
    std::map<std::string, double> used;
    const auto [table, problem] = smi_.query({"uuid", "memory.used"});
    for (std::size_t row = 0; row < table.size(); ++row) {
      const auto domain = domain_of(table.text(row, "uuid").value_or(""));
      if (const auto mib = table.number(row, "memory.used"); mib && !domain.empty())
        used[domain] = *mib * 1048576;
    }
    return used;
  }

 private:
  std::string domain_of(const std::string& uuid) const {
    const auto board =
        std::find_if(boards_.begin(), boards_.end(), [&](const GpuBoard& b) { return b.uuid == uuid; });
    return board == boards_.end() ? std::string{} : board->domain;
  }
  NvidiaSmi smi_;
  std::vector<GpuBoard> boards_;
};

// amdgpu tells how much memory is taken, but not by whom.
class ByFiles : public BoardWatch {
 public:
  ByFiles(const Sysfs& sysfs, std::vector<GpuBoard> boards) : sysfs_(sysfs), boards_(std::move(boards)) {}
  std::optional<std::vector<BoardProcess>> processes() override { return std::nullopt; }
  std::map<std::string, double> memory_used() override {
    std::map<std::string, double> used;
    for (const GpuBoard& board : boards_) {
      if (const auto bytes = sysfs_.number(board.folder + "/mem_info_vram_used")) used[board.domain] = *bytes;
    }
    return used;
  }

 private:
  const Sysfs& sysfs_;
  std::vector<GpuBoard> boards_;
};

}  // namespace

std::unique_ptr<BoardWatch> watch_boards(const std::vector<GpuBoard>& boards, const Sysfs& sysfs) {
  std::vector<GpuBoard> nvidia, others;
  for (const GpuBoard& board : boards) (board.vendor == GpuVendor::nvidia ? nvidia : others).push_back(board);
  if (!nvidia.empty()) {
    if (auto opened = NvmlLibrary::open(sysfs); opened.library)
      return std::make_unique<ByNvml>(opened.library, nvidia);
    if (auto smi = NvidiaSmi::find(sysfs)) return std::make_unique<BySmi>(*smi, nvidia);
    return nullptr;
  }
  if (others.empty()) return nullptr;
  return std::make_unique<ByFiles>(sysfs, others);
}

}  // namespace dvfs_plan
