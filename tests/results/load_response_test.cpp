// What a load that comes and goes shows of a sensor: latencies and windows drawn at random are found again.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "results/energy/load_response.hpp"
#include "results/energy/sensor_audit.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

class Machine {
 public:
  explicit Machine(std::uint64_t seed) : random_(seed) {
    double time = uniform(0.2, 0.4);
    while (time < 5) {
      const double length = 0.03 * std::pow(0.5 / 0.03, uniform(0, 1));
      on_.push_back({static_cast<Nanoseconds>(time * 1e9), static_cast<Nanoseconds>((time + length) * 1e9)});
      time += length + 0.03 * std::pow(0.5 / 0.03, uniform(0, 1));
    }
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double normal() { return std::normal_distribution<double>()(random_); }

  // Of a board that draws 100 W at rest and 300 W under the load.
  double mean_power(double from, double to) const {
    double busy = 0;
    for (const Window& one : on_) {
      const double a = std::max(from, static_cast<double>(one.from) * 1e-9),
                   b = std::min(to, static_cast<double>(one.to) * 1e-9);
      busy += std::max(0.0, b - a);
    }
    return 100 + 200 * busy / (to - from);
  }

  // Read every 2 ms, as the audit does.
  std::vector<Reading> gauge_readings(double update, double window, double latency, double noise) {
    std::vector<Reading> readings;
    const double phase = uniform(0, update);
    double value = 100, next = 0;
    for (double time = 0; time < 5.3; time += 0.002 * uniform(0.8, 1.2)) {
      while (next <= time) {
        const double of = next - latency;
        value = mean_power(of - std::max(window, 1e-4), of) * (1 + noise * normal());
        next += update;
      }
      readings.push_back(at(static_cast<Nanoseconds>((time + phase) * 1e9), value));
    }
    for (Window& one : on_) {
      one.from += static_cast<Nanoseconds>(phase * 1e9);
      one.to += static_cast<Nanoseconds>(phase * 1e9);
    }
    return readings;
  }

  std::vector<Window> on_;

 private:
  std::mt19937_64 random_;
};

ChannelAudit audited(const Channel& channel, const std::vector<Reading>& readings, double update,
                     const std::vector<Window>& on) {
  ChannelAudit audit;
  audit.update = Seconds{update};
  audit_response(audit, channel, readings, on);
  return audit;
}

TEST(LoadResponse, WindowAndLatencyOfAGaugeAreFoundAgain) {
  int known = 0, resolved_rightly = 0, drawn = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Machine machine(seed);
    const double update = machine.uniform(0.02, 0.1);
    // Of the moment, a quarter, the whole, or many updates.
    const double windows[] = {0, 0.25 * update, update, 1};
    const double window = windows[seed % 4], latency = machine.uniform(0, 0.1);
    const auto readings = machine.gauge_readings(update, window, latency, 0.01);
    const ChannelAudit audit = audited(gauge("gpu-0"), readings, update, machine.on_);
    ++drawn;
    if (!audit.window) continue;
    ++known;
    // When a value was renewed is known to a look of 2 ms only.
    const double look = 0.004;
    EXPECT_NEAR(audit.window->value(), window, 0.3 * update + 0.05 * window + look) << "seed " << seed;
    EXPECT_NEAR(audit.latency->value(), latency, 0.2 * update + 0.03 * window + look) << "seed " << seed;
    EXPECT_NEAR(audit.rise->value(), latency + 0.9 * window, 0.4 * update + 0.05 * window + look)
        << "seed " << seed;
    // What counts: whether a mean over an update or more is told from a sample.
    resolved_rightly += (audit.window->value() >= 0.75 * update) == (window >= 0.75 * update) ? 1 : 0;
  }
  EXPECT_GE(known, drawn * 9 / 10);
  EXPECT_EQ(resolved_rightly, known);
}

TEST(LoadResponse, WhatTheLoadDoesNotExplainIsNotMeasured) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Machine machine(seed);
    // Other work moves the power as much as the load does.
    const auto noisy = machine.gauge_readings(0.1, 0.1, 0.02, 0.5);
    EXPECT_FALSE(audited(gauge("gpu-0"), noisy, 0.1, machine.on_).window) << "seed " << seed;
    // A load that was on at other times.
    Machine other(seed + 1000);
    EXPECT_FALSE(
        audited(gauge("gpu-0"), Machine(seed).gauge_readings(0.1, 0.1, 0.02, 0.01), 0.1, other.on_).window)
        << "seed " << seed;
  }
}

TEST(LoadResponse, ACountersLagIsBoundedFromAbove) {
  int known = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Machine machine(seed);
    const double update = 0.1, lag = machine.uniform(0, 0.05), phase = machine.uniform(0, update);
    std::vector<Reading> readings;
    double joules = 1000, next = phase;
    for (double time = 0; time < 5.3; time += 0.002 * machine.uniform(0.8, 1.2)) {
      while (next <= time) {
        joules += update * machine.mean_power(next - lag - update, next - lag);
        next += update;
      }
      readings.push_back(at(static_cast<Nanoseconds>(time * 1e9), joules));
    }
    const ChannelAudit audit = audited(counter("gpu-0"), readings, update, machine.on_);
    if (!audit.latency) continue;
    ++known;
    EXPECT_GE(audit.latency->value(), lag - 0.004) << "seed " << seed;
    EXPECT_LE(audit.latency->value(), lag + 0.02) << "seed " << seed;
  }
  EXPECT_GE(known, 90);
}

}  // namespace
}  // namespace dvfs_plan
