// What this program's own sampling draws: idle power with the probes read as in a night, a tenth as often, and not at all, by turns in random
// order. By counters alone, whose energy goes on being counted while nobody looks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "orchestrator/sensors/sensor_check.hpp"
#include "probes/sampler.hpp"

namespace dvfs_plan {

enum class SamplingRate { full, tenth, none };
inline constexpr std::size_t sampling_rates = 3;

struct OwnDraw {
  template <class T>
  using ByRate = std::array<T, sampling_rates>;
  std::vector<ByRate<double>> watts;  // a round each
  ByRate<double> cpu_share{};         // of the sampler's threads, of one CPU
  ByRate<double> wake_ups_per_s{};
};

// `counters`: channels whose sum is the power. `window`: of each rate in a round. Ends early, with the rounds that are whole, once `stop` says so.
// A round in which a counter was not renewed, or went back, is left out.
OwnDraw measure_own_draw(Sampler& sampler, Clock& clock, const SensorCheck& check,
                         const std::vector<std::uint32_t>& counters, Seconds window, int rounds,
                         unsigned seed, const std::function<bool()>& stop = {});

}  // namespace dvfs_plan
