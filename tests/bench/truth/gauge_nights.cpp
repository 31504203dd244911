#include "tests/bench/truth/gauge_nights.hpp"

#include <cmath>
#include <memory>

#include "probes/gpu/cuda_load.hpp"
#include "probes/sampled_probe.hpp"
#include "results/energy/sensor_audit.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan::truth {
namespace {

constexpr double update = 0.1;  // s

// What the gauge is made to be: its window, how late it is, and whether it has a grid.
struct Kind {
  double window, latency, phase, noise;
  bool of_now;
};

class GaugeProbe : public Probe {
 public:
  GaugeProbe(const Power& power, const Kind& kind, VirtualClock& clock, std::uint64_t seed)
      : power_(power), kind_(kind), clock_(clock), draw_(seed) {
    channels_.push_back(gauge("gpu-0"));
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{update / 2}; }
  void read(std::span<Sample> samples) override {
    const double now = seconds(clock_.now()).value();
    const auto tick = static_cast<long>(std::floor((now - kind_.phase) / update));
    if (kind_.of_now || tick != tick_) {
      tick_ = tick;
      const double of =
          (kind_.of_now ? now : kind_.phase + static_cast<double>(tick) * update) - kind_.latency;
      value_ = power_.mean(of - std::max(kind_.window, 1e-3), of) * (1 + kind_.noise * draw_.normal());
    }
    samples[0] = {value_, ReadingStatus::ok, {}};
    clock_.sleep_until(clock_.now() + nanoseconds(Seconds{0.0003}));
  }

 private:
  std::string name_ = "gauge";
  const Power& power_;
  const Kind& kind_;
  VirtualClock& clock_;
  Draw draw_;
  std::vector<Channel> channels_;
  long tick_ = -1000000;
  double value_ = 0;
};

std::vector<Reading> read_until(SampledProbe& sampled, VirtualClock& clock, double end) {
  sampled.begin();
  const Nanoseconds until = nanoseconds(Seconds{end});
  while (sampled.due() < until) {
    clock.sleep_until(sampled.due());
    sampled.read_due(clock.now());
  }
  clock.sleep_until(until);
  sampled.read();
  return sampled.take();
}

SampledProbe sampled_gauge(const Power& power, const Kind& kind, VirtualClock& clock, std::uint64_t seed) {
  return {std::make_unique<GaugeProbe>(power, kind, clock, seed), 0, clock};
}

// As orchestrator/sensors does before a night: looks every 2 ms while a load comes and goes.
SensorModel looked_at(const Kind& kind, bool loaded, std::uint64_t seed) {
  Draw draw(seed);
  VirtualClock clock;
  Power power(0.001);
  std::vector<Window> on;
  double time = 0.6;
  bool busy = true;
  const double idle = draw.uniform(50, 100), load = draw.uniform(200, 600);
  std::vector<std::pair<double, bool>> turns{{0.6, false}};
  for (const Seconds turn : random_turns(Seconds{5}, seed)) {
    if (busy) on.push_back({nanoseconds(Seconds{time}), nanoseconds(Seconds{time + turn.value()})});
    time += turn.value();
    turns.emplace_back(time, busy);
    busy = !busy;
  }
  std::size_t turn = 0;
  for (double t = 0; t < time + 0.5; t += 0.001) {
    while (turn + 1 < turns.size() && t >= turns[turn].first) ++turn;
    power.add((turns[turn].second && t < turns[turn].first ? load : idle) * (1 + 0.01 * draw.normal()));
  }
  SampledProbe sampled = sampled_gauge(power, kind, clock, seed + 1);
  sampled.set_period(Seconds{0.002});
  clock.sleep_until(nanoseconds(Seconds{0.1}));
  const auto readings = read_until(sampled, clock, time + 0.4);
  const auto from = readings.front().time, to = readings.back().time;
  SensorAudit audit = audit_sensors(sampled.channels(), readings, from, to, std::nullopt);
  if (loaded) audit_response(audit.channels[0], sampled.channels()[0], readings, on);
  SensorModel model;
  model.update = audit.channels[0].update;
  model.at_least = audit.channels[0].at_least;
  model.rise = audit.channels[0].rise;
  model.window = audit.channels[0].window;
  model.latency = audit.channels[0].latency;
  return model;
}

}  // namespace

std::string to_string(Gauge gauge) {
  const char* names[] = {"a mean over its update", "a mean over ten updates",
                         "a mean over a quarter of its update", "a sample an update",
                         "a sample at each look"};
  return names[static_cast<int>(gauge)];
}

std::optional<GaugeOutcome> measure_gauge(const GaugeConditions& conditions, std::uint64_t seed) {
  Draw draw(seed * 1000003);
  Kind kind{0, draw.uniform(0, 0.2) * update, draw.uniform(0, update), draw.uniform(0.001, 0.01),
            conditions.gauge == Gauge::of_now};
  if (conditions.gauge == Gauge::mean) kind.window = update;
  if (conditions.gauge == Gauge::long_mean) kind.window = 10 * update;
  if (conditions.gauge == Gauge::quarter) kind.window = update / 4;
  if (kind.of_now) kind.latency = 0.002;
  const SensorModel model = looked_at(kind, conditions.loaded, seed * 1000003 + 5);
  const Night night = draw.night(conditions.load, update, draw.uniform(30, 200));
  VirtualClock clock;
  SampledProbe sampled = sampled_gauge(night.power, kind, clock, seed * 1000003 + 9);
  constexpr double lead = 2.5;
  clock.sleep_until(nanoseconds(Seconds{night.begins - lead * update}));
  const auto readings = read_until(sampled, clock, night.ends + lead * update);
  const ChannelEnergy energy = EnergyCurve(sampled.channels()[0], readings, model).over(night.windows);
  if (!energy.joules) return std::nullopt;
  return GaugeOutcome{night.truth(), *energy.joules, energy.half_width_j};
}

}  // namespace dvfs_plan::truth
