#include "results/energy/sensor_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "results/energy/load_response.hpp"

namespace dvfs_plan {
namespace {

// Fewer different values than this say nothing about the smallest step between them.
constexpr std::size_t values_for_a_resolution = 8;
// A step of the load must lift the power by so much to be told from noise.
constexpr double least_rise = 0.1;

std::vector<Look> seen_of(std::span<const Reading> readings, Nanoseconds origin) {
  std::vector<Look> seen;
  for (const Reading& reading : readings) {
    if (reading.value) seen.push_back({seconds(reading.time - origin).value(), *reading.value});
  }
  return seen;
}

std::optional<double> smallest_step(const std::vector<Look>& seen) {
  std::set<double> values;
  for (const Look& one : seen) values.insert(one.value);
  if (values.size() < values_for_a_resolution) return std::nullopt;
  double smallest = INFINITY;
  for (auto it = std::next(values.begin()); it != values.end(); ++it)
    smallest = std::min(smallest, *it - *std::prev(it));
  return smallest;
}

double median_of(std::vector<double> values) {
  return boost::math::statistics::median(values.begin(), values.end());
}

// From the load's start to the first value 90 % of the way from the level before it to the level at the end.
std::optional<Seconds> rise_of(const std::vector<Look>& seen, double load_from) {
  std::vector<double> before, last;
  const double end = seen.back().time;
  for (const Look& one : seen) {
    if (one.time <= load_from) before.push_back(one.value);
    if (one.time > load_from && one.time > end - (end - load_from) / 3) last.push_back(one.value);
  }
  if (before.size() < 3 || last.size() < 3) return std::nullopt;
  const double low = median_of(before), high = median_of(last);
  if (high < low * (1 + least_rise) || low <= 0) return std::nullopt;
  for (const Look& one : seen) {
    if (one.time > load_from && one.value >= low + 0.9 * (high - low)) return Seconds{one.time - load_from};
  }
  return std::nullopt;
}

SensorState state_of(EnergyFault fault, bool changed) {
  switch (fault) {
    case EnergyFault::denied:
      return SensorState::denied;
    case EnergyFault::gone:
      return SensorState::gone;
    case EnergyFault::dead:
      return SensorState::dead;
    default:
      return changed ? SensorState::alive : SensorState::steady;
  }
}

ChannelAudit audit_channel(const Channel& channel, std::uint32_t index, std::span<const Reading> readings,
                           Nanoseconds from, Nanoseconds to, std::optional<Nanoseconds> load_from) {
  ChannelAudit audit;
  audit.channel = index;
  const auto seen = seen_of(readings, from);
  audit.readings = static_cast<int>(seen.size());
  SensorModel model;
  model.may_be_flat = true;
  // Rest and one load: nothing comes and goes between two values of this look.
  model.window = Seconds{60};
  const auto energy =
      measures_energy(channel) ? energy_between(channel, readings, from, to, model) : ChannelEnergy{};
  if (seen.empty()) {
    const auto has = [&](ReadingStatus status) {
      return std::any_of(readings.begin(), readings.end(),
                         [&](const Reading& r) { return r.status == status; });
    };
    audit.state = has(ReadingStatus::denied) ? SensorState::denied
                  : has(ReadingStatus::gone) ? SensorState::gone
                                             : SensorState::absent;
    return audit;
  }
  int changes = 0;
  for (std::size_t i = 1; i < seen.size(); ++i) changes += seen[i].value != seen[i - 1].value ? 1 : 0;
  audit.state = state_of(energy.fault, changes > 0);
  audit.update = update_period(readings);
  const double looked = seen.back().time - seen.front().time;
  // Looks that are hardly denser than a counter's renewals do not tell these by repeats: how many there were does. A gauge may say the same again.
  const bool counts = channel.kind == ChannelKind::counter;
  const double nearly_each = counts ? 0.45 : 0.8, looks = static_cast<double>(seen.size() - 1);
  if (!audit.update && seen.size() >= values_for_a_resolution && changes >= nearly_each * looks) {
    audit.update = Seconds{looked / (counts ? changes : looks)};
    audit.at_least = true;
  }
  // One that says the same throughout may have told it anew each time: how often it is new is not known then.
  if (looked > 0 && changes > 0) audit.fresh_per_second = changes / looked;
  if (looked > 0 && channel.told_when_new)
    audit.told_every = Seconds{looked / static_cast<double>(seen.size() - 1)};
  audit.resolution = smallest_step(seen);
  if (load_from && channel.kind == ChannelKind::gauge && channel.unit == "W")
    audit.rise = rise_of(seen, seconds(*load_from - from).value());
  audit.joules = energy.joules;
  audit.half_width_j = energy.half_width_j;
  return audit;
}

}  // namespace

std::string_view to_string(SensorState state) {
  switch (state) {
    case SensorState::alive:
      return "alive";
    case SensorState::steady:
      return "steady";
    case SensorState::dead:
      return "dead";
    case SensorState::denied:
      return "denied";
    case SensorState::gone:
      return "gone";
    case SensorState::absent:
      return "absent";
  }
  return "?";
}

const ChannelAudit* SensorAudit::of(std::uint32_t channel) const {
  const auto found = std::find_if(channels.begin(), channels.end(),
                                  [&](const ChannelAudit& a) { return a.channel == channel; });
  return found == channels.end() ? nullptr : &*found;
}

void leave_what_is_known(SensorAudit& audit, std::span<const Channel> channels) {
  for (ChannelAudit& one : audit.channels) {
    const Channel& channel = channels[one.channel];
    if (channel.kind == ChannelKind::gauge && !channel.averages_over_s && !one.window)
      one.half_width_j.reset();
  }
}

SensorAudit audit_sensors(std::span<const Channel> channels, std::span<const Reading> readings,
                          Nanoseconds from, Nanoseconds to, std::optional<Nanoseconds> load_from) {
  SensorAudit audit;
  audit.looked = seconds(to - from);
  for (std::uint32_t i = 0; i < channels.size(); ++i)
    audit.channels.push_back(audit_channel(channels[i], i, of_channel(readings, i), from, to, load_from));
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    for (std::uint32_t k = 0; k < channels.size(); ++k) {
      const auto &mine = audit.channels[i].joules, &other = audit.channels[k].joules;
      if (i == k || !mine || !other || *other <= 0) continue;
      const bool same = channels[i].domain == channels[k].domain;
      // Each pair once: the integral against the counter, the later of two of a kind against the earlier.
      const bool counted_first =
          channels[k].kind == ChannelKind::counter && channels[i].kind == ChannelKind::gauge;
      const bool same_kind_later = channels[k].kind == channels[i].kind && k < i;
      const bool part = channels[i].within == channels[k].domain && !channels[i].within.empty();
      if ((same && (counted_first || same_kind_later)) || part)
        audit.agreements.push_back(
            {i, k, part, *mine, *other,
             (audit.channels[i].half_width_j.value_or(0) + audit.channels[k].half_width_j.value_or(0)) /
                 *other});
    }
  }
  return audit;
}

void audit_response(ChannelAudit& audit, const Channel& channel, std::span<const Reading> readings,
                    std::span<const Window> on) {
  const auto mine = of_channel(readings, audit.channel);
  if (mine.empty()) return;
  // At rest a gauge may have said the same again and again.
  if (const auto update = update_period(mine); update && channel.kind == ChannelKind::gauge) {
    audit.update = update;
    audit.at_least = false;
  }
  if (!audit.update) return;
  const Nanoseconds origin = mine.front().time;
  const auto looks = seen_of(mine, origin);
  const double update = audit.update->value();
  if (channel.kind == ChannelKind::gauge) {
    const auto fresh = fresh_levels(looks, update);
    const auto response = load_response(fresh.values, origin, on);
    if (!response) return;
    // A window that may as well be twice as long or nothing is not known.
    const double uncertain = response->most_window.value() - response->least_window.value();
    // Of one that has something new at each of these looks: those of a trial lie further apart.
    const double not_told_apart = audit.at_least ? 0.01 : 0.0;
    if (uncertain > std::max({0.5 * update, 0.3 * response->window.value(), not_told_apart})) return;
    audit.window = response->window;
    audit.latency = response->latency;
    audit.rise = response->latency + response->window * 0.9;
    return;
  }
  // A counter's mean power between two renewals looks back to the one before, and lags like its sum does.
  const auto fresh = fresh_counts(looks, update);
  std::vector<FreshValue> power;
  for (std::size_t i = 1; i < fresh.values.size(); ++i) {
    const double length = fresh.values[i].time - fresh.values[i - 1].time;
    if (length > 0.5 * update && length < 1.5 * update)
      power.push_back(
          {fresh.values[i].time, (fresh.values[i].value - fresh.values[i - 1].value) / length, 0});
  }
  if (const auto response = load_response(power, origin, on, update)) audit.latency = response->most_latency;
}

bool Agreement::impossible() const {
  constexpr double part_may_exceed = 0.05, same_may_differ = 0.15;
  return part_of_other ? difference() > part_may_exceed + half_width
                       : std::abs(difference()) > same_may_differ + half_width;
}

std::string agreement_text(const Agreement& pair, std::span<const Channel> channels) {
  const std::string &mine = channels[pair.channel].name, &other = channels[pair.other].name;
  std::string text =
      pair.part_of_other
          ? fmt::format("{} is {:.1f} % of {}", mine, 100 * pair.joules / pair.other_joules, other)
          : fmt::format("{} and {} differ by {:+.2f} %", mine, other, 100 * pair.difference());
  if (pair.impossible())
    text += pair.part_of_other ? ", which holds it: one of them is wrong" : ": one of them is wrong";
  return text;
}

std::vector<std::string> audit_lines(const SensorAudit& audit, std::span<const Channel> channels) {
  std::vector<std::string> lines;
  for (const ChannelAudit& one : audit.channels) {
    const Channel& channel = channels[one.channel];
    if (!measures_energy(channel)) continue;
    std::string line = fmt::format("{} ({}): {}", channel.name, channel.domain, to_string(one.state));
    if (one.update)
      line +=
          fmt::format(", updates {}every {}", one.at_least ? "at least " : "", format_duration(*one.update));
    if (one.fresh_per_second) line += fmt::format(", {:.3g} fresh readings/s", *one.fresh_per_second);
    if (one.resolution) line += fmt::format(", smallest step {:.3g} {}", *one.resolution, channel.unit);
    if (one.rise) line += fmt::format(", follows a step within {}", format_duration(*one.rise));
    if (one.window) line += fmt::format(", a mean over {}", format_duration(*one.window));
    if (one.latency) line += fmt::format(", {} late", format_duration(*one.latency));
    lines.push_back(line);
  }
  for (const Agreement& pair : audit.agreements) lines.push_back(agreement_text(pair, channels));
  return lines;
}

}  // namespace dvfs_plan
