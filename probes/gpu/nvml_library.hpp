// NVIDIA's management library, loaded while the program runs: nothing of it is needed to build, and where it
// is absent the reason is said. Reading only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "probes/gpu/nvml_abi.hpp"

namespace dvfs_plan {

class NvmlLibrary {
 public:
  struct Opened {
    std::shared_ptr<NvmlLibrary> library;
    std::string problem;  // why there is none
    std::string fix;
  };
  // libnvidia-ml.so.1; below a recorded tree only the tree's own usr/lib/libnvidia-ml.so.1. Loaded and
  // initialised once a process and shared.
  static Opened open(const Sysfs& sysfs);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;

  struct BoardInfo {
    nvml::Device device = nullptr;
    int index = 0;  // nvidia-smi's; a board that is lost leaves its number free
    std::string uuid, name, pci;
  };
  std::vector<BoardInfo> boards() const;
  std::string driver_version() const;
  nvml::Device device_of(const std::string& uuid) const;  // nullptr if it is not there

  int field_values(nvml::Device device, std::vector<nvml::FieldValue>& values) const;
  int clock(nvml::Device device, int type, unsigned& mhz) const;
  int temperature(nvml::Device device, unsigned& celsius) const;
  int utilization(nvml::Device device, nvml::Utilization& rates) const;
  int memory(nvml::Device device, nvml::Memory& memory) const;
  int total_energy(nvml::Device device, unsigned long long& millijoules) const;
  int power_usage(nvml::Device device, unsigned& milliwatts) const;
  // Settings as they are now: nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetApplicationsClock (MHz).
  int power_limit(nvml::Device device, unsigned& milliwatts) const;
  int application_clock(nvml::Device device, int type, unsigned& mhz) const;
  // Processes that compute on the board, as far as this user and namespace may see them. A desktop's drawing
  // is not among them.
  std::optional<std::vector<nvml::ProcessInfo>> processes(nvml::Device device) const;
  // nullopt where the board has no such mode.
  std::optional<bool> mig_enabled(nvml::Device device) const;
  std::string error_text(int code) const;

 private:
  struct Functions;
  explicit NvmlLibrary(void* handle);
  std::string load();

  void* handle_;
  std::unique_ptr<Functions> call_;
};

}  // namespace dvfs_plan
