#include "tests/bench/truth/recorded_loads.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "probes/sampled_probe.hpp"
#include "results/energy/energy_curve.hpp"
#include "results/energy/median.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan::truth {
namespace {

constexpr double update_of_the_board = 0.1, read_takes = 0.004;

class Playback : public Probe {
 public:
  Playback(const std::vector<RecordedCounter::Step>& steps, double period, VirtualClock& clock)
      : steps_(steps), period_(period), clock_(clock) {
    channels_.push_back(counter("gpu-0"));
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{period_}; }
  void read(std::span<Sample> samples) override {
    const Nanoseconds begun = clock_.now();
    const double middle = seconds(begun).value() + read_takes / 2;
    const auto behind =
        std::upper_bound(steps_.begin(), steps_.end(), middle,
                         [](double t, const RecordedCounter::Step& step) { return t < step.time; });
    samples[0] = {std::prev(std::max(behind, steps_.begin() + 1))->joules, ReadingStatus::ok, {}};
    clock_.sleep_until(begun + nanoseconds(Seconds{read_takes}));
    ++looks;
  }
  int looks = 0;

 private:
  std::string name_ = "counter";
  const std::vector<RecordedCounter::Step>& steps_;
  double period_;
  VirtualClock& clock_;
  std::vector<Channel> channels_;
};

}  // namespace

std::optional<RecordedCounter> RecordedCounter::open(const std::string& folder, const std::string& name) {
  std::ifstream counter(folder + "/" + name + "_counter.csv"), loads(folder + "/" + name + "_loads.jsonl");
  if (!counter || !loads) return std::nullopt;
  RecordedCounter recorded;
  std::string line;
  std::getline(counter, line);  // before_ns,after_ns,energy_mj,average_mw,instant_mw
  double last_after = 0, last_joules = -1;
  while (std::getline(counter, line)) {
    double before = 0, after = 0, millijoules = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf", &before, &after, &millijoules) != 3) continue;
    const double joules = millijoules * 1e-3;
    if (joules != last_joules)
      recorded.steps_.push_back({last_joules < 0 ? before * 1e-9 : (last_after + before) / 2 * 1e-9, joules});
    last_after = after;
    last_joules = joules;
  }
  const auto at = [&](double time) {
    return static_cast<std::size_t>(
        std::lower_bound(recorded.steps_.begin(), recorded.steps_.end(), time,
                         [](const Step& step, double t) { return step.time < t; }) -
        recorded.steps_.begin());
  };
  while (std::getline(loads, line)) {
    const auto json = nlohmann::json::parse(line);
    RecordedLoad load;
    load.name = json["load"];
    double inside = 0;
    for (const auto& mark : json["marks_ns"]) {
      load.regions.push_back({mark[0].get<Nanoseconds>(), mark[1].get<Nanoseconds>(), true});
      inside += seconds(load.regions.back().to - load.regions.back().from).value();
    }
    // Rest: the four updates before, up to one before the load, and the four behind, from two behind on.
    const std::size_t from = at(seconds(load.regions.front().from).value()),
                      to = at(seconds(load.regions.back().to).value());
    if (from < 7 || to + 8 >= recorded.steps_.size()) continue;
    std::vector<double> rest;
    for (std::size_t i = from - 6; i + 1 < from; ++i)
      rest.push_back((recorded.steps_[i].joules - recorded.steps_[i - 1].joules) / update_of_the_board);
    for (std::size_t i = to + 3; i < to + 7; ++i)
      rest.push_back((recorded.steps_[i].joules - recorded.steps_[i - 1].joules) / update_of_the_board);
    const Step &first = recorded.steps_[from - 2], &last = recorded.steps_[to + 2];
    load.joules = last.joules - first.joules - upper_median(rest) * (last.time - first.time - inside);
    recorded.loads_.push_back(load);
  }
  return recorded;
}

Outcome RecordedCounter::measure(const RecordedLoad& load, double look, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  VirtualClock clock;
  auto probe = std::make_unique<Playback>(steps_, look > 0 ? look : update_of_the_board / 2, clock);
  Playback& playback = *probe;
  SampledProbe sampled(std::move(probe), 0, clock);
  if (look == 0) sampled.follow(0, Seconds{update_of_the_board});
  const double lead = update_of_the_board * (2.5 + std::uniform_real_distribution<double>(0, 1)(random));
  clock.sleep_until(load.regions.front().from - nanoseconds(Seconds{lead}));
  const Nanoseconds begun = clock.now();
  sampled.begin();
  const Nanoseconds end = load.regions.back().to + nanoseconds(Seconds{2.5 * update_of_the_board});
  while (sampled.due() < end) {
    clock.sleep_until(sampled.due());
    sampled.read_due(clock.now());
  }
  clock.sleep_until(end);
  sampled.read();
  const auto readings = sampled.take();
  SensorModel model;
  model.update = Seconds{update_of_the_board};
  model.lag = Seconds{0.02};
  const ChannelEnergy energy = EnergyCurve(sampled.channels()[0], readings, model).over(load.regions);
  return {.truth = load.joules,
          .joules = energy.joules,
          .half_width = energy.half_width_j.value_or(0),
          .systematic = energy.systematic_j.value_or(0),
          .looks = playback.looks,
          .updates = seconds(end - begun).value() / update_of_the_board};
}

double RecordedCounter::shown_at(double time) const {
  const auto behind = std::upper_bound(steps_.begin(), steps_.end(), time,
                                       [](double t, const Step& step) { return t < step.time; });
  return behind == steps_.begin() ? steps_.front().joules : std::prev(behind)->joules;
}

double RecordedCounter::plain_difference(const RecordedLoad& load) const {
  double joules = 0;
  for (const Window& region : load.regions)
    joules += shown_at(seconds(region.to).value()) - shown_at(seconds(region.from).value());
  return joules;
}

}  // namespace dvfs_plan::truth
