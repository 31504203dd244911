#include "probes/meters/powersensor3_stream.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dvfs_plan {
namespace {

constexpr double supply_v = 3.3;
constexpr int highest_level = 1023, clock_period_us = 1024;

std::optional<std::string> text_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (byte == 0) return text;
    if (byte < 0x20 || byte > 0x7e) return std::nullopt;
    text += static_cast<char>(byte);
  }
  return std::nullopt;  // it is ended by a zero
}

float float_at(std::span<const std::uint8_t> record, std::size_t at) {
  float value = 0;
  std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

}  // namespace

double PowerSensor3Sensor::value_of(int level) const {
  return (supply_v * level / highest_level - reference_v) / sensitivity;
}

std::optional<PowerSensor3Sensor> parse_powersensor3_record(std::span<const std::uint8_t> record) {
  constexpr std::size_t of_text = 16;
  if (record.size() != powersensor3_record) return std::nullopt;
  const auto type = text_of(record.subspan(0, of_text)), name = text_of(record.subspan(of_text, of_text));
  const float reference = float_at(record, 2 * of_text), sensitivity = float_at(record, 2 * of_text + 4);
  const std::uint8_t in_use = record[powersensor3_record - 1];
  if (!type || !name || in_use > 1 || !std::isfinite(reference) || !std::isfinite(sensitivity))
    return std::nullopt;
  // A sensor that was never set up has 0.
  if (in_use == 1 && sensitivity == 0) return std::nullopt;
  return PowerSensor3Sensor{*type, *name, reference, sensitivity, in_use == 1};
}

void PowerSensor3Stream::take(std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) {
    if (!half_) {
      if ((byte & 0x80) != 0)
        half_ = byte;
      else
        ++strange_;
      continue;
    }
    if ((byte & 0x80) == 0) {
      take_pair(*half_, byte);
      half_.reset();
    } else {  // a byte was lost: this one begins a pair
      ++strange_;
      half_ = byte;
    }
  }
}

void PowerSensor3Stream::take_pair(std::uint8_t first, std::uint8_t second) {
  if (first == 0xff && second == 0x3f) {
    stopped_ = true;
    return;
  }
  const int sensor = first >> 4 & 0x7, level = (first & 0xf) << 6 | (second & 0x3f);
  const bool marked = (second & 0x40) != 0;
  if (marked && sensor == powersensor3_sensors - 1) {
    time_us_ = level;
    next_sensor_ = 0;
    return;
  }
  if (next_sensor_ < 0 || sensor != next_sensor_) {
    // Not whole: its time is in the next one's.
    if (next_sensor_ >= 0) ++strange_;
    next_sensor_ = -1;
    return;
  }
  levels_[static_cast<std::size_t>(sensor)] = level;
  if (++next_sensor_ == powersensor3_sensors) end_look();
}

void PowerSensor3Stream::end_look() {
  next_sensor_ = -1;
  const double passed_s = last_us_ ? 1e-6 * ((time_us_ - *last_us_ + clock_period_us) % clock_period_us) : 0;
  for (std::size_t pair = 0; pair < watts_.size(); ++pair) {
    const PowerSensor3Sensor &current = sensors_[2 * pair], &voltage = sensors_[2 * pair + 1];
    if (!current.in_use || !voltage.in_use) continue;
    const double watts = current.value_of(levels_[2 * pair]) * voltage.value_of(levels_[2 * pair + 1]);
    if (last_us_) joules_[pair] += 0.5 * (watts_[pair] + watts) * passed_s;
    watts_[pair] = watts;
  }
  device_s_ += passed_s;
  last_us_ = time_us_;
  ++looks_;
}

}  // namespace dvfs_plan
