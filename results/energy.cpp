#include "results/energy.hpp"

#include <algorithm>

namespace dvfs_plan {
namespace {

// No socket draws 2 kW: a longer gap than range / 2 kW could hide two wraps.
constexpr double most_watts_of_a_domain = 2000;

struct Known {
  Nanoseconds time;
  double value;
};

double interpolate(const Known& a, const Known& b, Nanoseconds at) {
  if (b.time == a.time) return b.value;
  const double share = static_cast<double>(at - a.time) / static_cast<double>(b.time - a.time);
  return a.value + (b.value - a.value) * share;
}

// The curve's value at `at`. Beyond its ends a gauge holds the nearest value and a counter goes on as it
// went: holding a counter would lose the energy of the edge.
double value_at(const std::vector<Known>& curve, Nanoseconds at, ChannelKind kind) {
  const auto after = std::find_if(curve.begin(), curve.end(), [&](const Known& k) { return k.time >= at; });
  const bool goes_on = kind == ChannelKind::counter && curve.size() > 1;
  if (after == curve.begin()) return goes_on ? interpolate(curve[0], curve[1], at) : curve.front().value;
  if (after == curve.end())
    return goes_on ? interpolate(curve[curve.size() - 2], curve.back(), at) : curve.back().value;
  return interpolate(*(after - 1), *after, at);
}

// Undoes wraps: a curve that only grows. False if it went back without a range to explain it, or if a gap
// is so long that the number of wraps is not known.
EnergyFault unwrap(std::vector<Known>& curve, const std::optional<double>& range) {
  double offset = 0;
  double before = curve.front().value;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const double raw = curve[i].value;
    if (range) {
      const double gap = static_cast<double>(curve[i].time - curve[i - 1].time) * 1e-9;
      if (gap > *range / most_watts_of_a_domain) return EnergyFault::gap;
    }
    if (raw < before) {
      if (!range) return EnergyFault::counter_went_back;
      offset += *range;
    }
    before = raw;
    curve[i].value = raw + offset;
  }
  return EnergyFault::none;
}

double trapezoid(const std::vector<Known>& curve, Nanoseconds from, Nanoseconds to) {
  double joules = 0;
  Known last{from, value_at(curve, from, ChannelKind::gauge)};
  const auto add = [&](const Known& next) {
    joules += 0.5 * (last.value + next.value) * static_cast<double>(next.time - last.time) * 1e-9;
    last = next;
  };
  for (const Known& known : curve) {
    if (known.time > from && known.time < to) add(known);
  }
  add({to, value_at(curve, to, ChannelKind::gauge)});
  return joules;
}

struct Spacing {
  Nanoseconds median = 0, longest = 0;  // 0 with fewer than four readings
};

Spacing spacing_of(const std::vector<Known>& curve) {
  std::vector<Nanoseconds> spacings;
  for (std::size_t i = 1; i < curve.size(); ++i) spacings.push_back(curve[i].time - curve[i - 1].time);
  if (spacings.size() < 3) return {};
  const Nanoseconds longest = *std::max_element(spacings.begin(), spacings.end());
  std::nth_element(spacings.begin(), spacings.begin() + static_cast<std::ptrdiff_t>(spacings.size() / 2),
                   spacings.end());
  return {spacings[spacings.size() / 2], longest};
}

// A stretch without readings that is long for the trial and long for the sensor.
bool has_gap(const std::vector<Known>& curve, Nanoseconds from, Nanoseconds to) {
  const Spacing spacing = spacing_of(curve);
  return spacing.longest > 5 * spacing.median && spacing.longest > (to - from) / 5;
}

// Whether the readings enclose the window. A meter that speaks when it likes may be up to two of its
// periods late at an edge; its nearest value is held there.
bool encloses(const std::vector<Known>& curve, Nanoseconds from, Nanoseconds to) {
  if (curve.size() < 2) return false;
  const Nanoseconds slack = 2 * spacing_of(curve).median;
  return curve.front().time <= from + slack && curve.back().time >= to - slack;
}

// A counter that moved and then did not for half a second and five of its own steps: it died midway, and
// the little energy it saw must not win.
bool stands_still(const std::vector<Known>& curve) {
  std::vector<Nanoseconds> steps;
  Nanoseconds since = curve.front().time, longest = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (curve[i].value == curve[i - 1].value) {
      longest = std::max(longest, curve[i].time - since);
      continue;
    }
    steps.push_back(curve[i].time - since);
    since = curve[i].time;
  }
  if (steps.empty()) return false;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return longest >= 500'000'000 && longest > 5 * steps[steps.size() / 2];
}

EnergyFault fault_without_values(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.status == ReadingStatus::denied) return EnergyFault::denied;
    if (reading.status == ReadingStatus::gone) return EnergyFault::gone;
  }
  return EnergyFault::absent;
}

EnergyFault fault_of(const Channel& channel, const std::vector<Known>& curve, Nanoseconds from,
                     Nanoseconds to) {
  const bool flat =
      std::all_of(curve.begin(), curve.end(), [&](const Known& k) { return k.value == curve.front().value; });
  // A counter may stand still for one update period, not for a trial of many.
  const bool long_enough = to - from >= 500'000'000 || curve.size() >= 10;
  if (channel.kind == ChannelKind::counter) {
    if (flat && long_enough) return EnergyFault::dead;
    if (stands_still(curve)) return EnergyFault::dead;
  } else {
    // Nothing that runs draws 0 W: a meter that says so for a while has died, and its trial must not win.
    const auto zeros = std::count_if(curve.begin(), curve.end(), [](const Known& k) { return k.value == 0; });
    if (20 * static_cast<std::size_t>(zeros) > curve.size()) return EnergyFault::dead;
    if (flat && curve.size() >= 10) return EnergyFault::frozen;
    if (has_gap(curve, from, to)) return EnergyFault::gap;
  }
  return EnergyFault::none;
}

std::vector<std::uint32_t> channels_where(std::span<const Channel> channels, auto condition) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (measures_energy(channels[i]) && condition(channels[i])) found.push_back(i);
  }
  return found;
}

std::string names_of(std::span<const Channel> channels, const std::vector<std::uint32_t>& chosen) {
  std::string name;
  for (const std::uint32_t i : chosen) name += (name.empty() ? "" : " + ") + channels[i].domain;
  return name;
}

// One channel a domain: a counter before a gauge.
std::vector<std::uint32_t> one_a_domain(std::span<const Channel> channels,
                                        std::vector<std::uint32_t> chosen) {
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::uint32_t a, std::uint32_t b) {
    return channels[a].kind == ChannelKind::counter && channels[b].kind == ChannelKind::gauge;
  });
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t i : chosen) {
    const bool there = std::any_of(kept.begin(), kept.end(),
                                   [&](std::uint32_t k) { return channels[k].domain == channels[i].domain; });
    if (!there) kept.push_back(i);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

std::string_view to_string(EnergyFault fault) {
  switch (fault) {
    case EnergyFault::none:
      return "none";
    case EnergyFault::absent:
      return "absent";
    case EnergyFault::denied:
      return "denied";
    case EnergyFault::gone:
      return "gone";
    case EnergyFault::dead:
      return "dead";
    case EnergyFault::frozen:
      return "frozen";
    case EnergyFault::gap:
      return "gap";
    case EnergyFault::counter_went_back:
      return "counter_went_back";
  }
  return "?";
}

bool measures_energy(const Channel& channel) {
  return (channel.unit == "J" && channel.kind == ChannelKind::counter) ||
         (channel.unit == "W" && channel.kind == ChannelKind::gauge);
}

std::vector<Reading> of_channel(std::span<const Reading> readings, std::uint32_t channel) {
  std::vector<Reading> found;
  for (const Reading& reading : readings) {
    if (reading.channel == channel) found.push_back(reading);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Reading& a, const Reading& b) { return a.time < b.time; });
  return found;
}

ChannelEnergy energy_between(const Channel& channel, std::span<const Reading> readings, Nanoseconds from,
                             Nanoseconds to) {
  ChannelEnergy energy;
  std::vector<Known> curve;
  for (const Reading& reading : readings) {
    if (reading.value) curve.push_back({reading.time, *reading.value});
  }
  energy.readings = static_cast<int>(curve.size());
  if (curve.empty() || to <= from) {
    energy.fault = fault_without_values(readings);
    return energy;
  }
  if (readings.back().status == ReadingStatus::gone) {
    energy.fault = EnergyFault::gone;
    return energy;
  }
  if (!encloses(curve, from, to)) {
    energy.fault =
        fault_without_values(readings) == EnergyFault::denied ? EnergyFault::denied : EnergyFault::gap;
    return energy;
  }
  energy.fault = fault_of(channel, curve, from, to);
  if (energy.fault != EnergyFault::none) return energy;
  if (channel.kind == ChannelKind::counter) {
    energy.fault = unwrap(curve, channel.wraps_at);
    if (energy.fault == EnergyFault::none)
      energy.joules = value_at(curve, to, channel.kind) - value_at(curve, from, channel.kind);
  } else {
    energy.joules = trapezoid(curve, from, to);
  }
  return energy;
}

std::vector<EnergySource> energy_sources(std::span<const Channel> channels,
                                         std::span<const std::uint32_t> dead) {
  std::vector<EnergySource> sources;
  bool any_group = false;
  // A source stands only with all its members alive: one dead package of two is no smaller machine.
  const auto add = [&](auto condition) {
    const auto chosen = one_a_domain(channels, channels_where(channels, condition));
    if (chosen.empty()) return;
    any_group = true;
    const bool all_alive = std::none_of(chosen.begin(), chosen.end(), [&](std::uint32_t i) {
      return std::find(dead.begin(), dead.end(), i) != dead.end();
    });
    const std::string name = names_of(channels, chosen);
    const bool known =
        std::any_of(sources.begin(), sources.end(), [&](const EnergySource& s) { return s.name == name; });
    if (all_alive && !known) sources.push_back({name, chosen});
  };
  const auto is_package = [](const Channel& c) { return c.domain.starts_with("package"); };
  add([](const Channel& c) { return c.domain == "system"; });
  add([](const Channel& c) { return c.domain == "psys"; });
  const bool packages = std::any_of(channels.begin(), channels.end(), is_package);
  if (packages) add([&](const Channel& c) { return is_package(c) || c.domain.starts_with("dram"); });
  if (packages) add(is_package);
  // A machine with none of these: its single sensors, each under its own name. Never instead of a wider one
  // that died: what a rail draws is no answer to what the machine draws.
  if (any_group) return sources;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    add([&](const Channel& c) { return &c == &channels[i]; });
  }
  return sources;
}

std::optional<EnergySource> energy_source_of(std::string_view domain, std::span<const Channel> channels) {
  auto chosen = channels_where(channels, [&](const Channel& c) { return c.domain == domain; });
  if (chosen.empty()) {
    const std::string numbered = std::string(domain) + "-";
    chosen = channels_where(channels, [&](const Channel& c) { return c.domain.starts_with(numbered); });
  }
  chosen = one_a_domain(channels, chosen);
  if (chosen.empty()) return std::nullopt;
  return EnergySource{names_of(channels, chosen), chosen};
}

}  // namespace dvfs_plan
