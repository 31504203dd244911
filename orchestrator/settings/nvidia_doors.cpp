#include "orchestrator/settings/nvidia_doors.hpp"

#include <fmt/format.h>

#include <map>

#include "probes/gpu/nvml_library.hpp"

namespace dvfs_plan {
namespace {

class NvmlReader : public BoardReader {
 public:
  explicit NvmlReader(std::shared_ptr<NvmlLibrary> library) : library_(std::move(library)) {}

  std::optional<std::string> power_limit(const std::string& uuid) override {
    unsigned milliwatts = 0;
    const nvml::Device board = device(uuid);
    if (board == nullptr || library_->power_limit(board, milliwatts) != nvml::success) return std::nullopt;
    return fmt::format("{:.2f}", milliwatts * 1e-3);
  }
  std::optional<std::string> application_clocks(const std::string& uuid) override {
    unsigned memory = 0, core = 0;
    const nvml::Device board = device(uuid);
    if (board == nullptr || library_->application_clock(board, nvml::clock_memory, memory) != nvml::success ||
        library_->application_clock(board, nvml::clock_graphics, core) != nvml::success)
      return std::nullopt;
    return fmt::format("{},{}", memory, core);
  }

 private:
  // nullptr: NVML does not know the board.
  nvml::Device device(const std::string& uuid) {
    const auto [known, is_new] = devices_.try_emplace(uuid, nullptr);
    if (is_new) known->second = library_->device_of(uuid);
    return known->second;
  }

  std::shared_ptr<NvmlLibrary> library_;
  std::map<std::string, nvml::Device> devices_;  // by UUID
};

}  // namespace

NvidiaDoors nvidia_doors(bool by_nvml) {
  NvidiaDoors doors{&NvidiaSmi::find};
  if (by_nvml)
    doors.open_reader = [](const Sysfs& sysfs) -> std::unique_ptr<BoardReader> {
      auto library = NvmlLibrary::open(sysfs).library;
      if (!library) return nullptr;
      return std::make_unique<NvmlReader>(std::move(library));
    };
  return doors;
}

}  // namespace dvfs_plan
