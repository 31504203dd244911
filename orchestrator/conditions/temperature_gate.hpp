// Holds a trial back until the machine is no warmer than at the start of its block, within a band and for a
// limited time: a fixed pause would be too short after one trial and wasted after another.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/interruption.hpp"
#include "probes/sampler.hpp"

namespace dvfs_plan {

class TemperatureGate {
 public:
  // `band` in C; nullopt: temperatures are read and kept, nothing is waited for.
  TemperatureGate(Sampler& sampler, std::optional<double> band, Seconds limit)
      : sampler_(sampler), band_(band), limit_(limit) {}

  // The next trial's temperatures are those to come back to.
  void begin_block() { start_.clear(); }

  struct Outcome {
    bool interrupted = false;
    std::optional<double> temperature_c;  // the hottest sensor when the gate opened
    Seconds waited{0};
    std::string word;     // 'in_band', 'waited', 'timed_out'; '' without a gate or a sensor
    std::string message;  // what happened, where the limit was reached
  };
  Outcome wait(Interruption& interruption, const Clock& clock);

 private:
  std::map<std::uint32_t, double> read();
  Sampler& sampler_;
  std::optional<double> band_;
  Seconds limit_;
  std::map<std::uint32_t, double> last_;   // what each sensor said last
  std::map<std::uint32_t, double> start_;  // of each sensor: the machine at the block's start
};

}  // namespace dvfs_plan
