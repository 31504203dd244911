// Loads drawn at random whose energy is known, for sensors that are read in virtual time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "results/energy/energy_curve.hpp"

namespace dvfs_plan::truth {

enum class Load {
  process,  // the region is a process: idle before and after, with a start and an end of its own
  inside,   // a region marked inside steady work
  between,  // other work before and after
  step,     // a change of power inside the region
  square,   // on and off inside the region
  many,     // several short regions with rests between
  pulses,   // on and off with a period near the sensor's update, a divisor or a multiple of it
  lead,     // a region whose work begins up to an update and a half before its mark, and goes on behind it
  steps,  // many regions of up to two updates, as far apart, at a pace of their own: those of one night are off the same way
};
inline constexpr Load all_loads[] = {Load::process, Load::inside, Load::between, Load::step, Load::square,
                                     Load::many,    Load::pulses, Load::lead,    Load::steps};
std::string to_string(Load load);

// Energy over time, from power on a fine grid.
class Power {
 public:
  explicit Power(double step) : step_(step) {}
  void add(double watts) { joules_.push_back(joules_.back() + watts * step_); }
  double joules(double t) const;
  double mean(double from, double to) const { return (joules(to) - joules(from)) / (to - from); }

 private:
  double step_;
  std::vector<double> joules_{0};
};

struct Night {
  Power power{0.002};
  Power work{0.002};  // what the work is the cause of, with no delay of the board: the truth
  std::vector<Window> windows;
  double begins = 0, ends = 0;  // of the process

  double truth() const;  // J in the windows
};

// Of random numbers, and nights made of them.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double normal() { return std::normal_distribution<double>()(random_); }
  // `region` in updates; nullopt: drawn, 0.3 to 300 by logarithm. `update` of the sensor, s.
  Night night(Load load, double update, std::optional<double> region);

 private:
  void draw_power(Night& night, Load load, double update,
                  const std::vector<std::pair<double, double>>& regions);

  std::mt19937_64 random_;
  double busy_ = 0, idle_ = 0;
};

}  // namespace dvfs_plan::truth
