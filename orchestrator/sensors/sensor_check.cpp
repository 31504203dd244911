#include "orchestrator/sensors/sensor_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>

namespace dvfs_plan {
namespace {

// Long enough for a RAPL counter (1 ms) and for sensors that renew every 100 ms.
constexpr Seconds rest{0.3}, load_lasts{0.6}, more_for_slow_sensors{4};
// A program of the user's own may take seconds to its first line (an interpreter, a serial port), and speak once a second.
constexpr Seconds patience_with_programs{10}, between_their_lines{0.5};
// As fast as any sensor we know renews its value.
constexpr Seconds fast_look{0.002};
// A probe whose reads keep a CPU busy is read more seldom: measuring must not be what is measured.
constexpr double most_of_a_cpu = 0.05;

// Rests or computes; ends early if somebody asks us to stop.
void compute_until(Nanoseconds from, const Clock& clock, bool busy, Seconds length,
                   Interruption* interruption) {
  const Nanoseconds until = from + nanoseconds(length);
  constexpr Seconds between_looks{0.01};
  volatile double work = 1;
  while (clock.now() < until && (interruption == nullptr || interruption->pending() == 0)) {
    const Nanoseconds next = std::min(until, clock.now() + nanoseconds(between_looks));
    if (!busy) std::this_thread::sleep_for(std::chrono::nanoseconds(next - clock.now()));
    while (clock.now() < next) {
      for (int i = 0; i < 10000; ++i) work = work * 1.0000001 + 1e-9;
    }
  }
}

// A sensor that changed, but too seldom to tell its period.
bool any_slow(const std::vector<Channel>& channels, const std::vector<Reading>& readings) {
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (!measures_energy(channels[i])) continue;
    const auto mine = of_channel(readings, i);
    int changes = 0, repeats = 0;
    for (std::size_t k = 1; k < mine.size(); ++k) {
      if (mine[k].value && mine[k - 1].value) ++(*mine[k].value != *mine[k - 1].value ? changes : repeats);
    }
    const bool counter = channels[i].kind == ChannelKind::counter;
    // Of a counter that is read seldom a few looks that found nothing new are enough.
    if ((changes > 0 || counter) && changes < 6 && (mine.size() > 20 || (counter && repeats >= 3)))
      return true;
  }
  return false;
}

// A program that lives and has told too little to be judged: a gauge nothing yet, a counter not enough to be seen moving.
bool says_too_little(const std::vector<Channel>& channels, const std::vector<Reading>& readings) {
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (!measures_energy(channels[i]) || !channels[i].told_when_new) continue;
    const std::ptrdiff_t enough = channels[i].kind == ChannelKind::counter ? 3 : 1;
    const auto mine = of_channel(readings, i);
    if (!mine.empty() &&
        (mine.back().status == ReadingStatus::gone || mine.back().status == ReadingStatus::denied))
      continue;
    if (std::count_if(mine.begin(), mine.end(), [](const Reading& one) { return one.value.has_value(); }) <
        enough)
      return true;
  }
  return false;
}

// What is told late of a look is still of it. How long that takes.
Seconds wait_for_the_late(const Sampler& sampler, const Clock& clock, bool busy, Interruption* interruption) {
  Seconds latest{0};
  for (const Channel& channel : sampler.channels()) {
    if (measures_energy(channel)) latest = std::max(latest, Seconds{channel.late_by_s.value_or(0)});
  }
  if (latest.value() > 0) compute_until(clock.now(), clock, busy, latest, interruption);
  return latest;
}

// What a probe tells at a start (a program that was started again, lines that are not understood) it tells once.
void start_and_note(Sampler& sampler, SensorCheck& check) {
  sampler.start();
  for (const std::string& told : sampler.told()) {
    if (std::find(check.notes.begin(), check.notes.end(), told) == check.notes.end())
      check.notes.push_back(told);
  }
}

// A counter that is renewed seldom enough for its phase to matter, alone in its probe (two have two phases),
// and whose reads leave time to find it.
bool worth_following(const Sampler& sampler, const SensorCheck& check, std::uint32_t channel) {
  const auto& channels = sampler.channels();
  const ChannelAudit& audit = check.audit.channels[channel];
  constexpr Seconds least{0.02};
  constexpr double reads = 5;
  if (channels[channel].kind != ChannelKind::counter || channels[channel].told_when_new || !audit.update ||
      audit.at_least || *audit.update < least || *audit.update < sampler.read_cost(channel) * reads)
    return false;
  int counters = 0;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    counters += measures_energy(channels[i]) && sampler.source_of(i) == sampler.source_of(channel) ? 1 : 0;
  }
  return counters == 1;
}

bool is_of_board(const Channel& channel) {
  return channel.domain.starts_with("gpu-");
}

// Whether a load must show what this channel is worth: a gauge of whose domain no counter is there and whose
// driver does not say its window, or a board's counter that is renewed so seldom that its lag matters.
bool wants_a_load(const std::vector<Channel>& channels, const SensorAudit& audit, std::uint32_t channel) {
  const Channel& mine = channels[channel];
  const ChannelAudit* found = audit.of(channel);
  // A gauge may well be steady at rest.
  const bool may_answer =
      found != nullptr && (found->state == SensorState::alive ||
                           (found->state == SensorState::steady && mine.kind == ChannelKind::gauge));
  if (!measures_energy(mine) || mine.told_when_new || !may_answer) return false;
  if (mine.kind == ChannelKind::counter) {
    constexpr Seconds least{0.02};
    return is_of_board(mine) && found->update && !found->at_least && *found->update >= least;
  }
  const bool has_counter =
      std::any_of(audit.channels.begin(), audit.channels.end(), [&](const ChannelAudit& other) {
        const Channel& its = channels[other.channel];
        return its.kind == ChannelKind::counter && its.domain == mine.domain && measures_energy(its) &&
               other.state == SensorState::alive;
      });
  return is_of_board(mine) || (!has_counter && !mine.averages_over_s);
}

// Runs the loads that some channel wants, and adds to the audit how it answers: CPUs first, as a meter of the
// whole machine sees boards too; then all boards at once.
void look_under_loads(Sampler& sampler, const Clock& clock, const TestLoads& loads,
                      Interruption* interruption, SensorCheck& check) {
  const auto& channels = sampler.channels();
  std::map<std::string, std::vector<std::uint32_t>> wanting;
  for (const auto& [domain, load] : loads.of_domain) {
    for (std::uint32_t i = 0; i < channels.size(); ++i) {
      const bool loaded = domain.empty() ? !is_of_board(channels[i]) : channels[i].domain == domain;
      if (loaded && wants_a_load(channels, check.audit, i)) wanting[domain].push_back(i);
    }
  }
  for (const bool boards : {false, true}) {
    std::map<std::string, std::future<TestLoad>> running;
    for (const auto& [domain, mine] : wanting) {
      if (domain.empty() == boards) continue;
      if (running.empty()) {
        if (loads.say)
          loads.say(fmt::format("{} by turns for some seconds, to see how the sensors answer",
                                boards ? "boards compute" : "CPUs compute"));
        start_and_note(sampler, check);
      }
      running[domain] = std::async(std::launch::async, loads.of_domain.at(domain));
    }
    if (running.empty()) continue;
    std::map<std::string, TestLoad> done;
    for (auto& [domain, load] : running) {
      while (load.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        if (interruption != nullptr && interruption->pending() != 0) *loads.stop = true;
      }
      done[domain] = load.get();
    }
    wait_for_the_late(sampler, clock, false, interruption);
    const auto readings = sampler.stop();
    if (*loads.stop) return;
    for (const auto& [domain, load] : done) {
      const auto& mine = wanting.at(domain);
      if (!load.problem.empty())
        check.notes.push_back(fmt::format("how {} answers a load was not measured: {}",
                                          channels[mine.front()].name, load.problem));
      else
        for (const std::uint32_t channel : mine)
          audit_response(check.audit.channels[channel], channels[channel], readings, load.on);
    }
  }
}

}  // namespace

std::vector<std::uint32_t> SensorCheck::unusable() const {
  std::vector<std::uint32_t> channels;
  for (const Fault& fault : faults) channels.push_back(fault.channel);
  return channels;
}

std::map<std::uint32_t, SensorModel> SensorCheck::models() const {
  std::map<std::uint32_t, SensorModel> models;
  for (const ChannelAudit& channel : audit.channels) {
    SensorModel model;
    model.update = channel.update;
    if (channel.fresh_per_second.value_or(0) > 0) model.seen_every = Seconds{1 / *channel.fresh_per_second};
    model.rise = channel.rise;
    model.at_least = channel.at_least;
    model.window = channel.window;
    model.latency = channel.latency;
    model.resolution = channel.resolution;
    models[channel.channel] = model;
  }
  return models;
}

SensorCheck check_sensors(Sampler& sampler, const Clock& clock, const std::set<std::string>& fixed,
                          Interruption* interruption, const TestLoads& loads) {
  SensorCheck check;
  const auto& channels = sampler.channels();
  std::map<std::uint32_t, Seconds> own_period, asked_period;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (!measures_energy(channels[i]) || channels[i].told_when_new) continue;
    (fixed.contains(channels[i].probe) ? asked_period : own_period)[i] = sampler.period(i);
  }
  for (const auto* periods : {&own_period, &asked_period}) {
    for (const auto& [channel, own] : *periods) sampler.set_period(channel, std::min(own, fast_look));
  }

  start_and_note(sampler, check);
  const Nanoseconds from = clock.now();
  compute_until(from, clock, false, rest, interruption);
  const Nanoseconds load_from = clock.now();
  compute_until(load_from, clock, true, load_lasts, interruption);
  Nanoseconds to = clock.now();
  // Under load: a later look goes on with it.
  const Seconds latest = wait_for_the_late(sampler, clock, true, interruption);
  auto readings = sampler.stop();
  const auto look_on = [&](Seconds length) {
    start_and_note(sampler, check);
    compute_until(clock.now(), clock, true, length, interruption);
    to = clock.now();
    wait_for_the_late(sampler, clock, true, interruption);
    const auto more = sampler.stop();
    readings.insert(readings.end(), more.begin(), more.end());
  };
  for (Seconds waited{0}; waited < patience_with_programs && says_too_little(channels, readings) &&
                          check.notes.empty() && (interruption == nullptr || interruption->pending() == 0);
       waited = waited + between_their_lines + latest)
    look_on(between_their_lines);
  // A slow sensor has said too little by now to know how slow it is.
  if (any_slow(channels, readings)) look_on(more_for_slow_sensors);

  check.audit = audit_sensors(channels, readings, from, to, load_from);
  if (interruption == nullptr || interruption->pending() == 0)
    look_under_loads(sampler, clock, loads, interruption, check);
  leave_what_is_known(check.audit, channels);
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (!measures_energy(channels[i])) continue;
    for (const Reading& reading : readings) {
      if (reading.channel == i && reading.value) check.last_values[i] = *reading.value;
    }
    // No fault yet: constant power (an idle machine may well draw the same all the time), and a meter that
    // speaks less often than this look is long. Each trial judges those.
    const SensorState state = check.audit.channels[i].state;
    if (state == SensorState::dead) check.faults.push_back({i, EnergyFault::dead});
    if (state == SensorState::denied) check.faults.push_back({i, EnergyFault::denied});
    if (state == SensorState::gone) check.faults.push_back({i, EnergyFault::gone});
  }
  // A probe is read as a whole: as often as its fastest channel needs.
  std::map<std::size_t, Seconds> needed;
  for (const auto& [channel, own] : own_period) {
    const auto& update = check.audit.channels[channel].update;
    const Seconds cheap = sampler.read_cost(channel) * (1 / most_of_a_cpu);
    const Seconds mine = std::max({own, cheap, update ? *update * 0.5 : own});
    const auto [at, is_new] = needed.emplace(sampler.source_of(channel), mine);
    if (!is_new) at->second = std::min(at->second, mine);
  }
  for (const auto& [channel, own] : own_period)
    sampler.set_period(channel, needed.at(sampler.source_of(channel)));
  for (const auto& [channel, asked] : asked_period) sampler.set_period(channel, asked);
  for (const auto& [channel, own] : own_period) {
    if (worth_following(sampler, check, channel))
      sampler.follow(channel, *check.audit.channels[channel].update);
  }
  return check;
}

Seconds idle_window(const std::optional<Seconds>& asked, const std::vector<std::uint32_t>& channels,
                    const SensorCheck& check, const Sampler& sampler) {
  if (asked) return *asked;
  constexpr double updates = 20;
  constexpr Seconds least{0.5}, most{10};
  Seconds length = least;
  for (const std::uint32_t channel : channels) {
    const ChannelAudit* audit = check.audit.of(channel);
    const Seconds update = audit != nullptr && audit->update ? *audit->update : sampler.period(channel);
    length = std::max(length, update * updates);
  }
  return std::min(length, most);
}

std::string describe(const SensorCheck::Fault& fault, const std::vector<Channel>& channels) {
  const Channel& channel = channels[fault.channel];
  switch (fault.fault) {
    case EnergyFault::dead:
      return fmt::format("sensor {} is dead: {}", channel.name,
                         channel.kind == ChannelKind::counter ? "its counter does not move under load"
                                                              : "it reads 0 W under load");
    case EnergyFault::denied:
      return fmt::format("sensor {} may not be read by this user ({})", channel.name, channel.source);
    case EnergyFault::gone:
      return fmt::format("sensor {} went away", channel.name);
    case EnergyFault::absent:
      return fmt::format("sensor {} gives no reading", channel.name);
    default:
      return fmt::format("sensor {} cannot be used ({})", channel.name, to_string(fault.fault));
  }
}

}  // namespace dvfs_plan
