#include "orchestrator/sensors/own_draw.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>

namespace dvfs_plan {
namespace {

constexpr Seconds longest_renewal{2};

struct Seen {
  Nanoseconds time = 0;
  double value = 0;
};
using Edge = std::map<std::uint32_t, Seen>;

// Each counter at its next renewal; nullopt: one did not come.
std::optional<Edge> next_renewals(Sampler& sampler, Clock& clock,
                                  const std::vector<std::uint32_t>& counters) {
  Edge before, edge;
  const Nanoseconds until = clock.now() + nanoseconds(longest_renewal);
  do {
    for (const Reading& reading : sampler.look("J")) {
      const bool wanted = std::find(counters.begin(), counters.end(), reading.channel) != counters.end();
      if (!wanted || !reading.value || edge.contains(reading.channel)) continue;
      const auto first = before.emplace(reading.channel, Seen{reading.time, *reading.value}).first;
      if (first->second.value != *reading.value) edge[reading.channel] = {reading.time, *reading.value};
    }
    if (edge.size() == counters.size()) return edge;
    clock.sleep_until(clock.now() + nanoseconds(Seconds{0.0005}));
  } while (clock.now() < until);
  return std::nullopt;
}

std::optional<double> watts_between(const Edge& from, const Edge& to, const std::vector<Channel>& channels) {
  double watts = 0;
  for (const auto& [channel, begin] : from) {
    const Seen& end = to.at(channel);
    double joules = end.value - begin.value;
    if (joules < 0 && channels[channel].wraps_at) joules += *channels[channel].wraps_at;
    if (joules < 0) return std::nullopt;
    watts += joules / seconds(end.time - begin.time).value();
  }
  return watts;
}

// How a probe is read in a night; a probe is what set_period() and follow() are about, by one of its channels.
struct UsualRate {
  std::uint32_t channel = 0;
  Seconds period;
  bool follows = false;
};

std::vector<UsualRate> usual_rates(const Sampler& sampler, const SensorCheck& check) {
  const auto models = check.models();
  std::map<std::size_t, UsualRate> rates;
  for (std::uint32_t i = 0; i < sampler.channels().size(); ++i) {
    const auto model = models.find(i);
    const bool follows = sampler.follows(i) && model != models.end() && model->second.update;
    const UsualRate rate{i, follows ? *model->second.update : sampler.period(i), follows};
    const auto [at, is_new] = rates.emplace(sampler.source_of(i), rate);
    if (!is_new && follows) at->second = rate;
  }
  std::vector<UsualRate> all;
  for (const auto& [source, rate] : rates) all.push_back(rate);
  return all;
}

void set_rates(Sampler& sampler, const std::vector<UsualRate>& rates, SamplingRate how) {
  for (const UsualRate& rate : rates) {
    if (how == SamplingRate::tenth)
      sampler.set_period(rate.channel, rate.period * 10);
    else if (rate.follows)
      sampler.follow(rate.channel, rate.period);
    else
      sampler.set_period(rate.channel, rate.period);
  }
}

}  // namespace

OwnDraw measure_own_draw(Sampler& sampler, Clock& clock, const SensorCheck& check,
                         const std::vector<std::uint32_t>& counters, Seconds window, int rounds,
                         unsigned seed, const std::function<bool()>& stop) {
  const auto rates = usual_rates(sampler, check);
  OwnDraw draw;
  OwnDraw::ByRate<double> cpu{}, wake_ups{}, lasted{};
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::array order{SamplingRate::full, SamplingRate::tenth, SamplingRate::none};
    std::shuffle(order.begin(), order.end(), random);
    OwnDraw::ByRate<double> watts{};
    bool whole = true;
    for (const SamplingRate how : order) {
      if (stop && stop()) {
        set_rates(sampler, rates, SamplingRate::full);
        return draw;
      }
      set_rates(sampler, rates, how);
      const auto from = next_renewals(sampler, clock, counters);
      const SamplingCost before = sampler.cost();
      const Nanoseconds began = clock.now();
      if (how != SamplingRate::none) sampler.start();
      clock.sleep_until(began + nanoseconds(window));
      if (how != SamplingRate::none) sampler.stop();
      const Nanoseconds ended = clock.now();
      const SamplingCost after = sampler.cost();
      const auto to = next_renewals(sampler, clock, counters);
      const auto power = from && to ? watts_between(*from, *to, sampler.channels()) : std::nullopt;
      const auto at = static_cast<std::size_t>(how);
      whole = whole && power;
      if (power) watts[at] = *power;
      if (how == SamplingRate::none) continue;
      cpu[at] += after.cpu_seconds - before.cpu_seconds;
      wake_ups[at] += static_cast<double>(after.wake_ups - before.wake_ups);
      lasted[at] += seconds(ended - began).value();
    }
    if (whole) draw.watts.push_back(watts);
  }
  set_rates(sampler, rates, SamplingRate::full);
  for (std::size_t at = 0; at < sampling_rates; ++at) {
    if (lasted[at] <= 0) continue;
    draw.cpu_share[at] = cpu[at] / lasted[at];
    draw.wake_ups_per_s[at] = wake_ups[at] / lasted[at];
  }
  return draw;
}

}  // namespace dvfs_plan
