// The part of NVIDIA's management library that we call, as its documented binary interface
// (https://docs.nvidia.com/deploy/nvml-api/). Declared here because no header of it is needed to build, and
// because nothing in it sets anything: a program that only measures cannot change a board through it.
#pragma once

namespace dvfs_plan::nvml {

using Device = void*;

enum Return : int {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  driver_not_loaded = 9,
  gpu_is_lost = 15,
};

constexpr unsigned name_size = 96, uuid_size = 96, version_size = 80;

// nvmlClockType_t, nvmlTemperatureSensors_t
constexpr int clock_graphics = 0, clock_sm = 1, clock_memory = 2, temperature_gpu = 0;

struct Utilization {
  unsigned gpu, memory;  // per cent over the last sample period, 1/6 s to 1 s
};
struct Memory {
  unsigned long long total, free, used;  // bytes; `used` holds what the driver reserves
};
struct PciInfo {  // nvmlPciInfo_t, v3
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct ProcessInfo {  // nvmlProcessInfo_v2_t, of nvmlDeviceGetComputeRunningProcesses_v3
  unsigned pid;
  unsigned long long used_memory;  // bytes; all bits set: not known
  unsigned gpu_instance, compute_instance;
};

// nvmlFieldValue_t
union Value {
  double d;
  unsigned ui;
  unsigned long ul;
  unsigned long long ull;
  signed long long sll;
  int si;
  unsigned short us;
};
enum ValueType : int { type_double = 0, type_uint = 1, type_ulong = 2, type_ullong = 3, type_sllong = 4 };
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;  // CPU time of the sample, us since the epoch
  long long latency_us;
  int type;
  int result;  // Return, of this field
  Value value;
};

constexpr unsigned field_energy = 83;          // mJ since the driver was loaded
constexpr unsigned field_power_average = 185;  // mW, over 1 s on Ampere and newer
constexpr unsigned field_power_instant = 186;  // mW
// Time during which clocks were held down, in ns since the driver was loaded.
constexpr unsigned field_power_cap = 74;        // NVML_FI_DEV_PERF_POLICY_POWER
constexpr unsigned field_thermal = 75;          // ..._THERMAL, by software
constexpr unsigned field_sync_boost = 76;       // ..._SYNC_BOOST
constexpr unsigned field_hw_thermal = 270;      // NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN (CUDA 13)
constexpr unsigned field_hw_power_brake = 271;  // ..._HW_POWER_BRAKE_SLOWDOWN (CUDA 13)
constexpr unsigned field_memory_temperature = 82;  // C

}  // namespace dvfs_plan::nvml
