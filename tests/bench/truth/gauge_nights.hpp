// Power gauges of boards and machines that have no counter, looked at first under a load that comes and goes
// as the program's own look at the sensors does, then in a night whose truth is known.
#pragma once

#include "tests/bench/truth/loads.hpp"

namespace dvfs_plan::truth {

enum class Gauge {
  mean,       // over the time between two values
  long_mean,  // over ten of them, as NVIDIA's average
  quarter,    // over a quarter of the time between two values, as an H100's instant power
  sample,     // of the moment, on a grid of its own
  of_now,     // of the moment, each time it is asked
};
inline constexpr Gauge all_gauges[] = {Gauge::mean, Gauge::long_mean, Gauge::quarter, Gauge::sample,
                                       Gauge::of_now};
std::string to_string(Gauge gauge);

struct GaugeConditions {
  Gauge gauge = Gauge::mean;
  Load load = Load::process;
  bool loaded = true;  // whether a load could be run on it before; else nothing is known of its window
};

struct GaugeOutcome {
  double truth = 0;
  double joules = 0;
  std::optional<double> half_width;  // nullopt: nothing is stated
};
// nullopt where no energy is known at all.
std::optional<GaugeOutcome> measure_gauge(const GaugeConditions& conditions, std::uint64_t seed);

}  // namespace dvfs_plan::truth
