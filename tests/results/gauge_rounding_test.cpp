// Gauges that tell their power in steps: joules within what they say, however steady the load, whether the gauge rounds or cuts off.
#include "results/energy/gauge_rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "results/energy/energy_curve.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

double steps_of(const std::vector<double>& values, std::optional<double> smallest_seen = {}) {
  std::vector<Look> looks;
  for (const double value : values) looks.push_back({static_cast<double>(looks.size()), value});
  return told_in_steps_of(looks, smallest_seen);
}

TEST(GaugeRounding, TheStepIsWhatAllValuesAreMultiplesOf) {
  EXPECT_NEAR(steps_of({3, 14}), 1, 1e-12);
  EXPECT_NEAR(steps_of({14.3, 20.1}), 0.1, 1e-12);
  EXPECT_NEAR(steps_of({14.25}), 0.01, 1e-12);
  EXPECT_NEAR(steps_of({1200, 1300}), 100, 1e-9) << "a distribution unit in tenths of a kilowatt";
  EXPECT_NEAR(steps_of({96, 104, 200, 208, 216}), 8, 1e-9);
  EXPECT_NEAR(steps_of({3.5, 28.5, 53.5, 103.5}), 25, 1e-9) << "that do not begin at nought";
  EXPECT_NEAR(steps_of({14.275, 14.3}, 0.025), 0.025, 1e-12) << "seen by the look at the sensor";
  EXPECT_NEAR(steps_of({14.25, 14.31}, 0.025), 0.01, 1e-12) << "these are none of what the look saw";
}

TEST(GaugeRounding, RoundValuesMayBeByChance) {
  EXPECT_NEAR(steps_of({20}), 1, 1e-12);
  EXPECT_NEAR(steps_of({10, 20}), 1, 1e-12);
  EXPECT_NEAR(steps_of({14, 16, 20}), 1, 1e-12);
}

TEST(GaugeRounding, WhatIsToldFinelyIsToldInNone) {
  EXPECT_EQ(steps_of({}), 0);
  EXPECT_EQ(steps_of({0, 0}), 0);
  EXPECT_EQ(steps_of({71.234, 415.021}), 0) << "thousandths of a watt beside hundreds";
  EXPECT_EQ(steps_of({M_PI, M_E}), 0);
  EXPECT_EQ(steps_of({INFINITY, 1}), 0);
}

struct InSteps {
  double joules = 0, most = 0;       // `most`: what a step more or less would be, J
  std::optional<double> half_width;  // of one that stands so long that its pace is not seen it is not known
};

// What a gauge that is a mean over the time between its values tells of `watts`, from 0 to `length`; and what it was.
InSteps in_steps(const std::function<double(double)>& watts, double length, double step, bool cuts_off,
                 double* truth, double phase = 0) {
  constexpr double every = 0.05, of_a_mean = 20;
  const auto joules = [&](double from, double to) {
    double sum = 0;
    for (int k = 0; k < static_cast<int>(of_a_mean); ++k)
      sum += watts(from + (k + 0.5) * (to - from) / of_a_mean) * (to - from) / of_a_mean;
    return sum;
  };
  std::vector<Reading> readings;
  for (double t = phase - 1; t <= length + 1; t += every) {
    const double mean = joules(t - every, t) / every;
    const double value =
        step == 0 ? mean : step * (cuts_off ? std::floor(mean / step) : std::round(mean / step));
    readings.push_back(at(nanoseconds(Seconds{10 + t}), value));
  }
  *truth = 0;
  for (double t = 0; t < length - 1e-9; t += every) *truth += joules(t, std::min(length, t + every));
  SensorModel model;
  model.window = model.rise = Seconds{every};
  model.update = Seconds{every};
  model.told_when_new = true;
  model.may_be_flat = true;
  // Of other steps than decimals a load that is steady shows too few to know them by; the look at the sensor does.
  if (step > 0.1 && step != 1) model.resolution = step;
  const auto energy = energy_between(gauge(), readings, 10 * s, nanoseconds(Seconds{10 + length}), model);
  EXPECT_TRUE(energy.joules) << to_string(energy.fault);
  EXPECT_LE(energy.systematic_j.value_or(0), energy.half_width_j.value_or(0) * (1 + 1e-9));
  return {energy.joules.value_or(0), step * length, energy.half_width_j};
}

// Steady loads, phases, ramps, and noise of up to three steps, at some 8 to 600 W.
TEST(GaugeRounding, TheJoulesAreWithinTheirHalfWidth) {
  std::mt19937_64 random(25);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (const char* const shape : {"steady", "phases", "ramp", "noise"}) {
    for (const bool cuts_off : {false, true}) {
      constexpr int trials = 300;
      int held = 0, known = 0;
      double errors = 0, widths = 0;
      for (int trial = 0; trial < trials; ++trial) {
        const std::vector<double> all_steps{0.1, 0.5, 1, 2, 8};
        const double step = all_steps[static_cast<std::size_t>(uniform(0, 4.999))];
        const double level = step * uniform(8, 75), other = step * uniform(8, 75), length = uniform(1, 4),
                     period = uniform(0.3, 2), scatter = uniform(0, 3) * step;
        std::vector<double> noise(400);
        for (double& one : noise) one = std::normal_distribution<double>(0, scatter)(random);
        const std::string_view kind = shape;
        const double at_rest = step * uniform(3, 8);
        const auto watts = [&](double t) {
          if (t < -0.5 || t > length + 0.5) return at_rest;
          if (kind == "phases") return std::fmod(t + 10, period) < period / 2 ? level : other;
          if (kind == "ramp") return level + (other - level) * std::clamp(t / length, 0.0, 1.0);
          return kind == "noise" ? std::max(step, level + noise[static_cast<std::size_t>((t + 2) / 0.05)])
                                 : level;
        };
        double truth = 0;
        const InSteps night = in_steps(watts, length, step, cuts_off, &truth);
        if (!night.half_width) continue;
        ++known;
        held += std::abs(night.joules - truth) <= *night.half_width ? 1 : 0;
        errors += std::abs(night.joules - truth) / night.most;
        widths += *night.half_width / night.most;
      }
      std::printf("%s%s: %d of %d hold; off by %.2f steps, +- %.2f\n", shape, cuts_off ? ", cut off" : "",
                  held, known, errors / known, widths / known);
      EXPECT_GE(known, trials / 3);
      EXPECT_GE(held, known * 95 / 100) << shape << cuts_off;
      if (std::string_view(shape) == "steady") {
        EXPECT_LE(widths / known, 1.2) << "a step, but for round values by chance";
      }
    }
  }
}

// A load that begins and ends where the region does, by a gauge whose values look back over more than a moment: a cut off step and what its
// windows take out at the edges pull the same way.
TEST(GaugeRounding, WhatIsCutOffAndWhatTheEdgesLoseAddUp) {
  std::mt19937_64 random(27);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  constexpr int trials = 600;
  int held = 0, known = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const double level = uniform(8, 40), at_rest = uniform(2, 7), length = uniform(0.4, 1.5);
    double truth = 0;
    const InSteps night = in_steps([&](double t) { return t < 0 || t > length ? at_rest : level; }, length, 1,
                                   true, &truth, uniform(0, 0.05));
    if (!night.half_width) continue;
    ++known;
    held += std::abs(night.joules - truth) <= *night.half_width ? 1 : 0;
  }
  std::printf("at the edges, cut off: %d of %d hold\n", held, known);
  EXPECT_GE(known, trials / 3);
  EXPECT_GE(held, known * 95 / 100);
}

// Of one that tells finely the half-width is as it was.
TEST(GaugeRounding, OfOneThatTellsFinelyNothingIsLeftOut) {
  double truth = 0;
  const auto watts = [](double t) { return 314.159 + 0.577 * std::sin(7 * t); };
  const InSteps exact = in_steps(watts, 2, 0, false, &truth), fine = in_steps(watts, 2, 0.001, false, &truth);
  ASSERT_TRUE(fine.half_width && exact.half_width);
  EXPECT_NEAR(*fine.half_width, *exact.half_width, 1e-3 * 2);
}

}  // namespace
}  // namespace dvfs_plan
