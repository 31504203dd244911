// A stand-in for libnvidia-ml.so.1 with the same binary interface. It lies in a recorded tree as
// usr/lib/libnvidia-ml.so.1 and is driven by the tree's folder gpu/:
//
//   trace.csv    readings of a real board (tests/recorded/nvidia-h200/nvml_step.csv), played from the first
//   call on
//                and held at its end; without it a model: idle 100 W, busy 100 W + 400 W (f / 1980 MHz)^2 at
//                the clock that is locked, a counter that moves every 20 ms
//   nvml_mode    words: no-energy, no-fields, no-permission, lost, not-loaded, no-processes
//   busy         there while the model's board computes
//   cap          MHz that the model's board does not exceed, "throttle" then counts for power
//   hot          as cap, but the time counts for heat
//   lock.core, lock.memory, processes, memory_mib   as the stand-in nvidia-smi keeps them
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "probes/gpu/nvml_abi.hpp"

namespace {

using namespace dvfs_plan;

std::string folder() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&folder), &info);
  const std::string self = info.dli_fname;  // ROOT/usr/lib/libnvidia-ml.so.1
  return self.substr(0, self.rfind("/usr/lib/")) + "/gpu/";
}

std::string text_of(const std::string& name) {
  std::ifstream file(folder() + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
bool there(const std::string& name) {
  return std::ifstream(folder() + name).good();
}
double number_of(const std::string& name, double otherwise) {
  const std::string text = text_of(name);
  return text.empty() ? otherwise : std::strtod(text.c_str(), nullptr);
}
bool mode(const std::string& word) {
  std::istringstream words(text_of("nvml_mode"));
  for (std::string one; words >> one;) {
    if (one == word) return true;
  }
  return false;
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Row {
  double time, average_mw, instant_mw, energy_mj, sm_mhz;
};

class Board {
 public:
  Board() {
    std::ifstream file(folder() + "trace.csv");
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      for (char& c : line) c = c == ',' ? ' ' : c;
      std::istringstream cells(line);
      double t = 0, call = 0, usage = 0;
      Row row{};
      cells >> t >> call >> usage >> row.average_mw >> row.instant_mw >> row.energy_mj >> row.sm_mhz;
      row.time = t * 1e-9;
      trace_.push_back(row);
    }
    began_ = last_ = now();
  }

  Row read() {
    if (!trace_.empty()) {
      const double at = trace_.front().time + now() - began_;
      const Row* found = &trace_.front();
      for (const Row& row : trace_) {
        if (row.time > at) break;
        found = &row;
      }
      return *found;
    }
    const std::lock_guard lock(mutex_);
    advance();
    return {0, shown_w_ * 1e3, shown_w_ * 1e3, std::floor(shown_j_ * 1e3), clock()};
  }
  double throttled_ns(bool by_heat) {
    const std::lock_guard lock(mutex_);
    advance();
    return (by_heat ? hot_s_ : capped_s_) * 1e9;
  }
  double clock() const {
    double mhz = number_of("lock.core", 1980);
    for (const char* limit : {"cap", "hot"}) mhz = std::min(mhz, number_of(limit, 1e9));
    return mhz;
  }

 private:
  // The model's energy up to now; what is shown changes every 20 ms.
  void advance() {
    const double time = now(), passed = time - last_;
    last_ = time;
    const bool busy = there("busy");
    const double power = busy ? 100 + 400 * std::pow(clock() / 1980, 2) : 100;
    joules_ += power * passed;
    const bool limited = busy && clock() < number_of("lock.core", 1980);
    if (limited && there("cap")) capped_s_ += passed;
    if (limited && there("hot")) hot_s_ += passed;
    constexpr double update = 0.02;
    const auto tick = static_cast<long>(time / update);
    if (tick == tick_) return;
    tick_ = tick;
    shown_j_ = joules_;
    // The last digits of a real gauge are never still.
    shown_w_ = power + 0.01 * static_cast<double>(tick % 7);
  }

  std::mutex mutex_;  // the real library may be called by several threads
  std::vector<Row> trace_;
  double began_ = 0, last_ = 0, joules_ = 1000, shown_j_ = 1000, shown_w_ = 100, capped_s_ = 0, hot_s_ = 0;
  long tick_ = 0;
};

Board& board() {
  static Board one;
  return one;
}

int lost() {
  return mode("lost") ? nvml::gpu_is_lost : nvml::success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (mode("not-loaded")) return nvml::driver_not_loaded;
  board();
  return nvml::success;
}
int nvmlShutdown() {
  return nvml::success;
}
const char* nvmlErrorString(int code) {
  return code == nvml::driver_not_loaded ? "Driver Not Loaded"
         : code == nvml::gpu_is_lost     ? "GPU is lost"
                                         : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.159.04");
  return nvml::success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return nvml::success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, nvml::Device* device) {
  *device = &board();
  return nvml::success;
}
int nvmlDeviceGetUUID(nvml::Device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-00000000-0000-4000-8000-000000000200");
  return nvml::success;
}
int nvmlDeviceGetName(nvml::Device, char* text, unsigned size) {
  std::snprintf(text, size, "NVIDIA H200");
  return nvml::success;
}
int nvmlDeviceGetPciInfo_v3(nvml::Device, nvml::PciInfo* pci) {
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:00:06.0");
  return nvml::success;
}
int nvmlDeviceGetFieldValues(nvml::Device, int count, nvml::FieldValue* values) {
  if (mode("no-fields")) return nvml::not_supported;
  const Row row = board().read();
  for (int i = 0; i < count; ++i) {
    nvml::FieldValue& value = values[i];
    value.type = nvml::type_ullong;
    value.result = lost();
    switch (value.field) {
      case nvml::field_energy:
        value.value.ull = static_cast<unsigned long long>(row.energy_mj);
        if (mode("no-energy")) value.result = nvml::not_supported;
        if (mode("no-permission")) value.result = nvml::no_permission;
        break;
      // As the real library answers: power is a 32 bit number, the rest of the union is whatever was there.
      case nvml::field_power_average:
        value.value.ull = 0xdeadbeef00000000ULL;
        value.value.ui = static_cast<unsigned>(row.average_mw);
        value.type = nvml::type_uint;
        break;
      case nvml::field_power_instant:
        value.value.ui = static_cast<unsigned>(row.instant_mw);
        value.type = nvml::type_uint;
        break;
      case nvml::field_power_cap:
        value.value.ull = static_cast<unsigned long long>(board().throttled_ns(false));
        break;
      case nvml::field_thermal:
        value.value.ull = static_cast<unsigned long long>(board().throttled_ns(true));
        break;
      case nvml::field_memory_temperature:
        value.value.ui = 39;
        value.type = nvml::type_uint;
        break;
      default:
        value.result = nvml::not_supported;
    }
  }
  return lost();
}
int nvmlDeviceGetClockInfo(nvml::Device, int type, unsigned* mhz) {
  *mhz = static_cast<unsigned>(type == nvml::clock_memory ? number_of("lock.memory", 3201)
                                                          : board().read().sm_mhz);
  return lost();
}
int nvmlDeviceGetTemperature(nvml::Device, int, unsigned* celsius) {
  *celsius = 34;
  return lost();
}
int nvmlDeviceGetUtilizationRates(nvml::Device, nvml::Utilization* rates) {
  rates->gpu = there("busy") || there("foreign_work") ? 97 : 0;
  rates->memory = 0;
  return lost();
}
int nvmlDeviceGetMemoryInfo(nvml::Device, nvml::Memory* memory) {
  memory->total = 143771ULL << 20U;
  memory->used = static_cast<unsigned long long>(number_of("memory_mib", 615)) << 20U;
  memory->free = memory->total - memory->used;
  return lost();
}
int nvmlDeviceGetTotalEnergyConsumption(nvml::Device, unsigned long long* millijoules) {
  *millijoules = static_cast<unsigned long long>(board().read().energy_mj);
  return mode("no-energy") ? nvml::not_supported : lost();
}
int nvmlDeviceGetPowerUsage(nvml::Device, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(board().read().average_mw);
  return lost();
}
// As nvidia-smi's stand-in keeps them.
int nvmlDeviceGetPowerManagementLimit(nvml::Device, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(number_of("power_limit", 700) * 1000);
  return lost();
}
int nvmlDeviceGetApplicationsClock(nvml::Device, int type, unsigned* mhz) {
  *mhz = static_cast<unsigned>(type == nvml::clock_memory ? number_of("application.memory", 3201)
                                                          : number_of("application.core", 1980));
  return lost();
}
int nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device, unsigned* count, nvml::ProcessInfo* processes) {
  if (mode("no-processes")) return nvml::no_permission;
  std::istringstream pids(text_of("processes"));
  unsigned found = 0;
  for (unsigned pid = 0; pids >> pid && found < *count; ++found) processes[found] = {pid, 1ULL << 30U, 0, 0};
  *count = found;
  return nvml::success;
}
int nvmlDeviceGetMigMode(nvml::Device, unsigned* current, unsigned* pending) {
  std::istringstream words(text_of("mode"));
  *current = *pending = 0;
  for (std::string word; words >> word;) {
    if (word == "mig") *current = *pending = 1;
  }
  return nvml::success;
}

}  // extern "C"
