// Whole nights whose truth is known, told by the report's own code: slowdowns, drift flags, two nights
// compared, and the clocks that trials are said to have run at.
#pragma once

#include <cstdint>

namespace dvfs_plan::truth {

struct NightConditions {
  int points = 6, blocks = 3;
  double scatter_of_time = 0.004, scatter_of_energy = 0.005;  // of a trial's logarithm
  double drift = 0;  // of the energy's logarithm within each block, linear
};

struct Stated {
  int stated = 0, hold = 0;
  double width = 0;
  void add(bool holds, double wide) {
    ++stated;
    hold += holds ? 1 : 0;
    width += wide;
  }
};

struct NightOutcome {
  Stated slowdown;
  int blocks = 0, flagged = 0;  // of the reference's pairs
};
NightOutcome tell_a_night(const NightConditions& conditions, std::uint64_t seed);

// Two nights of an unchanged machine but for `offset` of the second as a whole (ambient temperature, another
// meter) and `change` at one point.
struct ComparedOutcome {
  Stated energy;       // changes relative to the reference, of the points
  bool alarm = false;  // any called beyond the noise that did not change
  bool found = false;  // the one that did
};
ComparedOutcome compare_nights(const NightConditions& conditions, double offset, double change,
                               std::uint64_t seed);

// A trial at a requested clock that was held down to the step below for a share of its time; looks every 20
// ms with 0.3 % of noise, as APERF/MPERF between two reads.
struct ClockOutcome {
  double truth = 0, delivered = 0;  // Hz, means
  bool counts = false;
};
ClockOutcome tell_a_clock(double share_held_down, std::uint64_t seed);

}  // namespace dvfs_plan::truth
