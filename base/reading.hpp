// What probes deliver and results keep: channels and readings. Plain data; see probes/probe.hpp for who
// makes them and results/energy/energy_curve.hpp for what becomes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace dvfs_plan {

// A counter only grows (energy in J) and may wrap at `wraps_at`; a gauge is a value at a time (power in W).
enum class ChannelKind { counter, gauge };

// One quantity of one probe.
struct Channel {
  std::string name;   // unique in an experiment: "rapl:package-0", "hwmon:power_meter/power1"
  std::string probe;  // "rapl"
  std::string unit;   // "J", "W", "C", "Hz", "s", "%", "B"
  ChannelKind kind = ChannelKind::gauge;
  std::string domain;  // what the energy belongs to: "system", "psys", "package-0", "dram-0", "core-0",
                       // "gpu-0"; or "cpu0"
  std::string within;  // the domain that already contains this one; empty if none. Never sum both.
  std::optional<double> wraps_at;  // in `unit`; a counter that starts again at 0 there
  std::string source;              // the file or event it is read from
  bool under_load_only = false;    // says nothing about hardware that idles (a clock from APERF/MPERF)
  std::optional<double> averages_over_s =
      {};                   // a gauge that is a mean over this time; nullopt: not known from its driver
  double lags_up_to_s = 0;  // a counter whose value is the sum up to a moment that lies up to so long before
  bool told_when_new = false;  // its source speaks when it has a new value: a reading is as new as its time
  std::optional<double> late_by_s =
      {};  // what it says was so that long before it says it, as its user declared: readings have that time
};

// What a channel measures, where its probe measures several things of one domain: "core_clock" for
// "nvidia:gpu-0/core_clock"; the whole name where there is no '/'.
std::string_view quantity_of(const Channel& channel);

// Why a reading has no value. Absent, denied, gone, impossible and zero are five different things. The
// numbers are those of the result file.
enum class ReadingStatus { ok = 0, absent = 1, denied = 2, gone = 3, impossible = 4 };
std::string_view to_string(ReadingStatus status);

// The most that a channel's domain can draw, W: 5 kW for a board, a package or a part of one, else 1 MW.
double most_watts(const Channel& channel);

// Why no such quantity can have this value ("a power cannot be below 0 W"); empty if it can. Bounds are far
// beyond what machines do: what lies outside is a fault of the sensor or of who reads it. By unit, and for
// power by domain: a board or package draws less than 5 kW, anything else less than 1 MW.
std::string impossible_because(const Channel& channel, double value);

struct Reading {
  std::uint32_t channel = 0;  // index into the experiment's channels
  Nanoseconds time = 0;       // CLOCK_MONOTONIC
  std::optional<double> value;
  ReadingStatus status = ReadingStatus::ok;
};

}  // namespace dvfs_plan
