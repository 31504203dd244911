#include "tests/bench/truth/counter_nights.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "probes/sampler.hpp"
#include "results/energy/energy_curve.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan::truth {
namespace {

// Energy over time, from power on a fine grid.
class Power {
 public:
  explicit Power(double step) : step_(step) {}
  void add(double watts) { joules_.push_back(joules_.back() + watts * step_); }
  double length() const { return step_ * static_cast<double>(joules_.size() - 1); }
  double joules(double t) const {
    const double at = std::clamp(t / step_, 0.0, static_cast<double>(joules_.size() - 1));
    const auto i = std::min(static_cast<std::size_t>(at), joules_.size() - 2);
    return joules_[i] + (at - static_cast<double>(i)) * (joules_[i + 1] - joules_[i]);
  }

 private:
  double step_;
  std::vector<double> joules_{0};
};

struct Night {
  Power power{0.002};
  Power work{0.002};  // what the work is the cause of, with no delay of the board: the truth
  std::vector<Window> windows;
  double begins = 0, ends = 0;  // of the process
};

class Draw {
 public:
  Draw(const CounterConditions& conditions, std::uint64_t seed) : conditions_(conditions), random_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double normal() { return std::normal_distribution<double>()(random_); }

  Night night() {
    const double update = conditions_.update;
    Night night;
    night.power = night.work = Power(update / 50);
    busy_ = uniform(200, 700);
    idle_ = busy_ * uniform(0.15, 0.6);
    const double region = update * (conditions_.region ? *conditions_.region
                                                       : std::exp(uniform(std::log(0.3), std::log(300.0))));
    night.begins = 6 * update + uniform(0, update);
    std::vector<std::pair<double, double>> regions;
    double begins = night.begins;
    if (conditions_.load == Load::inside || conditions_.load == Load::between)
      begins += update * uniform(3, 6);
    const int count = conditions_.load == Load::many ? static_cast<int>(uniform(3, 20)) : 1;
    for (int i = 0; i < count; ++i) {
      const double length = count == 1 ? region : region / count * uniform(0.9, 1.1);
      regions.emplace_back(begins, begins + length);
      begins += length + update * uniform(0.3, 3);
    }
    night.ends = regions.back().second;
    if (conditions_.load == Load::inside || conditions_.load == Load::between)
      night.ends += update * uniform(3, 6);
    for (const auto& [from, to] : regions)
      night.windows.push_back({nanoseconds(Seconds{from}), nanoseconds(Seconds{to})});
    draw_power(night, regions);
    return night;
  }

 private:
  void draw_power(Night& night, const std::vector<std::pair<double, double>>& regions) {
    const double update = conditions_.update, step = update / 50;
    const double end = night.ends + 20 * update;
    const double first = regions.front().first, last = regions.back().second;
    const double overshoot = uniform(-0.1, 0.25), settles = update * uniform(0.3, 2),
                 rise = update * uniform(0, 0.3), noise = uniform(0.002, 0.03),
                 idle_noise = uniform(0.002, 0.03);
    const double before = busy_ * uniform(0.4, 1.5), after = busy_ * uniform(0.4, 1.5);
    const double steps_at = uniform(first, last), steps_to = uniform(0.4, 1.4);
    const double period = update * std::exp(uniform(std::log(0.3), std::log(3.0))), duty = uniform(0.3, 0.7);
    const double memory = std::exp(-step / (update * uniform(0.3, 3)));
    double wander = normal(), watts = idle_;
    for (double t = 0; t < end; t += step) {
      wander = memory * wander + std::sqrt(1 - memory * memory) * normal();
      const auto in = std::find_if(regions.begin(), regions.end(),
                                   [&](const auto& r) { return t >= r.first && t < r.second; });
      double wanted = idle_;
      double since = 1e9;
      switch (conditions_.load) {
        case Load::inside:
          if (t >= night.begins && t < night.ends) wanted = busy_;
          since = t - night.begins;
          break;
        case Load::between:
          if (t >= night.begins && t < night.ends) wanted = t < first ? before : t < last ? busy_ : after;
          since = t - night.begins;
          break;
        default:
          if (in != regions.end()) {
            wanted = busy_;
            since = t - in->first;
            if (conditions_.load == Load::step && t >= steps_at) wanted *= steps_to;
            if (conditions_.load == Load::square && std::fmod(since, period) > duty * period) wanted = idle_;
          }
      }
      if (wanted > idle_ && since >= 0) wanted *= 1 + overshoot * std::exp(-since / settles);
      // A board follows within some milliseconds.
      watts += (wanted - watts) * (rise > 0 ? 1 - std::exp(-step / (rise / 3)) : 1);
      const double factor = std::max(0.05, 1 + (watts > 1.2 * idle_ ? noise : idle_noise) * wander);
      night.power.add(watts * factor);
      night.work.add(wanted * factor);
    }
  }

  const CounterConditions& conditions_;
  std::mt19937_64 random_;
  double busy_ = 0, idle_ = 0;
};

class Counters : public Probe {
 public:
  Counters(const Night& night, const CounterConditions& conditions, VirtualClock& clock, std::uint64_t seed)
      : night_(night), conditions_(conditions), clock_(clock), draw_(conditions, seed) {
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

std::string to_string(Load load) {
  const char* names[] = {"process", "inside", "between", "step", "square", "many"};
  return names[static_cast<int>(load)];
}

Outcome measure_counters(const CounterConditions& conditions, std::uint64_t seed) {
  Outcome outcome{0, 0.0, 0, 0, 0};
  double squares = 0;
  for (int board = 0; board < conditions.boards; ++board) {
    const std::uint64_t mine = seed * 1000003 + static_cast<std::uint64_t>(board) * 7919;
    Draw draw(conditions, mine);
    const Night night = draw.night();
    const double update = conditions.update;
    VirtualClock clock;
    auto probe = std::make_unique<Counters>(night, conditions, clock, mine + 17);
    Counters& counters = *probe;
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::move(probe));
    Sampler sampler(std::move(probes), clock, Sampler::Drive::caller);
    SensorModel model;
    model.update = Seconds{update * (1 + 0.002 * draw.normal())};
    model.lag = Seconds{0.1 * update};
    if (conditions.look == 0) sampler.follow(0, *model.update);
    constexpr double lead = 2.5;
    clock.sleep_until(nanoseconds(Seconds{night.begins - lead * update}));
    sampler.start();
    const Nanoseconds end = nanoseconds(Seconds{night.ends + lead * update});
    while (sampler.next_due() < end) {
      clock.sleep_until(sampler.next_due());
      sampler.read_due(clock.now());
    }
    clock.sleep_until(end);
    const auto readings = sampler.stop();
    outcome.looks += counters.looks;
    outcome.updates += (night.ends - night.begins) / update + 2 * lead;
    for (const Window& window : night.windows)
      outcome.truth +=
          night.work.joules(seconds(window.to).value()) - night.work.joules(seconds(window.from).value());
    const ChannelEnergy energy = EnergyCurve(sampler.channels()[0], readings, model).over(night.windows);
    if (!energy.joules || !outcome.joules) {
      outcome.joules.reset();
      continue;
    }
    *outcome.joules += *energy.joules;
    squares += *energy.half_width_j * *energy.half_width_j;
  }
  outcome.half_width = std::sqrt(squares);
  return outcome;
}

}  // namespace dvfs_plan::truth
