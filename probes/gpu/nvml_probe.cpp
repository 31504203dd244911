#include "probes/gpu/nvml_probe.hpp"

#include <fmt/format.h>

#include <functional>

#include "probes/gpu/board_channel.hpp"

namespace dvfs_plan {
namespace {

ReadingStatus status_of(int code) {
  switch (code) {
    case nvml::success:
      return ReadingStatus::ok;
    case nvml::no_permission:
      return ReadingStatus::denied;
    case nvml::gpu_is_lost:
    case nvml::not_found:
    case nvml::uninitialized:
    case nvml::driver_not_loaded:
      return ReadingStatus::gone;
    default:
      return ReadingStatus::absent;
  }
}

Sample sample(int code, double value) {
  if (code != nvml::success) return {std::nullopt, status_of(code)};
  return {value, ReadingStatus::ok};
}

double number_of(const nvml::FieldValue& field) {
  switch (field.type) {
    case nvml::type_double:
      return field.value.d;
    case nvml::type_uint:
      return field.value.ui;
    case nvml::type_ulong:
      return static_cast<double>(field.value.ul);
    case nvml::type_sllong:
      return static_cast<double>(field.value.sll);
    default:
      return static_cast<double>(field.value.ull);
  }
}

Channel channel(const GpuBoard& board, const char* quantity, const char* unit, ChannelKind kind,
                const std::string& source) {
  Channel channel = board_channel("nvidia", board, quantity, unit);
  channel.kind = kind;
  channel.source = fmt::format("{} of {} ({})", source, board.uuid, board.name);
  return channel;
}

// What is read of one board: fields, which come in one call, and calls of their own.
class NvmlProbe : public Probe {
 public:
  NvmlProbe(std::shared_ptr<NvmlLibrary> library, Seconds period)
      : library_(std::move(library)), period_(period) {}

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return true; }

  void add_board(nvml::Device device) { boards_.push_back({device, {}, {}, {}}); }
  // Of the board added last. False if it has no such field, which is then left out.
  bool add_field(const Channel& what, unsigned field, double scale) {
    nvml::FieldValue value{};
    value.field = field;
    std::vector<nvml::FieldValue> one{value};
    if (library_->field_values(boards_.back().device, one) != nvml::success || one[0].result != nvml::success)
      return false;
    boards_.back().fields.push_back(value);
    boards_.back().places.push_back({channels_.size(), scale});
    channels_.push_back(what);
    return true;
  }
  using Call = std::function<int(nvml::Device, double&)>;
  bool add_call(const Channel& what, Call function) {
    double value = 0;
    if (function(boards_.back().device, value) == nvml::not_supported) return false;
    boards_.back().calls.push_back({channels_.size(), std::move(function)});
    channels_.push_back(what);
    return true;
  }

  void read(std::span<Sample> samples) override {
    for (Board& board : boards_) {
      read_fields(board, samples);
      for (const auto& [place, function] : board.calls) {
        double value = 0;
        const int code = function(board.device, value);
        samples[place] = sample(code, value);
      }
    }
  }

 private:
  struct Board {
    nvml::Device device;
    std::vector<nvml::FieldValue> fields;
    std::vector<std::pair<std::size_t, double>> places;  // channel and scale of each field
    std::vector<std::pair<std::size_t, Call>> calls;
  };

  void read_fields(Board& board, std::span<Sample> samples) {
    if (board.fields.empty()) return;
    const int code = library_->field_values(board.device, board.fields);
    for (std::size_t i = 0; i < board.fields.size(); ++i) {
      const auto [place, scale] = board.places[i];
      const nvml::FieldValue& field = board.fields[i];
      samples[place] = sample(code != nvml::success ? code : field.result, number_of(field) * scale);
    }
  }

  const std::string name_ = "nvidia";
  std::shared_ptr<NvmlLibrary> library_;
  Seconds period_;
  std::vector<Channel> channels_;
  std::vector<Board> boards_;
};

using Lacks = std::vector<std::string>;

void add_energy(NvmlProbe& probe, const NvmlLibrary& library, const GpuBoard& board, Lacks& lacks) {
  // Of an H200's counter the steps of known loads are placed within 20 ms (recorded).
  constexpr double lags_up_to_s = 0.02;
  const auto counter = [&](const char* source) {
    Channel energy = channel(board, "energy", "J", ChannelKind::counter, source);
    energy.lags_up_to_s = lags_up_to_s;
    return energy;
  };
  const bool by_field = probe.add_field(counter("NVML field 83, total energy"), nvml::field_energy, 1e-3);
  const bool energy = by_field || probe.add_call(counter("nvmlDeviceGetTotalEnergyConsumption"),
                                                 [&library](nvml::Device device, double& value) {
                                                   unsigned long long millijoules = 0;
                                                   const int code = library.total_energy(device, millijoules);
                                                   value = static_cast<double>(millijoules) * 1e-3;
                                                   return code;
                                                 });
  if (!energy) lacks.push_back(board.domain + " has no total energy counter");
}

void add_power(NvmlProbe& probe, const NvmlLibrary& library, const GpuBoard& board, Lacks& lacks) {
  const auto gauge = ChannelKind::gauge;
  const bool instant =
      probe.add_field(channel(board, "power_instant", "W", gauge, "NVML field 186, instant power"),
                      nvml::field_power_instant, 1e-3);
  Channel mean = channel(board, "power_average", "W", gauge, "NVML field 185, average power");
  mean.averages_over_s = 1.0;
  const bool average = probe.add_field(mean, nvml::field_power_average, 1e-3);
  if (instant || average) return;
  const bool usage = probe.add_call(channel(board, "power", "W", gauge, "nvmlDeviceGetPowerUsage"),
                                    [&library](nvml::Device device, double& value) {
                                      unsigned milliwatts = 0;
                                      const int code = library.power_usage(device, milliwatts);
                                      value = milliwatts * 1e-3;
                                      return code;
                                    });
  if (!usage) lacks.push_back(board.domain + " does not tell its power");
}

void add_state(NvmlProbe& probe, const NvmlLibrary& library, const GpuBoard& board, Lacks& lacks) {
  const auto gauge = ChannelKind::gauge;
  const auto clock = [&library](int type) {
    return [&library, type](nvml::Device device, double& value) {
      unsigned mhz = 0;
      const int code = library.clock(device, type, mhz);
      value = mhz * 1e6;
      return code;
    };
  };
  // An idle board may rest at another clock than the one it is locked to.
  Channel core = channel(board, "core_clock", "Hz", gauge, "nvmlDeviceGetClockInfo, SM clock");
  core.under_load_only = true;
  Channel memory = channel(board, "memory_clock", "Hz", gauge, "nvmlDeviceGetClockInfo, memory clock");
  memory.under_load_only = true;
  if (!probe.add_call(core, clock(nvml::clock_sm)))
    lacks.push_back(board.domain + " does not tell its clock");
  probe.add_call(memory, clock(nvml::clock_memory));
  probe.add_call(channel(board, "utilisation", "%", gauge, "nvmlDeviceGetUtilizationRates"),
                 [&library](nvml::Device device, double& value) {
                   nvml::Utilization rates{};
                   const int code = library.utilization(device, rates);
                   value = rates.gpu;
                   return code;
                 });
  const auto held_down = [&](const char* quantity, unsigned field) {
    return probe.add_field(channel(board, quantity, "s", ChannelKind::counter,
                                   fmt::format("NVML field {}, clock event reason counter", field)),
                           field, 1e-9);
  };
  const bool power = held_down("throttle_power_cap", nvml::field_power_cap);
  const bool thermal = held_down("throttle_thermal", nvml::field_thermal);
  held_down("throttle_hardware_thermal", nvml::field_hw_thermal);
  held_down("throttle_power_brake", nvml::field_hw_power_brake);
  held_down("throttle_sync_boost", nvml::field_sync_boost);
  if (!power || !thermal) lacks.push_back(board.domain + " does not count the time its limits bind");
}

void add_slow(NvmlProbe& probe, const NvmlLibrary& library, const GpuBoard& board) {
  const auto gauge = ChannelKind::gauge;
  probe.add_call(channel(board, "temperature", "C", gauge, "nvmlDeviceGetTemperature"),
                 [&library](nvml::Device device, double& value) {
                   unsigned celsius = 0;
                   const int code = library.temperature(device, celsius);
                   value = celsius;
                   return code;
                 });
  probe.add_field(channel(board, "memory_temperature", "C", gauge, "NVML field 82"),
                  nvml::field_memory_temperature, 1);
  probe.add_call(channel(board, "memory_used", "B", gauge, "nvmlDeviceGetMemoryInfo"),
                 [&library](nvml::Device device, double& value) {
                   nvml::Memory memory{};
                   const int code = library.memory(device, memory);
                   value = static_cast<double>(memory.used);
                   return code;
                 });
}

}  // namespace

NvmlProbes make_nvml_probes(std::shared_ptr<NvmlLibrary> library, const std::vector<GpuBoard>& boards) {
  // Power and energy take a new value every 20 to 100 ms, by board; the sensor audit finds how often.
  constexpr Seconds energy_period{0.02}, power_period{0.02}, state_period{0.1}, slow_period{1};
  NvmlProbes probes;
  auto power = std::make_unique<NvmlProbe>(library, power_period);
  auto state = std::make_unique<NvmlProbe>(library, state_period);
  auto slow = std::make_unique<NvmlProbe>(library, slow_period);
  for (const GpuBoard& board : boards) {
    if (board.vendor != GpuVendor::nvidia) continue;
    const nvml::Device device = library->device_of(board.uuid);
    if (device == nullptr) {
      probes.lacks.push_back(board.domain + " (" + board.uuid + ") is not there any more");
      continue;
    }
    auto energy = std::make_unique<NvmlProbe>(library, energy_period);
    for (NvmlProbe* probe : {energy.get(), power.get(), state.get(), slow.get()}) probe->add_board(device);
    add_energy(*energy, *library, board, probes.lacks);
    if (!energy->channels().empty()) probes.energy.push_back(std::move(energy));
    add_power(*power, *library, board, probes.lacks);
    add_state(*state, *library, board, probes.lacks);
    add_slow(*slow, *library, board);
  }
  if (!power->channels().empty()) probes.power = std::move(power);
  if (!state->channels().empty()) probes.state = std::move(state);
  if (!slow->channels().empty()) probes.slow = std::move(slow);
  return probes;
}

}  // namespace dvfs_plan
