// Readings of a sensor into joules: wraps, edges, faults, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "results/energy/energy_curve.hpp"
#include "results/energy/sensor_audit.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

// A sensor whose readings are as new as their time: no renewals to place.
const SensorModel told{.update = {},
                       .rise = {},
                       .at_least = false,
                       .window = {},
                       .latency = {},
                       .resolution = {},
                       .lag = Seconds{0},
                       .told_when_new = true,
                       .seen_every = {},
                       .may_be_flat = false};

class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : random_(seed) {}
  double operator()(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

 private:
  std::mt19937_64 random_;
};

TEST(Energy, CorrectsOneCounterWrapByTheChannelsOwnRange) {
  // DRAM wraps at 65 712.999613 J, a quarter of what the package does.
  const auto energy =
      energy_between(counter("dram-0", 65712.999613),
                     std::vector{at(0, 65712.0), at(1 * s, 65712.9), at(2 * s, 0.500387)}, 0, 2 * s, told);
  EXPECT_NEAR(*energy.joules, 1.5, 1e-9);
}

TEST(Energy, CorrectsSeveralWrapsOfALongTrial) {
  std::vector<Reading> readings;
  for (int i = 0; i <= 40; ++i)
    readings.push_back(at(i * 10 * s, std::fmod(100.0 * 10 * i, 2621.44)));  // 100 W
  const auto refused = energy_between(counter("package-0", 2621.44), readings, 0, 400 * s);
  EXPECT_EQ(refused.fault, EnergyFault::gap);  // 10 s between readings could hide a second wrap at 2 kW
  EXPECT_FALSE(refused.joules);
  std::vector<Reading> dense;
  for (int i = 0; i <= 400; ++i) dense.push_back(at(i * s, std::fmod(100.0 * i, 2621.44)));
  EXPECT_NEAR(*energy_between(counter("package-0", 2621.44), dense, 0, 400 * s).joules, 40000, 1e-6);
}

// A user's counter in steps of 10 to 60 J at 100 W, looked at more often than it moves, in trials too short to tell its pace: the first value
// that is seen may have been there for any time.
TEST(Energy, ASlowCounterWhosePaceIsNotKnownIsNotTakenForAQuickOne) {
  Uniform uniform(7);
  int known = 0, held = 0;
  double ratios = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const double step = uniform(10, 60), phase = uniform(0, step), length = uniform(0.5, 2),
                 look = uniform(0.01, 0.05);
    std::vector<Reading> readings;
    for (double t = -2 * look; t <= length + 2 * look; t += look)
      readings.push_back(
          at(nanoseconds(Seconds{10 + t}), std::floor((1000 + 100 * t + phase) / step) * step));
    const auto energy = energy_between(counter("wall"), readings, 10 * s, nanoseconds(Seconds{10 + length}));
    if (!energy.joules) continue;
    ++known;
    ratios += *energy.joules / (100 * length);
    ASSERT_TRUE(energy.half_width_j);
    held += std::abs(*energy.joules - 100 * length) <= *energy.half_width_j ? 1 : 0;
  }
  EXPECT_GT(known, 200);
  EXPECT_NEAR(ratios / known, 1, 0.02);
  EXPECT_GE(held, known * 95 / 100);
}

// A user's counter that tells whole multiples of 10 J twice a second, and not when it has come to one: 5 to 60 J of work at any moment.
TEST(Energy, ACounterInCoarseStepsIsKnownToAStep) {
  Uniform uniform(13);
  SensorModel model = told;
  model.resolution = 10;
  int known = 0, held = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const double length = uniform(0.05, 1.5), watts = uniform(40, 150), phase = uniform(0, 0.5),
                 offset = uniform(0, 10);
    std::vector<Reading> readings;
    for (double t = phase - 4; t <= length + 4; t += 0.5) {
      const double joules = 1000 + offset + 20 * t + (watts - 20) * std::clamp(t, 0.0, length);
      readings.push_back(at(nanoseconds(Seconds{10 + t}), 10 * std::floor(joules / 10)));
    }
    const auto energy =
        energy_between(counter("wall"), readings, 10 * s, nanoseconds(Seconds{10 + length}), model);
    if (!energy.joules) continue;
    ++known;
    held += std::abs(*energy.joules - watts * length) <= *energy.half_width_j ? 1 : 0;
  }
  EXPECT_GT(known, 400);
  EXPECT_GE(held, known * 95 / 100);
  std::printf("%d of %d hold\n", held, known);
}

// Whole joules ten times a second, as Cray's pm_counters tell them: several of them each time, so that the smallest step that an idle machine
// shows is not the unit. Told as they come, or looked at every 20 ms.
TEST(Energy, ACounterOfWholeJoulesIsKnownToAJoule) {
  Uniform uniform(29);
  for (const bool told_when_new : {true, false}) {
    SensorModel model = told;
    model.told_when_new = told_when_new;
    if (told_when_new) model.resolution = 2;
    int known = 0, held = 0;
    double widest = 0;
    for (int trial = 0; trial < 500; ++trial) {
      const double length = uniform(0.5, 1.5), watts = uniform(60, 200), phase = uniform(0, 0.1),
                   offset = uniform(0, 1);
      const auto joules = [&](double t) {
        const double renewed = std::floor((t - phase) / 0.1) * 0.1 + phase;
        return std::floor(1000 + offset + 25 * renewed + (watts - 25) * std::clamp(renewed, 0.0, length));
      };
      std::vector<Reading> readings;
      for (double t = told_when_new ? phase - 2 : -2; t <= length + 2; t += told_when_new ? 0.1 : 0.02)
        readings.push_back(at(nanoseconds(Seconds{10 + t}), joules(t + 1e-6)));
      const auto energy =
          energy_between(counter("cray"), readings, 10 * s, nanoseconds(Seconds{10 + length}), model);
      if (!energy.joules) continue;
      ++known;
      widest = std::max(widest, *energy.half_width_j / *energy.joules);
      held += std::abs(*energy.joules - watts * length) <= *energy.half_width_j ? 1 : 0;
    }
    EXPECT_GT(known, 400);
    EXPECT_GE(held, known * 94 / 100) << told_when_new;
    EXPECT_LT(widest, 0.12);
    std::printf("%d of %d hold\n", held, known);
  }
}

// A program's counter that falls silent over an edge of what counts, tells a right value and soon behind it one that comes late: what is between
// those two is no power of either side. Silent over the begin or the end; the work idles for its first or last moments there, or does not.
TEST(Energy, AValueThatComesLateBehindASilenceTellsNoPower) {
  Uniform uniform(37);
  for (const double late_by : {0.0, 0.1, 0.27, 0.6}) {
    int known = 0, held = 0;
    double widest = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      const double every = 0.01, idle = uniform(5, 60), watts = idle + uniform(5, 200),
                   length = uniform(0.1, 0.4), phase = uniform(0, every),
                   rests = uniform(0, 1) < 0.5 ? 0 : uniform(0, 5 * every);
      const bool at_end = uniform(0, 1) < 0.5;
      const double from = at_end ? 0 : rests, to = at_end ? length - rests : length;
      const auto joules = [&](double t) {
        return 100 + idle * (t + 1) + (watts - idle) * std::clamp(t - from, 0.0, to - from);
      };
      const double edge = at_end ? length : 0, silent_from = edge - uniform(0, 3) * every,
                   speaks = edge + uniform(0.1, 3) * every, hurry = uniform(0.01, 0.3) * every;
      std::vector<Reading> readings;
      bool told_again = false;
      const double ends = length + uniform(0.3, 6) * every + 3 * every;
      for (double t = phase - 0.3; t < ends; t += every * uniform(0.98, 1.02)) {
        if (t > silent_from && t < speaks) continue;
        if (t >= speaks && !told_again) {
          told_again = true;
          const double when = speaks + hurry;
          readings.push_back(at(nanoseconds(Seconds{10 + speaks}), joules(speaks)));
          readings.push_back(at(nanoseconds(Seconds{10 + when + late_by * every}), joules(when)));
          t = when + late_by * every;
          continue;
        }
        readings.push_back(at(nanoseconds(Seconds{10 + t}), joules(t)));
      }
      const double used = joules(length) - joules(0);
      const auto energy =
          energy_between(counter("wall"), readings, 10 * s, nanoseconds(Seconds{10 + length}), told);
      if (!energy.joules) continue;
      ++known;
      widest = std::max(widest, *energy.half_width_j / *energy.joules);
      held += std::abs(*energy.joules - used) <= *energy.half_width_j ? 1 : 0;
    }
    EXPECT_GT(known, 900);
    EXPECT_GE(held, known * 95 / 100) << late_by;
    std::printf("late by %g paces: %d of %d hold; up to %.0f %%\n", late_by, held, known, 100 * widest);
  }
}

// Lines of a program that counts joules in steps of `unit` and cuts off, some moments early or late; the work begins at 10 s.
struct Lines {
  double every, phase, jitter, first, until;  // s, but for the first line's number
};
std::vector<Reading> lines_in_steps(Uniform& uniform, double unit, const Lines& lines,
                                    const std::function<double(double)>& joules) {
  std::vector<Reading> readings;
  for (double n = lines.first; n * lines.every + lines.phase < lines.until; ++n) {
    const double t = n * lines.every + lines.phase + uniform(-lines.jitter, lines.jitter);
    readings.push_back(at(nanoseconds(Seconds{10 + t}), unit * std::floor(joules(t) / unit)));
  }
  return readings;
}

// A program's counter of coarse steps, on a machine that uses less than one of them between two lines at rest: it tells the same again there,
// and is as new as its line all the same.
TEST(Energy, ACounterThatStandsForWantOfAStepIsAsNewAsItsLine) {
  Uniform uniform(31);
  for (const double unit : {0.01, 0.1, 0.36, 1.0}) {
    int known = 0, held = 0;
    double sum = 0;
    for (int trial = 0; trial < 300; ++trial) {
      const double every = 0.02, idle = uniform(0.1, 0.8) * unit / every, watts = uniform(60, 200),
                   length = uniform(0.3, 0.9), phase = uniform(0, every), offset = uniform(0, unit);
      SensorModel model = told;
      model.resolution = unit;
      const auto readings = lines_in_steps(
          uniform, unit, {.every = every, .phase = phase, .jitter = 0.001, .first = -60, .until = length + 1},
          [&](double t) { return 1000 + offset + idle * t + (watts - idle) * std::clamp(t, 0.0, length); });
      const Window region{10 * s, nanoseconds(Seconds{10 + length}), true};
      const auto energy = EnergyCurve(counter("wall"), readings, model).over({&region, 1});
      if (!energy.joules) continue;
      ++known;
      held += std::abs(*energy.joules - watts * length) <= *energy.half_width_j ? 1 : 0;
      sum += *energy.joules / (watts * length) - 1;
    }
    EXPECT_GT(known, 290);
    EXPECT_GE(held, known * 95 / 100) << unit;
    EXPECT_NEAR(sum / known, 0, 0.004) << unit;
    std::printf("%g J: %d of %d hold, %.2f %% off on the average\n", unit, held, known, 100 * sum / known);
  }
}

// A counter in steps of which an idle machine uses several between two lines, so that the look at the night's start saw no single one: steady work of
// some seconds is known to a step and no better.
TEST(Energy, AStepThatIsNoPowerOfTenIsSeenBehindSteadyWork) {
  Uniform uniform(35);
  for (const double unit : {0.125, 0.25, 0.5, 2.5, 3.6}) {
    int known = 0, held = 0;
    double widths = 0;
    for (int trial = 0; trial < 600; ++trial) {
      const double every = 0.05, idle = (trial % 3 == 0 ? 2.0 : uniform(1.2, 2.9)) * unit / every,
                   watts = idle + uniform(0.5, 5) * unit / every, length = uniform(1, 6),
                   phase = uniform(0, every), offset = uniform(0, unit);
      SensorModel model = told;
      if (trial % 2 == 0) model.resolution = 2 * unit;
      const auto readings = lines_in_steps(
          uniform, unit,
          {.every = every, .phase = phase, .jitter = 0.0005, .first = -30, .until = length + 1},
          [&](double t) {
            return 1000 + offset + idle * (t + 2) + (watts - idle) * std::clamp(t, 0.0, length);
          });
      const Window region{10 * s, nanoseconds(Seconds{10 + length}), true};
      const auto energy = EnergyCurve(counter("wall"), readings, model).over({&region, 1});
      if (!energy.joules) continue;
      ++known;
      widths += *energy.half_width_j / unit;
      held += std::abs(*energy.joules - watts * length) <= *energy.half_width_j ? 1 : 0;
    }
    EXPECT_GT(known, 590);
    EXPECT_GE(held, known * 95 / 100) << unit;
    std::printf("%g J: %d of %d hold; ±%.2f steps\n", unit, held, known, widths / known);
  }
}

// A counter of thousandths of a watt-hour that tells five times a second: the look at the night's start sees too few of its values to know the
// step, which stands in the values all the same.
TEST(Energy, AStepThatTheLookDidNotSeeIsSeenInTheReadings) {
  Uniform uniform(33);
  for (const double unit : {3.6, 2.0}) {
    int known = 0, held = 0;
    for (int trial = 0; trial < 600; ++trial) {
      const double every = 0.2, idle = uniform(0.1, 0.8) * unit / every, watts = uniform(25, 70),
                   length = uniform(0.8, 1.6), phase = uniform(0, every), offset = uniform(0, unit);
      const auto readings = lines_in_steps(
          uniform, unit, {.every = every, .phase = phase, .jitter = 0.002, .first = -12, .until = length + 2},
          [&](double t) { return 36000 + offset + idle * t + (watts - idle) * std::clamp(t, 0.0, length); });
      const Window region{10 * s, nanoseconds(Seconds{10 + length}), true};
      const auto energy = EnergyCurve(counter("wall"), readings, told).over({&region, 1});
      if (!energy.joules) continue;
      ++known;
      held += std::abs(*energy.joules - watts * length) <= *energy.half_width_j ? 1 : 0;
    }
    EXPECT_GT(known, 400);
    EXPECT_GE(held, known * 97 / 100) << unit;
    std::printf("%g J, unseen: %d of %d hold\n", unit, held, known);
  }
}

// Each value is a mean over the time before it, as its maker says, and what it is of lies half of that back: with 20 to 800 W beside.
TEST(Energy, OfADeclaredMeanTheMiddleIsWhatItIsOf) {
  Uniform uniform(9);
  int held = 0;
  constexpr int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    const double window = uniform(0.05, 0.5), length = uniform(2, 6) * window, inside = uniform(50, 800),
                 before = uniform(20, 800), after = uniform(20, 800);
    const auto joules_up_to = [&](double t) {
      return before * std::min(t, 0.0) + inside * std::clamp(t, 0.0, length) +
             after * std::max(t - length, 0.0);
    };
    std::vector<Reading> readings;
    const double pace = window / 10;
    for (double t = -3 * window; t <= length + 3 * window; t += pace)
      readings.push_back(
          at(nanoseconds(Seconds{10 + t}), (joules_up_to(t) - joules_up_to(t - window)) / window));
    SensorModel model;
    model.window = model.rise = Seconds{window};
    model.told_when_new = true;
    const auto energy = energy_between(gauge(), readings, 10 * s, nanoseconds(Seconds{10 + length}), model);
    ASSERT_TRUE(energy.joules);
    ASSERT_TRUE(energy.half_width_j);
    held += std::abs(*energy.joules - inside * length) <= *energy.half_width_j ? 1 : 0;
  }
  EXPECT_GE(held, trials * 95 / 100);
}

TEST(Energy, ACounterThatGoesBackWithoutARangeIsNotKnown) {
  const auto energy = energy_between(counter("x"), std::vector{at(0, 10), at(s, 5), at(2 * s, 20)}, 0, 2 * s);
  EXPECT_EQ(energy.fault, EnergyFault::counter_went_back);
  EXPECT_FALSE(energy.joules);
}

TEST(Energy, ACounterThatCountsOnAndOnHasNoMegajouleToTellAtOnce) {
  const auto leaps_by = [](double joules) {
    std::vector<Reading> readings;
    for (int i = 0; i <= 100; ++i) readings.push_back(at(i * s / 100, i + (i > 50 ? joules : 0)));  // 100 W
    return energy_between(counter("x"), readings, 0, s);
  };
  EXPECT_NEAR(*leaps_by(0).joules, 100, 1);
  EXPECT_EQ(leaps_by(1e6).fault, EnergyFault::impossible);
  EXPECT_FALSE(leaps_by(1e6).joules);
  // One that speaks once a minute, of a rack: as much is what it used.
  const auto rack =
      energy_between(counter("x"), std::vector{at(0, 0), at(60 * s, 1e6), at(120 * s, 2e6)}, 0, 120 * s);
  EXPECT_NEAR(*rack.joules, 2e6, 1);
}

// Of a region that the workload marked, `length` s long, by a counter that is renewed every `update` s and read as it is: `joules_up_to(t)`, t from
// the region's begin.
template <class JoulesUpTo>
auto energy_of_marked(const JoulesUpTo& joules_up_to, double length, double update, double phase) {
  std::vector<Reading> readings;
  for (double t = phase - 8 * update; t <= length + 8 * update; t += update)
    readings.push_back(at(nanoseconds(Seconds{10 + t}), 1000 + joules_up_to(t)));
  const Window region{10 * s, nanoseconds(Seconds{10 + length}), true};
  return EnergyCurve(counter("wall"), readings, told).over({&region, 1});
}

// A workload that computes, marks a region a moment later, ends it and goes on for a moment: within one interval of the counter lie idle power,
// the load before the mark, and the load that counts. Steps and moments of any size, some of them none.
TEST(Energy, ALoadThatBeginsBeforeItsMarkIsInTheInterval) {
  Uniform uniform(11);
  int known = 0, held = 0;
  double worst = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const double update = uniform(0.02, 0.1), length = uniform(0.5, 12) * update, idle = uniform(10, 100),
                 load = uniform(0.5, 12) * idle, lead = trial % 4 == 0 ? 0 : uniform(0, 1.5) * update,
                 tail = trial % 4 == 1 ? 0 : uniform(0, 1.5) * update, phase = uniform(0, update);
    const auto joules_up_to = [&](double t) {
      return idle * t + (load - idle) * std::clamp(t + lead, 0.0, lead + length + tail);
    };
    const auto energy = energy_of_marked(joules_up_to, length, update, phase);
    if (!energy.joules) continue;
    ++known;
    ASSERT_TRUE(energy.half_width_j);
    const double off = std::abs(*energy.joules - load * length);
    held += off <= *energy.half_width_j ? 1 : 0;
    worst = std::max(worst, (off - *energy.half_width_j) / (load * update));
  }
  EXPECT_GT(known, 1900);
  EXPECT_GE(held, known * 95 / 100);
  EXPECT_LT(worst, 0.25);
}

// A program that loads at its begin and writes at its end, at another power than in between, by a counter that is renewed so seldom that little or
// nothing is read beside it: the updates over its edges are not to be thrown away, nor taken to be as its middle.
TEST(Energy, PhasesAtTheEdgesBySlowCounterAreInTheInterval) {
  Uniform uniform(14);
  for (const double beside : {0.4, 1.2, 3.0}) {  // updates that are read on either side at the most
    int known = 0, held = 0;
    double off_by = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const double update = uniform(0.3, 1.2), length = uniform(3, 15) * update, idle = uniform(5, 30),
                   middle = uniform(1.2, 4) * idle, begin = uniform(0.3, 2.2) * middle,
                   end = uniform(0.3, 2.2) * middle, first = std::min(uniform(0, 1) * update, length / 3),
                   last = std::min(uniform(0, 1) * update, length / 3);
      const auto joules_up_to = [&](double t) {
        return idle * (t - std::clamp(t, 0.0, length)) + begin * std::clamp(t, 0.0, first) +
               middle * std::clamp(t - first, 0.0, length - first - last) +
               end * std::clamp(t - (length - last), 0.0, last);
      };
      std::vector<Reading> readings;
      const double phase = uniform(0, update);
      for (double t = phase - 10 * update; t <= length + beside * update; t += update) {
        if (t >= -beside * update)
          readings.push_back(at(nanoseconds(Seconds{20 + t}), 1000 + joules_up_to(t)));
      }
      const Window region{20 * s, nanoseconds(Seconds{20 + length}), trial % 2 == 0};
      const auto energy = EnergyCurve(counter("wall"), readings, told).over({&region, 1});
      const double truth = joules_up_to(length);
      if (!energy.joules || !energy.half_width_j) continue;
      ++known;
      held += std::abs(*energy.joules - truth) <= *energy.half_width_j ? 1 : 0;
      off_by += *energy.joules / truth - 1;
    }
    std::printf("%.1f updates beside it: %.1f %% of %d hold, %+.2f %% off in the mean\n", beside,
                100.0 * held / known, known, 100 * off_by / known);
    EXPECT_GT(known, 1000);
    EXPECT_GE(held, known * 95 / 100);
  }
}

// The same of a load that switches within the region, faster or slower than the counter is renewed: what its neighbours drew says little of a
// divided interval, so that no remainder tells how long the load was there before its mark.
TEST(Energy, ASwitchingLoadThatBeginsBeforeItsMarkIsInTheInterval) {
  Uniform uniform(12);
  for (const double leads : {0.0, 0.5, 1.0}) {
    int known = 0, held = 0;
    double width = 0, off_by = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const double update = uniform(0.02, 0.1), length = uniform(8, 40) * update, idle = uniform(5, 20),
                   load = uniform(1.5, 6) * idle, before = uniform(0.5, 1.2) * load,
                   phase = uniform(0, update), lead = leads == 0 ? 0 : uniform(leads, leads + 0.5) * update,
                   tail = leads == 0 ? 0 : uniform(leads, leads + 0.5) * update,
                   slow = uniform(0.25, 3) * update;
      std::vector<std::pair<double, double>> steps{{-1e9, idle}, {-lead, before}};  // from, W
      double true_joules = 0;
      for (double t = 0; t < length;) {
        const double watts = load * std::vector<double>{0.5, 0.8, 1, 1.2,
                                                        1.6}[static_cast<std::size_t>(uniform(0, 5))],
                     until = std::min(length, t + uniform(0.3, 1) * slow);
        steps.emplace_back(t, watts);
        true_joules += watts * (until - t);
        t = until;
      }
      steps.emplace_back(length, before);
      steps.emplace_back(length + tail, idle);
      const auto joules_up_to = [&](double t) {
        double joules = 0;
        for (std::size_t i = 0; i < steps.size() && steps[i].first < t; ++i) {
          const double from = std::max(steps[i].first, -10.0),
                       to = i + 1 < steps.size() ? std::min(t, steps[i + 1].first) : t;
          joules += steps[i].second * (to - from);
        }
        return joules;
      };
      const auto energy = energy_of_marked(joules_up_to, length, update, phase);
      if (!energy.joules) continue;
      ++known;
      ASSERT_TRUE(energy.half_width_j);
      held += std::abs(*energy.joules - true_joules) <= *energy.half_width_j ? 1 : 0;
      width += *energy.half_width_j / true_joules;
      off_by += *energy.joules / true_joules - 1;
    }
    std::printf("from %.1f updates before the mark: %.1f %% hold, %+.2f %% off in the mean, ±%.2f %%\n",
                leads, 100.0 * held / known, 100 * off_by / known, 100 * width / known);
    EXPECT_GT(known, 1900);
    EXPECT_GE(held, known * 94 / 100);
  }
}

// A workload that marks its region and computes a moment later, or is done a moment before it says so, while what else the machine does varies: of
// what an interval on the mark lacks, a quiet hour's neighbours tell that it is the load's, these do not.
TEST(Energy, ALoadThatBeginsBehindItsMarkIsInTheInterval) {
  Uniform uniform(13);
  for (const double varies : {0.0, 0.1, 0.5, 1.0}) {
    int known = 0, held = 0;
    double width = 0, off_by = 0, worst = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const double update = uniform(0.02, 0.1), length = uniform(5, 40) * update, idle = uniform(5, 30),
                   load = idle * uniform(1.3, 6), phase = uniform(0, update),
                   late = trial % 4 == 0 ? 0 : uniform(0, 0.9) * update,
                   early = trial % 4 == 1 ? 0 : uniform(0, 0.9) * update;
      std::vector<std::pair<double, double>> steps;  // from, W
      const auto outside = [&](double from, double to) {
        for (double t = from; t < to; t += uniform(0.5, 3) * update)
          steps.emplace_back(t, idle * uniform(1, 1 + varies));
      };
      outside(-12 * update, late);
      steps.emplace_back(late, load);
      outside(length - early, length + 12 * update);
      const auto joules_up_to = [&](double t) {
        double joules = 0;
        for (std::size_t i = 0; i < steps.size() && steps[i].first < t; ++i)
          joules += steps[i].second *
                    ((i + 1 < steps.size() ? std::min(t, steps[i + 1].first) : t) - steps[i].first);
        return joules;
      };
      const double true_joules = joules_up_to(length) - joules_up_to(0);
      const auto energy = energy_of_marked(joules_up_to, length, update, phase);
      if (!energy.joules) continue;
      ++known;
      ASSERT_TRUE(energy.half_width_j);
      const double off = std::abs(*energy.joules - true_joules);
      held += off <= *energy.half_width_j ? 1 : 0;
      width += *energy.half_width_j / true_joules;
      off_by += *energy.joules / true_joules - 1;
      worst = std::max(worst, (off - *energy.half_width_j) / true_joules);
    }
    std::printf(
        "others vary by %.0f %%: %.1f %% hold, %+.2f %% off in the mean, ±%.2f %%, worst %.2f %% outside\n",
        100 * varies, 100.0 * held / known, 100 * off_by / known, 100 * width / known, 100 * worst);
    EXPECT_GT(known, 1900);
    EXPECT_GE(held, known * 94 / 100);
  }
}

// A process's own first moments are known not to be what lies before it: there the same load is exact.
TEST(Energy, BesideAProcessALoadInsideIsTheInsides) {
  std::vector<Reading> readings;
  for (int i = -10; i <= 20; ++i) {
    const double t = 0.05 * i + 0.02;
    readings.push_back(at(nanoseconds(Seconds{10 + t}), 1000 + 20 * t + 80 * std::clamp(t, 0.0, 0.5)));
  }
  const auto energy = energy_between(counter("wall"), readings, 10 * s, 10 * s + 500 * ms, told);
  EXPECT_NEAR(*energy.joules, 50, 0.05);
}

// A meter of a user's own at its own pace that hung for a while and then tells all of it at once, before the trial, in it or at its end: by its
// numbers alone all of that was drawn in one moment.
TEST(Energy, WhatACounterTellsAtOnceBehindAHangIsNotTheTrials) {
  Uniform uniform(5);
  int known = 0, held = 0, over_an_edge = 0, held_over_an_edge = 0;
  double worst = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const double pace = uniform(0.02, 0.1), jitter = trial % 2 == 0 ? 0 : uniform(0, 0.2) * pace,
                 length = uniform(8, 40) * pace, idle = uniform(10, 100),
                 load = trial % 3 == 0 ? idle : uniform(0.5, 12) * idle, hangs = uniform(-1, length + 0.1),
                 until = hangs + uniform(0, 1), lost = uniform(0, 1), seen_before = uniform(0.1, 0.2);
    const auto joules_up_to = [&](double t) { return idle * t + (load - idle) * std::clamp(t, 0.0, length); };
    std::vector<Reading> readings;
    double said = 0;
    for (double t = -2 - lost * pace; t <= length + 0.15; t += pace) {
      const double at_ = t + uniform(0, jitter);
      if (at_ < hangs || at_ > until) said = joules_up_to(at_);
      if (at_ >= -seen_before - pace) readings.push_back(at(nanoseconds(Seconds{10 + at_}), 1000 + said));
    }
    const auto energy =
        energy_between(counter("wall"), readings, 10 * s, 10 * s + nanoseconds(Seconds{length}), told);
    if (!energy.joules) continue;
    ASSERT_TRUE(energy.half_width_j);
    const double off = std::abs(*energy.joules - load * length);
    const bool holds = off <= *energy.half_width_j + 1e-6 * load * length;
    ++known;
    held += holds ? 1 : 0;
    const bool an_edge = (hangs < 0 && until > 0) || (hangs < length && until > length);
    over_an_edge += an_edge ? 1 : 0;
    held_over_an_edge += an_edge && holds ? 1 : 0;
    worst = std::max(worst, (off - *energy.half_width_j) / (load * length));
  }
  EXPECT_GT(known, 1500);
  EXPECT_GT(over_an_edge, 300);
  EXPECT_GE(held, known * 95 / 100);
  EXPECT_GE(held_over_an_edge, over_an_edge * 95 / 100);
  EXPECT_LT(worst, 0.1);
}

TEST(Energy, InterpolatesTheEdges) {
  // 100 W throughout; the window lies between readings.
  EXPECT_NEAR(*energy_between(counter("p"), std::vector{at(0, 0), at(s, 100), at(2 * s, 200)}, 250 * ms,
                              1750 * ms, told)
                   .joules,
              150, 1e-9);
  EXPECT_NEAR(
      *energy_between(gauge(), std::vector{at(0, 90), at(s, 100), at(2 * s, 110)}, 500 * ms, 1500 * ms)
           .joules,
      0.5 * (95 + 100) / 2 + 0.5 * (100 + 105) / 2, 1e-9);
}

TEST(Energy, ASteadyPowerIsNoZero) {
  // The flat stretch of a monitor that repeats itself still is energy: 300 W for 10 s, idle around it.
  std::vector<Reading> readings{at(0, 20)};
  for (int i = 1; i < 100; ++i) readings.push_back(at(i * 100 * ms, 300));
  readings.push_back(at(10 * s, 300));
  readings.push_back(at(10 * s + 1, 20));
  EXPECT_NEAR(*energy_between(gauge(), readings, 0, 10 * s).joules, 300 * 9.9 + 16, 1e-6);
}

TEST(Energy, WhatRoundingLeavesIsNoEnergy) {
  std::vector<Reading> readings;
  for (int i = 0; i < 100; ++i) readings.push_back(at(i * 100 * ms, i >= 50 && i < 54 ? 0 : 97.3 + 0.1 * i));
  const auto said_nothing = energy_between(gauge(), readings, 5010 * ms, 5290 * ms, told);
  EXPECT_EQ(said_nothing.fault, EnergyFault::dead);
  EXPECT_FALSE(said_nothing.joules);
  EXPECT_NEAR(energy_between(gauge(), readings, 1000 * ms, 4000 * ms, told).joules.value_or(0), 300, 5);
}

// A plug that tells each second the mean of that second, asked five times as often: what it smears over the edges of a trial it takes out at both.
TEST(Energy, WhatAHeldMeanSmearsOverBothEdgesIsInItsHalfWidth) {
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> uniform(0, 1);
  int held = 0, known = 0;
  for (int i = 0; i < 1200; ++i) {
    // What is read of it around the trial: little where others follow at once.
    const double tail = i % 3 == 0 ? 5 : 1.2 * uniform(random);
    const double watts = 20 + 100 * uniform(random), rest = 12, seconds = 1.5 + 5 * uniform(random);
    const double begin = 5 + uniform(random), end = begin + seconds;
    const auto energy_until = [&](double t) {
      return rest * t + watts * std::clamp(t - begin, 0.0, seconds) + 0.04 * std::sin(7 * t);
    };
    std::vector<Reading> readings;
    for (double t = i % 3 == 0 ? 1 : begin - 0.4; t < end + tail; t += 0.19 + 0.02 * uniform(random)) {
      const double renewed = std::floor(t);
      const double mean = energy_until(renewed) - energy_until(renewed - 1);
      readings.push_back(at(static_cast<Nanoseconds>(1e9 * t), std::round(10 * mean) / 10));
    }
    SensorModel model;
    model.window = Seconds{1};
    model.rise = Seconds{1};
    const auto from = static_cast<Nanoseconds>(1e9 * begin), to = static_cast<Nanoseconds>(1e9 * end);
    const ChannelEnergy energy = energy_between(gauge(), readings, from, to, model);
    if (!energy.joules || !energy.half_width_j) continue;
    ++known;
    held +=
        std::abs(*energy.joules - (energy_until(end) - energy_until(begin))) <= *energy.half_width_j ? 1 : 0;
  }
  ASSERT_GT(known, 600);
  std::printf("held means: %d of %d\n", held, known);
  EXPECT_GE(held, 0.93 * known);
}

TEST(Energy, DeadFrozenGoneDeniedAndAbsentAreToldApart) {
  std::vector<Reading> zeros, frozen, gone, absent, denied, still, alive;
  for (int i = 0; i <= 20; ++i) {
    zeros.push_back(at(i * 50 * ms, 0));
    frozen.push_back(at(i * 50 * ms, 77));
    gone.push_back(i < 10 ? at(i * 50 * ms, 50 + i) : without(i * 50 * ms, ReadingStatus::gone));
    absent.push_back(without(i * 50 * ms, ReadingStatus::absent));
    denied.push_back(without(i * 50 * ms, ReadingStatus::denied));
    still.push_back(at(i * 50 * ms, 123));
    alive.push_back(at(i * 50 * ms, 50 + i));
  }
  EXPECT_EQ(energy_between(gauge(), zeros, 0, s).fault, EnergyFault::dead);
  EXPECT_EQ(energy_between(gauge(), frozen, 0, s).fault, EnergyFault::frozen);
  EXPECT_EQ(energy_between(gauge(), gone, 0, s).fault, EnergyFault::gone);
  EXPECT_EQ(energy_between(gauge(), absent, 0, s).fault, EnergyFault::absent);
  EXPECT_EQ(energy_between(gauge(), denied, 0, s).fault, EnergyFault::denied);
  EXPECT_EQ(energy_between(counter("psys"), still, 0, s).fault, EnergyFault::dead);
  EXPECT_EQ(energy_between(gauge(), {}, 0, s).fault, EnergyFault::absent);
  // Of nothing: that is no fault of the sensor's.
  EXPECT_EQ(energy_between(gauge(), alive, s / 2, s / 2).fault, EnergyFault::none);
  EXPECT_FALSE(energy_between(gauge(), alive, s / 2, s / 2).joules);
  for (const auto& readings : {zeros, frozen, gone, absent, denied})
    EXPECT_FALSE(energy_between(gauge(), readings, 0, s).joules);
}

TEST(Energy, AMeterThatDiesMidwayIsNoBargain) {
  std::vector<Reading> readings;
  for (int i = 0; i <= 100; ++i) readings.push_back(at(i * 10 * ms, i > 30 && i < 99 ? 0.0 : 50 + i % 3));
  const auto energy = energy_between(gauge(), readings, 0, s);
  EXPECT_EQ(energy.fault, EnergyFault::dead);
  EXPECT_FALSE(energy.joules);
}

TEST(Energy, ACounterThatDiesMidwayIsNoBargainEither) {
  std::vector<Reading> readings;
  for (int i = 0; i <= 30; ++i) readings.push_back(at(i * 100 * ms, 5.0 * std::min(i, 12)));
  EXPECT_EQ(energy_between(counter("package-0"), readings, 0, 3 * s).fault, EnergyFault::dead);
}

TEST(Energy, AMeterThatSpeaksWhenItLikesLosesNothingAtTheEdges) {
  // A 50 W counter read every 100 ms, the window 70 ms longer on both sides.
  std::vector<Reading> readings;
  for (int i = 1; i <= 10; ++i) readings.push_back(at(i * 100 * ms, 5.0 * i));
  EXPECT_NEAR(*energy_between(counter("wall"), readings, 30 * ms, 1070 * ms, told).joules, 52, 1e-9);
}

TEST(Energy, AHoleInTheMiddleIsNotBridged) {
  std::vector<Reading> readings;
  for (int i = 0; i <= 100; ++i) {
    if (i > 20 && i < 60) continue;
    readings.push_back(at(i * 10 * ms, 50 + i % 3));
  }
  EXPECT_EQ(energy_between(gauge(), readings, 0, s).fault, EnergyFault::gap);
}

TEST(Energy, AShortTrialWithAStuckCounterIsNotZeroJoules) {
  const std::vector<Reading> stuck{at(0, 55), at(100 * ms, 55), at(200 * ms, 55)};
  const auto energy = energy_between(counter("package-0"), stuck, 0, 200 * ms);
  EXPECT_EQ(energy.fault, EnergyFault::gap);
  EXPECT_FALSE(energy.joules);
}

TEST(Energy, ACounterThatWasResetDidNotWrap) {
  // 262 kJ in a second is no machine but a suspend, or a module loaded anew.
  std::vector<Reading> readings;
  for (int i = 0; i <= 20; ++i) readings.push_back(at(i * 100 * ms, i < 10 ? 100.0 + i : i - 10.0));
  EXPECT_EQ(energy_between(counter("package-0", 262143.3), readings, 0, 2 * s).fault,
            EnergyFault::counter_went_back);
}

TEST(Energy, AMeterOfOneReadingASecondSaysHowLittleItKnows) {
  const std::vector<Reading> slow{at(0, 100), at(1 * s, 150), at(2 * s, 140)};
  const auto energy = energy_between(gauge(), slow, 200 * ms, 1700 * ms);
  ASSERT_TRUE(energy.joules);
  // Over how long each of them is a mean is not known: what came and went in between may be anything.
  EXPECT_FALSE(energy.half_width_j);
  EXPECT_EQ(energy.unresolved, Unresolved::window_unknown);
  SensorModel model;
  model.window = Seconds{1};
  EXPECT_GT(*energy_between(gauge(), slow, 200 * ms, 1700 * ms, model).half_width_j, 10);
  model.window = Seconds{0.1};
  EXPECT_EQ(energy_between(gauge(), slow, 200 * ms, 1700 * ms, model).unresolved, Unresolved::window_short);
}

TEST(Energy, AGaugeThatAnswersWithWhatIsNowIsKnownFromLooksAtRandomTimesOnly) {
  // Renewed faster than it can be read; a load of 100 ms that is on for half of each.
  const auto watts = [](double time) { return std::fmod(time, 0.1) < 0.05 ? 300.0301 : 100.0103; };
  SensorModel model;
  model.update = Seconds{0.002};
  model.at_least = true;
  model.window = Seconds{0};
  std::vector<Reading> on_a_grid, at_random;
  std::uint32_t state = 7;
  for (int i = 0; i <= 200; ++i) {
    // Each look a little later than planned, all of them where the load is on.
    on_a_grid.push_back(at(i * 100 * ms + 10 * ms, watts(i * 0.1 + 0.01) + i % 3));
    state = state * 1664525u + 1013904223u;
    const double off = (static_cast<double>(state >> 8) / (1 << 24) - 0.5) * 0.04;
    const double time = i * 0.05 + off + 0.02;
    at_random.push_back(at(static_cast<Nanoseconds>(time * 1e9), watts(time)));
  }
  EXPECT_EQ(energy_between(gauge(), on_a_grid, s, 9 * s, model).unresolved, Unresolved::window_short);
  // That it is of now has to be known: a value that is smoothed over seconds is new at each look as well.
  SensorModel not_looked_at = model;
  not_looked_at.window.reset();
  EXPECT_EQ(energy_between(gauge(), at_random, s, 9 * s, not_looked_at).unresolved,
            Unresolved::window_unknown);
  const auto energy = energy_between(gauge(), at_random, s, 9 * s, model);
  ASSERT_TRUE(energy.half_width_j);
  EXPECT_NEAR(*energy.joules, 1600, *energy.half_width_j);
  EXPECT_LT(*energy.half_width_j, 200);
}

// Two seconds of look: 0.6 s at rest, then load; every channel read each 10 ms.
std::vector<Reading> look(std::uint32_t channel, double (*value)(double)) {
  std::vector<Reading> readings;
  for (int i = 0; i <= 200; ++i) readings.push_back(at(i * 10 * ms, value(0.01 * i), channel));
  return readings;
}

TEST(SensorAudit, TellsStatesRisesAndWhetherPartsFitTheirWholes) {
  const std::vector<Channel> channels{gauge("system"), counter("package-0", {}, "psys"), counter("psys"),
                                      gauge("rail")};
  std::vector<Reading> readings;
  const auto add = [&](const std::vector<Reading>& more) {
    readings.insert(readings.end(), more.begin(), more.end());
  };
  // A gauge renewed every 50 ms that follows a step from 50 to 150 W at 0.6 s within 0.4 s.
  add(look(0, [](double t) {
    const double tick = 0.05 * std::floor(t / 0.05 + 1e-9);
    return 50 + 100 * std::clamp((tick - 0.6) / 0.4, 0.0, 1.0) + 0.001 * tick;
  }));
  add(look(1, [](double t) { return 80 * t; }));
  add(look(2, [](double t) { return 60 * t; }));  // less than the package that it holds
  add(look(3, [](double) { return 0.0; }));
  const auto audit = audit_sensors(channels, readings, 0, 2 * s, 600 * ms);
  EXPECT_EQ(audit.of(0)->state, SensorState::alive);
  EXPECT_NEAR(audit.of(0)->update->value(), 0.05, 1e-6);
  EXPECT_NEAR(audit.of(0)->rise->value(), 0.36, 0.05);
  EXPECT_EQ(audit.of(3)->state, SensorState::dead);
  ASSERT_EQ(audit.agreements.size(), 1U);
  EXPECT_TRUE(audit.agreements[0].impossible());
  EXPECT_EQ(agreement_text(audit.agreements[0], channels),
            "c:package-0 is 133.3 % of c:psys, which holds it: one of them is wrong");
}

// Looks hardly denser than a counter is renewed (an analyser that is asked in its own interval) find a new value at two of three: by that it is known
// how often there is one, and trials that are looked at ten times more seldom have energies that hold.
TEST(SensorAudit, KnowsHowOftenACounterIsRenewedAtLooksThatAreHardlyDenser) {
  Uniform uniform(14);
  int held = 0;
  constexpr int nights = 400;
  for (int night = 0; night < nights; ++night) {
    const double update = uniform(0.05, 0.3), look = uniform(0.5, 1.5) * update, phase = uniform(0, update),
                 idle = uniform(3, 20), load = idle * uniform(1.5, 12);
    const auto value_at = [&](double t, double begins, double ends) {
      const double renewed = std::floor((t - phase) / update) * update + phase;
      return 1000 + idle * renewed + (load - idle) * std::clamp(renewed - begins, 0.0, ends - begins);
    };
    std::vector<Reading> readings;
    for (int i = 0; i < 17; ++i)
      readings.push_back(at(nanoseconds(Seconds{10 + look * i}), value_at(look * i, 1e6, 2e6)));
    const auto audit = audit_sensors(std::vector{counter("wall")}, readings, 10 * s,
                                     nanoseconds(Seconds{10 + 17 * look}), {});
    ASSERT_TRUE(audit.of(0)->update) << look / update;
    EXPECT_GT(audit.of(0)->update->value(), 0.85 * update) << look / update;
    EXPECT_LT(audit.of(0)->update->value(), 1.2 * std::max(look, update)) << look / update;
    const double length = uniform(8, 30) * update;
    std::vector<Reading> trial;
    for (double t = -uniform(0, 1) * update; t < length + 13 * update; t += uniform(6, 14) * update)
      trial.push_back(at(nanoseconds(Seconds{10 + t}), value_at(t, 0, length)));
    SensorModel model;
    model.update = audit.of(0)->update;
    model.at_least = audit.of(0)->at_least;
    const auto energy =
        energy_between(counter("wall"), trial, 10 * s, nanoseconds(Seconds{10 + length}), model);
    held += energy.joules && energy.half_width_j &&
                    std::abs(*energy.joules - load * length) > *energy.half_width_j
                ? 0
                : 1;
  }
  EXPECT_GE(held, nights * 95 / 100);
}

TEST(SensorAudit, WhatIsNotKnownOfAGaugeHasNoHalfWidthAndAProgramIsHeardAtItsOwnPace) {
  std::vector<Channel> channels{gauge("system"), gauge("rail"), counter("package-0"), gauge("wall")};
  channels[1].averages_over_s = 0.1;
  channels[2].told_when_new = channels[3].told_when_new = true;
  std::vector<Reading> readings;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    for (const Reading& reading :
         i == 2 ? look(i, [](double t) { return 60 * t; }) : look(i, [](double) { return 50.0; }))
      readings.push_back(reading);
  }
  auto audit = audit_sensors(channels, readings, 0, 2 * s, {});
  for (const ChannelAudit& one : audit.channels) EXPECT_TRUE(one.half_width_j) << one.channel;
  const auto mine = of_channel(readings, 2);
  EXPECT_NEAR(audit.of(2)->told_every->value(),
              seconds(mine.back().time - mine.front().time).value() / static_cast<double>(mine.size() - 1),
              1e-9);
  EXPECT_FALSE(audit.of(0)->told_every);
  leave_what_is_known(audit, channels);
  EXPECT_FALSE(audit.of(0)->half_width_j);
  EXPECT_TRUE(audit.of(1)->half_width_j);
  EXPECT_TRUE(audit.of(2)->half_width_j);
  EXPECT_FALSE(audit.of(3)->half_width_j);
  audit.channels[3].window = Seconds{0.02};  // a load has shown it
  audit.channels[3].half_width_j = 1;
  leave_what_is_known(audit, channels);
  EXPECT_TRUE(audit.of(3)->half_width_j);
}

// A program's counter whose lines are held up now and then, each by another time: it keeps its pace, and its lines do not.
TEST(Energy, LinesThatAreHeldUpSayByHowMuch) {
  for (const double share : {0.05, 0.2, 0.5}) {
    for (const double most : {0.3, 0.9}) {
      Uniform uniform(41);
      int known = 0, held = 0;
      double half_width = 0;
      for (int trial = 0; trial < 2000; ++trial) {
        const double every = 0.01, idle = uniform(5, 60), watts = idle + uniform(5, 200),
                     length = uniform(0.1, 0.4), phase = uniform(0, every);
        const auto joules = [&](double t) {
          return 100 + idle * (t + 1) + (watts - idle) * std::clamp(t, 0.0, length);
        };
        std::vector<Reading> readings;
        double before = -10;
        for (double n = -30; n * every + phase < length + 0.3; ++n) {
          const double t = n * every + phase, held_up = uniform(0, 1) < share ? uniform(0, most) * every : 0;
          before = std::max(t + held_up, before + 1e-5);
          readings.push_back(at(nanoseconds(Seconds{10 + before}), joules(t)));
        }
        const double used = watts * length;
        const auto energy =
            energy_between(counter("wall"), readings, 10 * s, nanoseconds(Seconds{10 + length}), told);
        if (!energy.joules) continue;
        ++known;
        half_width += *energy.half_width_j / used;
        held += std::abs(*energy.joules - used) <= *energy.half_width_j ? 1 : 0;
      }
      EXPECT_EQ(known, 2000);
      EXPECT_GE(held, known * 95 / 100) << share << " " << most;
      EXPECT_LT(half_width / known, 0.06) << share << " " << most;
      std::printf("%g of the lines up to %g paces late: %d of %d hold, ±%.2f %%\n", share, most, held, known,
                  100 * half_width / known);
    }
  }
}

}  // namespace
}  // namespace dvfs_plan
