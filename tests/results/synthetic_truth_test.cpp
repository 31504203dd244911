// Known power shapes through the real way from sampler to joules, in virtual time: a simulated sensor renews
// its value on a grid of its own, the sampler reads it at the rate the audit would choose, and the energy of
// a window that lies off every grid is compared with the integral of the shape itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "probes/sampled_probe.hpp"
#include "results/energy/energy_curve.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan {
namespace {

// Power over time: steps of constant power.
class Shape {
 public:
  void add(double until, double watts) {
    const double from = times_.empty() ? 0 : times_.back();
    joules_.push_back((joules_.empty() ? 0 : joules_.back()) + watts * (until - from));
    times_.push_back(until);
    watts_.push_back(watts);
  }
  double power(double t) const { return watts_[at(t)]; }
  double joules(double t) const {
    const std::size_t i = at(t);
    return joules_[i] - watts_[i] * (times_[i] - t);
  }

 private:
  std::size_t at(double t) const {
    const auto found = std::lower_bound(times_.begin(), times_.end(), t);
    return std::min<std::size_t>(static_cast<std::size_t>(found - times_.begin()), times_.size() - 1);
  }
  std::vector<double> times_, watts_, joules_;
};

enum class Kind { counter, averaging_gauge, instant_gauge };

struct Sensor {
  Kind kind = Kind::counter;
  double update = 0.1, phase = 0, resolution = 1e-3, noise = 0;
  std::optional<double> wraps_at;
};

class SimulatedProbe : public Probe {
 public:
  SimulatedProbe(const Shape& shape, const Sensor& sensor, double period, const VirtualClock& clock,
                 std::uint64_t seed)
      : shape_(shape), sensor_(sensor), period_(period), clock_(clock), random_(seed) {
    Channel channel{};
    channel.name = "sim";
    channel.unit = sensor.kind == Kind::counter ? "J" : "W";
    channel.kind = sensor.kind == Kind::counter ? ChannelKind::counter : ChannelKind::gauge;
    channel.wraps_at = sensor.wraps_at;
    channels_.push_back(channel);
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{period_}; }
  void read(std::span<Sample> samples) override {
    const double now = seconds(clock_.now()).value();
    const auto tick = static_cast<long>(std::floor((now - sensor_.phase) / sensor_.update));
    if (tick != tick_) value_ = fresh(static_cast<double>(tick) * sensor_.update + sensor_.phase);
    tick_ = tick;
    samples[0] = {value_, ReadingStatus::ok};
  }

 private:
  double fresh(double t) {
    double value = shape_.power(t);
    if (sensor_.kind == Kind::counter) value = shape_.joules(t) + 5;
    if (sensor_.kind == Kind::averaging_gauge)
      value = (shape_.joules(t) - shape_.joules(t - sensor_.update)) / sensor_.update;
    if (sensor_.kind != Kind::counter)
      value *= 1 + sensor_.noise * std::normal_distribution<double>()(random_);
    value = std::round(value / sensor_.resolution) * sensor_.resolution;
    return sensor_.wraps_at ? std::fmod(value, *sensor_.wraps_at) : value;
  }
  std::string name_ = "sim";
  const Shape& shape_;
  Sensor sensor_;
  double period_;
  const VirtualClock& clock_;
  std::mt19937_64 random_;
  std::vector<Channel> channels_;
  long tick_ = -1'000'000;
  double value_ = 0;
};

struct Case {
  const char* shape_name = "";
  Shape shape;
  Sensor sensor;
  double look = 0.05, from = 0, to = 0;
  double stall_from = 0, stall_to = 0;  // the reader does not come
  std::uint64_t seed = 0;
};

// Runs the real sampler in virtual time over the case, one update ahead of the window and one behind it.
ChannelEnergy measure(const Case& c) {
  VirtualClock clock;
  SampledProbe sampled(std::make_unique<SimulatedProbe>(c.shape, c.sensor, c.look, clock, c.seed), 0, clock);
  clock.sleep_until(nanoseconds(Seconds{c.from - 1.5 * c.sensor.update}));
  sampled.begin();
  const Nanoseconds end = nanoseconds(Seconds{c.to + 1.5 * c.sensor.update});
  while (sampled.due() < end) {
    clock.sleep_until(sampled.due());
    const double now = seconds(clock.now()).value();
    if (now > c.stall_from && now < c.stall_to) clock.sleep_until(nanoseconds(Seconds{c.stall_to}));
    sampled.read_due(clock.now());
  }
  clock.sleep_until(end);
  sampled.read();
  const auto readings = sampled.take();
  SensorModel model;
  model.update = Seconds{c.sensor.update};
  if (c.sensor.kind == Kind::averaging_gauge) model.window = Seconds{c.sensor.update};
  return energy_between(sampled.channels()[0], readings, nanoseconds(Seconds{c.from}),
                        nanoseconds(Seconds{c.to}), model);
}

Case draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto one_of = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  Case c;
  c.seed = seed;
  const double updates[] = {0.001, 0.01, 0.02, 0.1};
  c.sensor.update = updates[one_of(4)];
  c.sensor.kind = static_cast<Kind>(one_of(3));
  c.sensor.phase = uniform(0, c.sensor.update);
  if (c.sensor.kind != Kind::counter && one_of(2) == 0) c.sensor.noise = uniform(0.002, 0.02);
  if (c.sensor.kind == Kind::counter && one_of(3) == 0) c.sensor.wraps_at = uniform(3000, 6000);
  c.look =
      c.sensor.update / (one_of(3) == 0 ? 5 : 2);  // repeats: the rate the audit chooses, and a faster one
  const double idle = uniform(20, 120), busy = uniform(200, 700), other = uniform(150, 700);
  c.from = 3 + uniform(0, 1);
  c.to = c.from + uniform(3, 12);
  const double end = c.to + 5;
  switch (one_of(6)) {
    case 0:
      c.shape_name = "flat";
      c.shape.add(end, busy);
      // A gauge that says the very same all the time is frozen, for all one can know.
      if (c.sensor.kind != Kind::counter) c.sensor.noise = uniform(0.002, 0.02);
      break;
    case 1:
      c.shape_name = "load";  // as a trial is: idle, the workload in the window, idle
      c.shape.add(c.from, idle);
      c.shape.add(c.to, busy);
      c.shape.add(end, idle);
      break;
    case 2: {
      c.shape_name = "step";  // somewhere in the window
      c.shape.add(c.from + uniform(0.2, 0.8) * (c.to - c.from), busy);
      c.shape.add(end, other);
      break;
    }
    case 3: {
      c.shape_name = "pulses";  // shorter than the update
      double t = 0;
      while (t < end) {
        c.shape.add(t += uniform(1, 6) * c.sensor.update, idle);
        c.shape.add(t += uniform(0.2, 0.8) * c.sensor.update, busy);
      }
      break;
    }
    case 4: {
      c.shape_name = "square";
      double t = uniform(0, 1);
      c.shape.add(t, idle);
      const double period = uniform(0.3, 1.5);
      while (t < end) {
        c.shape.add(t += period / 2, busy);
        c.shape.add(t += period / 2, idle);
      }
      break;
    }
    default: {
      c.shape_name = "noise";  // of the power itself
      for (double t = 0; t < end; t += 0.03)
        c.shape.add(t, std::max(10.0, busy * (1 + 0.05 * std::normal_distribution<double>()(random))));
      break;
    }
  }
  if (one_of(6) == 0) {
    c.stall_from = uniform(c.from, c.to - 0.5);
    c.stall_to = c.stall_from + uniform(0.05, 0.4);
  }
  return c;
}

double truth(const Case& c) {
  return c.shape.joules(c.to) - c.shape.joules(c.from);
}

TEST(SyntheticTruth, TheHalfWidthCoversAThousandSeededCases) {
  struct Tally {
    int cases = 0, covered = 0;
    double half_width = 0, error = 0;
  };
  std::map<std::string, Tally> of_shape;
  std::map<int, Tally> of_kind;
  Tally all;
  int unknown = 0, unstated = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Case c = draw(seed);
    const ChannelEnergy energy = measure(c);
    if (!energy.joules) {
      // Only a long stall of the reader may leave a gauge's window unknown.
      EXPECT_EQ(energy.fault, EnergyFault::gap) << "seed " << seed;
      EXPECT_GT(c.stall_to, 0) << "seed " << seed;
      ++unknown;
      continue;
    }
    // What a gauge of the moment says on a grid of its own has no half-width: pulses may hide between its
    // values.
    ASSERT_EQ(energy.half_width_j.has_value(), c.sensor.kind != Kind::instant_gauge) << "seed " << seed;
    if (!energy.half_width_j) {
      ++unstated;
      continue;
    }
    const double error = std::abs(*energy.joules - truth(c));
    const bool covered = error <= *energy.half_width_j + 1e-9;
    // What the model calls good to 1 % is good to 1 %.
    if (*energy.half_width_j <= 0.01 * truth(c)) {
      EXPECT_LE(error, 0.01 * truth(c)) << c.shape_name << ", seed " << seed;
    }
    if (!covered && std::getenv("SHOW") != nullptr)
      std::printf(
          "seed %lu %s kind %d update %g look %g noise %g error %.3g half %.3g of %.4g, fresh %d stall %g\n",
          seed, c.shape_name, static_cast<int>(c.sensor.kind), c.sensor.update, c.look, c.sensor.noise,
          *energy.joules - truth(c), *energy.half_width_j, truth(c), energy.fresh, c.stall_to - c.stall_from);
    for (Tally* tally : {&all, &of_shape[c.shape_name], &of_kind[static_cast<int>(c.sensor.kind)]}) {
      ++tally->cases;
      tally->covered += covered ? 1 : 0;
      tally->half_width += *energy.half_width_j / truth(c);
      tally->error += error / truth(c);
    }
  }
  for (const auto& [name, t] : of_shape) {
    std::printf("%-7s %4d cases, %5.1f %% covered, mean half-width %.3f %%, mean error %.3f %%\n",
                name.c_str(), t.cases, 100.0 * t.covered / t.cases, 100 * t.half_width / t.cases,
                100 * t.error / t.cases);
    EXPECT_GE(t.covered, 0.93 * t.cases) << name;
  }
  for (const auto& [kind, t] : of_kind) {
    const char* names[] = {"counters", "averaging gauges", "instant gauges"};
    std::printf("%s: %d cases, %.1f %% covered, mean half-width %.3f %%, mean error %.3f %%\n", names[kind],
                t.cases, 100.0 * t.covered / t.cases, 100 * t.half_width / t.cases, 100 * t.error / t.cases);
    EXPECT_GE(t.covered, 0.93 * t.cases) << names[kind];
  }
  std::printf("all     %4d cases, %5.1f %% covered; %d not known, of %d nothing stated\n", all.cases,
              100.0 * all.covered / all.cases, unknown, unstated);
  EXPECT_GE(all.covered, 0.93 * all.cases);
  EXPECT_GE(all.cases + unstated, 950);
  EXPECT_GE(all.cases, 600);
  // A half-width that is always far too wide covers everything and says nothing.
  for (const char* steady : {"flat", "load", "step", "noise"})
    EXPECT_LT(of_shape[steady].half_width / of_shape[steady].cases, 0.01) << steady;
}

TEST(SyntheticTruth, ASinglePulseBetweenTwoLooksOfAnInstantGaugeIsBeyondKnowing) {
  // Said here so that nobody takes the coverage above for more than it is: the sensor never saw the pulse.
  Case c;
  c.sensor = {Kind::instant_gauge, 0.1, 0.013, 1e-3, 0, {}};
  c.from = 3.2;
  c.to = 6.7;
  c.shape.add(4.0, 100);
  c.shape.add(4.01, 600);
  c.shape.add(12, 100);
  c.shape_name = "pulse";
  const ChannelEnergy energy = measure(c);
  EXPECT_EQ(energy.fault, EnergyFault::frozen);  // one value throughout: nothing is claimed
  c.sensor.kind = Kind::counter;
  EXPECT_NEAR(*measure(c).joules, truth(c), 0.01 * truth(c));
  c.sensor.kind = Kind::averaging_gauge;
  EXPECT_NEAR(*measure(c).joules, truth(c), 0.01 * truth(c));
}

}  // namespace
}  // namespace dvfs_plan
