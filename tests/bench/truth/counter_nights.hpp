// Energy counters whose truth is known: random loads, read through the real sampler in virtual time and
// judged by EnergyCurve, for counting how often the stated half-width holds. The sensor is as a recorded H200
// is (../shared/fixtures/nvidia-h200): its value is renewed on a grid of its own, some per cent late, and is
// the sum up to a little before that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/truth/loads.hpp"

namespace dvfs_plan::truth {

struct CounterConditions {
  Load load = Load::process;
  double look = 0.5;                // between looks, in updates; 0: the sampler follows the sensor
  std::optional<double> region;     // in updates; nullopt: drawn, 0.3 to 300 by logarithm
  int boards = 1;                   // each a counter of its own; their sum is stated
  double update = 0.1;              // s
  std::optional<double> read_cost;  // of a look, in updates; nullopt: 0.04
  std::uint64_t phase = 0;          // of the sensor: another trial of the same load
};

struct Outcome {
  double truth = 0;
  std::optional<double> joules;
  double half_width = 0, systematic = 0;
  int looks = 0;
  double updates = 0;  // that passed while it was looked at
};
Outcome measure_counters(const CounterConditions& conditions, std::uint64_t seed);

// The mean of so many trials of one load, each at another phase of the sensor: in half_width what is the same in all does not shrink. No joules: one
// of them is not known.
Outcome measure_mean(CounterConditions conditions, std::uint64_t seed, int trials);

}  // namespace dvfs_plan::truth
