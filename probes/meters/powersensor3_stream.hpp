// What a PowerSensor3 sends over its serial line (https://github.com/nlesc-recruit/PowerSensor3, firmware and host library 1.x):
// bytes in pairs, 1SSSLLLL 0MLLLLLL, each a sensor's number S (0 to 7), a level L of 10 bits, and a mark M. Twenty thousand times a
// second the time in us, modulo 1024 (S = 7, M = 1), and the levels of all sensors; even ones measure current, odd ones voltage, of
// one pair each. FF 3F: it has stopped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dvfs_plan {

inline constexpr int powersensor3_sensors = 8;
inline constexpr int powersensor3_pairs = powersensor3_sensors / 2;

struct PowerSensor3Sensor {
  std::string type, pair_name;
  // Of current sensors V and V/A, of voltage sensors V and a factor.
  double reference_v = 0, sensitivity = 1;
  bool in_use = false;
  // What a level stands for: A or V.
  double value_of(int level) const;
};
// Of its record in the device's memory: type[16], pair name[16], reference and sensitivity (floats), in use (a byte).
inline constexpr std::size_t powersensor3_record = 41;
// nullopt: that is no such record (an older firmware's are shorter).
std::optional<PowerSensor3Sensor> parse_powersensor3_record(std::span<const std::uint8_t> record);

// Adds up the energy of each pair by the device's own clock.
class PowerSensor3Stream {
 public:
  explicit PowerSensor3Stream(std::array<PowerSensor3Sensor, powersensor3_sensors> sensors)
      : sensors_(std::move(sensors)) {}

  void take(std::span<const std::uint8_t> bytes);

  // Since the stream began: J of a pair, s by the device's clock (which does not see gaps of more than 1 ms), whole looks.
  double joules(int pair) const { return joules_[static_cast<std::size_t>(pair)]; }
  double watts(int pair) const { return watts_[static_cast<std::size_t>(pair)]; }  // last
  double device_s() const { return device_s_; }
  std::uint64_t looks() const { return looks_; }
  // Bytes that fit nowhere.
  std::uint64_t strange() const { return strange_; }
  bool has_stopped() const { return stopped_; }

 private:
  void take_pair(std::uint8_t first, std::uint8_t second);
  void end_look();

  std::array<PowerSensor3Sensor, powersensor3_sensors> sensors_;
  std::array<double, powersensor3_pairs> joules_{}, watts_{};
  std::array<int, powersensor3_sensors> levels_{};
  int next_sensor_ = -1;  // of the look that has begun; -1: none has
  int time_us_ = 0;       // of the look that has begun
  std::optional<int> last_us_;
  std::optional<std::uint8_t> half_;
  double device_s_ = 0;
  std::uint64_t looks_ = 0, strange_ = 0;
  bool stopped_ = false;
};

}  // namespace dvfs_plan
