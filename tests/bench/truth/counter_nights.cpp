#include "tests/bench/truth/counter_nights.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "probes/sampled_probe.hpp"
#include "results/energy/energy_curve.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan::truth {
namespace {

class Counters : public Probe {
 public:
  Counters(const Night& night, const CounterConditions& conditions, VirtualClock& clock, std::uint64_t seed)
      : night_(night), conditions_(conditions), clock_(clock), draw_(seed) {
    channels_.push_back(counter("gpu-0"));
    next_ = draw_.uniform(0, conditions.update) - conditions.update;
    renew();
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override {
    return Seconds{conditions_.update * (conditions_.look > 0 ? conditions_.look : 0.2)};
  }
  void read(std::span<Sample> samples) override {
    const double cost = conditions_.update * conditions_.read_cost.value_or(0.04) * draw_.uniform(0.8, 1.2);
    const Nanoseconds begun = clock_.now();
    clock_.sleep_until(begun + nanoseconds(Seconds{cost * draw_.uniform(0, 1)}));
    while (seconds(clock_.now()).value() >= visible_) renew();
    samples[0] = {value_, ReadingStatus::ok, {}};
    clock_.sleep_until(begun + nanoseconds(Seconds{cost}));
    ++looks;
  }
  int looks = 0;

 private:
  void renew() {
    const double update = conditions_.update;
    value_ = coming_;
    coming_ = std::round(1e3 * (1000 + night_.power.joules(next_ - update * draw_.uniform(0, 0.1)))) / 1e3;
    visible_ = next_ + 0.01 * update * std::abs(draw_.normal());
    next_ += update;
  }
  std::string name_ = "counter";
  const Night& night_;
  const CounterConditions& conditions_;
  VirtualClock& clock_;
  Draw draw_;
  std::vector<Channel> channels_;
  double next_ = 0, visible_ = 0, value_ = 0, coming_ = 1000;
};

}  // namespace

Outcome measure_counters(const CounterConditions& conditions, std::uint64_t seed) {
  Outcome outcome;
  outcome.joules = 0;
  double squares = 0;
  for (int board = 0; board < conditions.boards; ++board) {
    const std::uint64_t mine = seed * 1000003 + static_cast<std::uint64_t>(board) * 7919;
    Draw draw(mine);
    const double update = conditions.update;
    const Night night = draw.night(conditions.load, update, conditions.region);
    VirtualClock clock;
    auto probe = std::make_unique<Counters>(night, conditions, clock, mine + 17 + 104729 * conditions.phase);
    Counters& counters = *probe;
    SampledProbe sampled(std::move(probe), 0, clock);
    SensorModel model;
    model.update = Seconds{update * (1 + 0.002 * draw.normal())};
    model.lag = Seconds{0.1 * update};
    if (conditions.look == 0) sampled.follow(0, *model.update);
    constexpr double lead = 2.5;
    clock.sleep_until(nanoseconds(Seconds{night.begins - lead * update}));
    sampled.begin();
    const Nanoseconds end = nanoseconds(Seconds{night.ends + lead * update});
    while (sampled.due() < end) {
      clock.sleep_until(sampled.due());
      // On a busy machine the thread that looks wakes late now and then.
      constexpr double late = 0.05, latest = 0.4;
      if (draw.uniform(0, 1) < late)
        clock.sleep_until(clock.now() + nanoseconds(Seconds{update * draw.uniform(0, latest)}));
      sampled.read_due(clock.now());
    }
    clock.sleep_until(end);
    sampled.read();
    const auto readings = sampled.take();
    outcome.looks += counters.looks;
    outcome.updates += (night.ends - night.begins) / update + 2 * lead;
    outcome.truth += night.truth();
    const ChannelEnergy energy = EnergyCurve(sampled.channels()[0], readings, model).over(night.windows);
    if (!energy.joules || !outcome.joules) {
      outcome.joules.reset();
      continue;
    }
    *outcome.joules += *energy.joules;
    squares += *energy.half_width_j * *energy.half_width_j;
    outcome.systematic += *energy.systematic_j;
  }
  outcome.half_width = std::sqrt(squares);
  return outcome;
}

Outcome measure_mean(CounterConditions conditions, std::uint64_t seed, int trials) {
  Outcome mean;
  double joules = 0, squares = 0;
  bool known = true;
  for (int trial = 0; trial < trials; ++trial) {
    conditions.phase = static_cast<std::uint64_t>(trial);
    const Outcome one = measure_counters(conditions, seed);
    known = known && one.joules;
    joules += one.joules.value_or(0) / trials;
    mean.truth += one.truth / trials;
    mean.systematic += one.systematic / trials;
    squares += std::max(0.0, one.half_width * one.half_width - one.systematic * one.systematic);
    mean.looks += one.looks;
    mean.updates += one.updates;
  }
  if (known) mean.joules = joules;
  mean.half_width = std::hypot(std::sqrt(squares) / trials, mean.systematic);
  return mean;
}

}  // namespace dvfs_plan::truth
