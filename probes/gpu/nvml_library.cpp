#include "probes/gpu/nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "base/invoking_user.hpp"

namespace dvfs_plan {

// Pointers stay null where this driver's library has no such function; callers then get `not_supported`.
struct NvmlLibrary::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, nvml::Device*) = nullptr;
  int (*uuid)(nvml::Device, char*, unsigned) = nullptr;
  int (*name)(nvml::Device, char*, unsigned) = nullptr;
  int (*pci)(nvml::Device, nvml::PciInfo*) = nullptr;
  int (*field_values)(nvml::Device, int, nvml::FieldValue*) = nullptr;
  int (*clock)(nvml::Device, int, unsigned*) = nullptr;
  int (*temperature)(nvml::Device, int, unsigned*) = nullptr;
  int (*utilization)(nvml::Device, nvml::Utilization*) = nullptr;
  int (*memory)(nvml::Device, nvml::Memory*) = nullptr;
  int (*total_energy)(nvml::Device, unsigned long long*) = nullptr;
  int (*power_usage)(nvml::Device, unsigned*) = nullptr;
  int (*power_limit)(nvml::Device, unsigned*) = nullptr;
  int (*application_clock)(nvml::Device, int, unsigned*) = nullptr;
  int (*compute_processes)(nvml::Device, unsigned*, nvml::ProcessInfo*) = nullptr;
  int (*mig_mode)(nvml::Device, unsigned*, unsigned*) = nullptr;
};

namespace {

template <class Function, class... Arguments>
int call(Function function, Arguments... arguments) {
  return function == nullptr ? nvml::not_supported : function(arguments...);
}

// Where root serves another user, what dlopen(3) searches must not be that user's to fill.
std::string search_path_untrusted() {
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  std::string_view rest(folders == nullptr ? "" : folders);
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of(":;"), rest.size());
    if (std::string why = untrusted_because(std::string(end == 0 ? "." : rest.substr(0, end))); !why.empty())
      return why;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

template <class Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
}

}  // namespace

NvmlLibrary::NvmlLibrary(void* handle) : handle_(handle), call_(std::make_unique<Functions>()) {}

NvmlLibrary::~NvmlLibrary() {
  call(call_->shutdown);
  ::dlclose(handle_);
}

std::string NvmlLibrary::load() {
  find(handle_, "nvmlInit_v2", call_->init);
  find(handle_, "nvmlShutdown", call_->shutdown);
  find(handle_, "nvmlErrorString", call_->error_string);
  find(handle_, "nvmlSystemGetDriverVersion", call_->driver_version);
  find(handle_, "nvmlDeviceGetCount_v2", call_->count);
  find(handle_, "nvmlDeviceGetHandleByIndex_v2", call_->by_index);
  find(handle_, "nvmlDeviceGetUUID", call_->uuid);
  find(handle_, "nvmlDeviceGetName", call_->name);
  find(handle_, "nvmlDeviceGetPciInfo_v3", call_->pci);
  find(handle_, "nvmlDeviceGetFieldValues", call_->field_values);
  find(handle_, "nvmlDeviceGetClockInfo", call_->clock);
  find(handle_, "nvmlDeviceGetTemperature", call_->temperature);
  find(handle_, "nvmlDeviceGetUtilizationRates", call_->utilization);
  find(handle_, "nvmlDeviceGetMemoryInfo", call_->memory);
  find(handle_, "nvmlDeviceGetTotalEnergyConsumption", call_->total_energy);
  find(handle_, "nvmlDeviceGetPowerUsage", call_->power_usage);
  find(handle_, "nvmlDeviceGetPowerManagementLimit", call_->power_limit);
  find(handle_, "nvmlDeviceGetApplicationsClock", call_->application_clock);
  find(handle_, "nvmlDeviceGetComputeRunningProcesses_v3", call_->compute_processes);
  find(handle_, "nvmlDeviceGetMigMode", call_->mig_mode);
  if (call_->init == nullptr || call_->count == nullptr || call_->by_index == nullptr ||
      call_->uuid == nullptr)
    return "it is older than this program can use (no nvmlInit_v2)";
  const int code = call_->init();
  if (code == nvml::success) return {};
  call_->shutdown = nullptr;  // there is nothing to shut down
  return error_text(code);
}

NvmlLibrary::Opened NvmlLibrary::open(const Sysfs& sysfs) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<NvmlLibrary>> known;
  const std::lock_guard lock(mutex);
  auto& shared = known[sysfs.root()];
  if (auto library = shared.lock()) return {library, {}, {}};

  std::string file = "libnvidia-ml.so.1";
  if (!sysfs.root().empty()) {
    file = sysfs.real_path("/usr/lib/libnvidia-ml.so.1");
    if (::access(file.c_str(), R_OK) != 0) return {nullptr, "there is no libnvidia-ml.so.1", {}};
  }
  if (const std::string why = search_path_untrusted(); !why.empty())
    return {nullptr, "NVIDIA's management library is not loaded as root: LD_LIBRARY_PATH: " + why,
            "run without LD_LIBRARY_PATH; the driver's library is found without it"};
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return {nullptr, fmt::format("NVIDIA's management library cannot be loaded ({})", ::dlerror()),
            "install NVIDIA's driver; its package with libnvidia-ml.so.1 is libnvidia-ml1 on Debian"};
  }
  std::shared_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  if (const std::string problem = library->load(); !problem.empty()) {
    return {nullptr, "NVIDIA's management library does not start: " + problem,
            "look whether the driver is loaded: cat /proc/driver/nvidia/version; nvidia-smi"};
  }
  shared = library;
  return {library, {}, {}};
}

std::vector<NvmlLibrary::BoardInfo> NvmlLibrary::boards() const {
  std::vector<BoardInfo> boards;
  unsigned count = 0;
  if (call(call_->count, &count) != nvml::success) return boards;
  for (unsigned i = 0; i < count; ++i) {
    BoardInfo board;
    board.index = static_cast<int>(i);
    if (call(call_->by_index, i, &board.device) != nvml::success) continue;
    char text[nvml::uuid_size] = {};
    if (call(call_->uuid, board.device, text, nvml::uuid_size) == nvml::success) board.uuid = text;
    char name[nvml::name_size] = {};
    if (call(call_->name, board.device, name, nvml::name_size) == nvml::success) board.name = name;
    nvml::PciInfo pci{};
    if (call(call_->pci, board.device, &pci) == nvml::success) board.pci = pci.bus_id;
    boards.push_back(board);
  }
  return boards;
}

std::string NvmlLibrary::driver_version() const {
  char text[nvml::version_size] = {};
  return call(call_->driver_version, text, nvml::version_size) == nvml::success ? text : "";
}

nvml::Device NvmlLibrary::device_of(const std::string& uuid) const {
  for (const BoardInfo& board : boards()) {
    if (board.uuid == uuid) return board.device;
  }
  return nullptr;
}

int NvmlLibrary::field_values(nvml::Device device, std::vector<nvml::FieldValue>& values) const {
  return call(call_->field_values, device, static_cast<int>(values.size()), values.data());
}
int NvmlLibrary::clock(nvml::Device device, int type, unsigned& mhz) const {
  return call(call_->clock, device, type, &mhz);
}
int NvmlLibrary::temperature(nvml::Device device, unsigned& celsius) const {
  return call(call_->temperature, device, nvml::temperature_gpu, &celsius);
}
int NvmlLibrary::utilization(nvml::Device device, nvml::Utilization& rates) const {
  return call(call_->utilization, device, &rates);
}
int NvmlLibrary::memory(nvml::Device device, nvml::Memory& memory) const {
  return call(call_->memory, device, &memory);
}
int NvmlLibrary::total_energy(nvml::Device device, unsigned long long& millijoules) const {
  return call(call_->total_energy, device, &millijoules);
}
int NvmlLibrary::power_usage(nvml::Device device, unsigned& milliwatts) const {
  return call(call_->power_usage, device, &milliwatts);
}
int NvmlLibrary::power_limit(nvml::Device device, unsigned& milliwatts) const {
  return call(call_->power_limit, device, &milliwatts);
}
int NvmlLibrary::application_clock(nvml::Device device, int type, unsigned& mhz) const {
  return call(call_->application_clock, device, type, &mhz);
}

std::optional<std::vector<nvml::ProcessInfo>> NvmlLibrary::processes(nvml::Device device) const {
  constexpr unsigned most = 256;
  std::vector<nvml::ProcessInfo> processes(most);
  unsigned count = most;
  if (call(call_->compute_processes, device, &count, processes.data()) != nvml::success) return std::nullopt;
  processes.resize(std::min(count, most));
  return processes;
}

std::optional<bool> NvmlLibrary::mig_enabled(nvml::Device device) const {
  unsigned current = 0, pending = 0;
  if (call(call_->mig_mode, device, &current, &pending) != nvml::success) return std::nullopt;
  return current == 1;
}

std::string NvmlLibrary::error_text(int code) const {
  const char* text = call_->error_string == nullptr ? nullptr : call_->error_string(code);
  return fmt::format("{} (NVML error {})", text == nullptr ? "unknown" : text, code);
}

}  // namespace dvfs_plan
