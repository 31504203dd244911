// Readings of one sensor into joules with the half-width that the sensor itself adds. Pure: no clock, no
// file.
//
// The curve stands on the fresh values (fresh_values.hpp). A counter's energy is the sum of its steps,
// corrected for wraps by the channel's own range, divided at the edges (counter_energy.hpp); a gauge's is the
// trapezoid, interpolated at the edges.
//
// What the half-width (95 %) stands for:
//   counter  how what was drawn within an interval that an edge divides may lie to either side of it, and
//   when
//            each renewal happened; of one that tells whole multiples of some joules at its own times, one such step at each edge.
//   gauge    what lies between two fresh values is not seen: 1.386 x the time between them x the root of the
//   summed
//            squares of their differences (1.96 sd of independent errors as large as the differences show),
//            and the step at each edge times half the longest of that time and rise. A gauge whose window and
//            latency were measured is put back to the middle of what it averages; what that leaves of a step
//            near an edge is an eighth of the window at most. It is known only where the gauge's own window
//            covers the time between its values, or where each of many looks at random times finds what is
//            now: else a load that comes and goes between its values is not seen at all (pulses near a
//            divisor of the update are read 40 to 70 % wrong, and the readings do not tell). Of one that tells its power in steps what these
//            leave out (gauge_rounding.hpp).
// Gain errors of the sensor (NVIDIA 0.87 to 1.15 between boards, arXiv 2312.02741) are not in it: they are a
// constant of one board and cancel in comparisons.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/reading.hpp"
#include "results/energy/fresh_values.hpp"

namespace dvfs_plan {

struct Stretch;  // counter_energy.hpp

// Why the half-width of a gauge's energy is not known.
enum class Unresolved { no, window_unknown, window_short };

enum class EnergyFault {
  none,
  absent,
  denied,
  gone,
  dead,
  frozen,
  gap,
  counter_went_back,
  impossible,
  too_short
};
std::string_view to_string(EnergyFault fault);

struct ChannelEnergy {
  std::uint32_t channel = 0;
  std::optional<double> joules;
  int readings = 0;  // that had a value
  EnergyFault fault = EnergyFault::none;
  std::optional<double> half_width_j;  // 95 %, what the sensor alone adds; nullopt: `unresolved` says why
  std::optional<double> systematic_j;  // of it, what may be the same in all trials of a workload
  int fresh = 0;                       // values inside the window that were not repeats
  std::optional<double> as_read_j;     // counters: plain difference of what could be read at the two edges
  Unresolved unresolved = {};
};

// What is known of a sensor besides the readings at hand, from the audit. All may be unknown.
struct SensorModel {
  std::optional<Seconds> update;   // between fresh values
  std::optional<Seconds> rise;     // from a step of the load to 90 % of it
  bool at_least = false;           // `update` is as fast as was looked: it may renew faster still
  std::optional<Seconds> window;   // a gauge is the mean over so long; 0: of what is now; nullopt: not known
  std::optional<Seconds> latency;  // as measured under a load, where it was
  std::optional<double> resolution;  // smallest step that was seen, in the channel's unit
  Seconds lag{0};                    // a counter's value is the sum up to a moment up to so long before
  bool told_when_new = false;        // each reading is as new as its time
  std::optional<Seconds>
      seen_every;  // fresh values in the look at the start, which are too few to tell `update` of one that is slow
  bool may_be_flat = false;  // a machine at rest may well draw the same all the time
};

// Whether a channel can say something about energy at all: J counters and W gauges.
bool measures_energy(const Channel& channel);

// The readings of one channel, in time order.
std::vector<Reading> of_channel(std::span<const Reading> readings, std::uint32_t channel);

// How often the values change, from readings of one channel in time order: the typical time between fresh
// values if they were read often enough to see it, else nullopt.
std::optional<Seconds> update_period(std::span<const Reading> readings);

// A stretch of CLOCK_MONOTONIC that counts.
struct Window {
  Nanoseconds from = 0, to = 0;
  bool marked = false;  // by the workload itself (counter_energy.hpp)
};

class EnergyCurve {
 public:
  // `readings` are of this channel only, in time order.
  EnergyCurve(const Channel& channel, std::span<const Reading> readings, const SensorModel& model = {});

  // Energy between two times of CLOCK_MONOTONIC. What is not known is nullopt with the reason in `fault`.
  ChannelEnergy between(Nanoseconds from, Nanoseconds to) const;
  // Of disjoint stretches in time order together: what is alike in them is learnt from all.
  ChannelEnergy over(std::span<const Window> windows) const;

  // Of a counter: its fresh values without wraps, s since `origin`; empty where the sensor as a whole is at
  // fault.
  std::span<const FreshValue> counts() const { return counts_; }
  Nanoseconds origin() const { return origin_; }

  // Between fresh values; nullopt if neither the readings nor the model tell.
  std::optional<Seconds> update() const { return update_; }
  bool counter() const { return counter_; }
  // Of a gauge: whether what happens between its values is in them.
  Unresolved unresolved() const;
  // The shortest time that can be told from its neighbours, s: the longest of update, look and window.
  double resolves() const { return std::max(between_values(), measured_window()); }

 private:
  struct Point {
    double time;         // s since origin_
    double value;        // J without wraps, or W
    double joules = 0;   // gauge: trapezoid up to here
    double squares = 0;  // gauge: summed squared differences up to here
  };
  struct Edge {
    double joules;  // up to the edge
    double half_width;
  };

  void keep_fresh(const std::vector<Look>& looks);
  EnergyFault find_fault(const std::vector<Look>& known) const;
  EnergyFault unwrap(std::vector<Look>& known) const;
  void sum_up();
  double between_values() const { return std::max(update_ ? update_->value() : 0.0, spacing_); }
  // Of a gauge, where its latency was measured too: what its values are put back by goes by both.
  double measured_window() const {
    return !counter_ && model_.window && model_.latency ? model_.window->value() : 0;
  }
  double seconds_of(Nanoseconds time) const { return static_cast<double>(time - origin_) * 1e-9; }
  std::size_t interval_of(double time) const;  // index of the point that ends it; 0 and size() are outside
  Edge gauge_edge(double time) const;
  double gauge_square(double from, double to) const;
  double power_at(double time) const;
  double rounding(std::span<const Stretch> stretches) const;
  double visible_at(double time) const;
  bool encloses(double from, double to) const;
  bool has_gap(double from, double to) const;
  bool counts_most_of(std::span<const Stretch> stretches) const;
  bool has_impossible(double from, double to) const;
  EnergyFault fault_between(double from, double to) const;

  bool counter_;
  std::optional<double> wraps_at_;
  double most_watts_;  // that its domain can draw
  SensorModel model_;
  Nanoseconds origin_ = 0;
  std::vector<FreshValue> counts_;  // of a counter, fresh ones
  std::vector<Point> points_;       // of a gauge
  std::optional<Seconds> update_;
  double first_read_ = 0, last_read_ = 0;
  double lowest_ = 0, highest_ = 0;  // of the fresh values
  double slack_ = 0;                 // how late an edge may be read
  double quantum_ = 0;  // J: of a counter that tells whole multiples of it, at its own times; 0: of none
  double step_ = 0;     // W: in which a gauge tells its power; 0: in none
  double spacing_ = 0;  // median between readings
  bool at_random_times_ = false;                   // the readings were taken
  std::vector<std::pair<double, double>> pauses_;  // stretches in which nobody looked for two updates
  std::vector<double> impossible_;                 // when a value was said that cannot be
  int readings_ = 0;
  EnergyFault fault_ = EnergyFault::none;
};

// The same for a single window.
ChannelEnergy energy_between(const Channel& channel, std::span<const Reading> readings, Nanoseconds from,
                             Nanoseconds to, const SensorModel& model = {});

}  // namespace dvfs_plan
