// The energy of what counts in a trial, by every sensor, and whether to believe it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orchestrator/judge/judge_parts.hpp"
#include "results/energy/sensor_audit.hpp"

namespace dvfs_plan {
namespace {

// Two sources of the same energy: a difference to tell of, and one that spoils the trial.
constexpr double difference_to_tell = 0.05, difference_too_large = 0.15;
// Fewer fresh values than this in what counts, or a sensor part above 1 %, and the trial says what to do.
constexpr int fresh_wanted = 10;
constexpr double sensor_share_wanted = 0.01;
constexpr double share_of_no_use = 0.15;

Verdict verdict_of(EnergyFault fault) {
  switch (fault) {
    case EnergyFault::none:
      return Verdict::ok;
    case EnergyFault::absent:
      return Verdict::sensor_absent;
    case EnergyFault::denied:
      return Verdict::sensor_denied;
    case EnergyFault::gone:
      return Verdict::sensor_gone;
    case EnergyFault::dead:
      return Verdict::sensor_dead;
    case EnergyFault::frozen:
      return Verdict::sensor_frozen;
    case EnergyFault::gap:
    case EnergyFault::counter_went_back:
      return Verdict::sensor_gap;
    case EnergyFault::impossible:
      return Verdict::sensor_impossible;
  }
  return Verdict::sensor_absent;
}

std::string fault_text(EnergyFault fault, const Channel& channel) {
  switch (fault) {
    case EnergyFault::none:
      return {};
    case EnergyFault::absent:
      return fmt::format("{} gave no reading", channel.name);
    case EnergyFault::denied:
      return fmt::format("{} may not be read by this user", channel.name);
    case EnergyFault::gone:
      return fmt::format("{} went away during the trial", channel.name);
    case EnergyFault::dead:
      return channel.kind == ChannelKind::counter
                 ? fmt::format("{} did not move: a dead sensor", channel.name)
                 : fmt::format("{} read 0 W while the workload ran: a dead sensor", channel.name);
    case EnergyFault::frozen:
      return fmt::format("{} read the same value before, during and after the trial: a frozen sensor",
                         channel.name);
    case EnergyFault::gap:
      return fmt::format("{} left too much of the trial unseen", channel.name);
    case EnergyFault::counter_went_back:
      return fmt::format("{} went back without wrapping: it was reset", channel.name);
    case EnergyFault::impossible:
      return fmt::format("{} gave a value that cannot be", channel.name);
  }
  return {};
}

SensorModel model_of(const JudgeInput& input, std::uint32_t channel, bool idle) {
  const auto known = input.models.find(channel);
  SensorModel model = known == input.models.end() ? SensorModel{} : known->second;
  model.may_be_flat = idle;
  // A gauge that is a mean follows a step as late as it looks back.
  const auto& averages = input.channels[channel].averages_over_s;
  if (averages && (!model.rise || model.rise->value() < *averages)) model.rise = Seconds{*averages};
  return model;
}

// A gauge that is flat through the trial but said something else before it is coarse, not frozen.
bool moved_before(std::span<const Reading> readings, std::uint32_t channel, const JudgeInput& input) {
  const auto before = input.last_values.find(channel);
  if (before == input.last_values.end()) return false;
  const auto known =
      std::find_if(readings.begin(), readings.end(), [](const Reading& r) { return r.value.has_value(); });
  return known != readings.end() && *known->value != before->second;
}

// Stretches with less between them than half of what the sensor resolves cannot be told apart.
Nanoseconds joining_gap(const EnergyCurve& curve) {
  constexpr Nanoseconds least = 1'000'000;
  return std::max(least, nanoseconds(Seconds{curve.resolves() / 2}));
}

ChannelEnergy energy_of_regions(const EnergyCurve& curve, std::uint32_t channel, const Regions& regions) {
  ChannelEnergy sum;
  sum.channel = channel;
  double joules = 0, half_width = 0, as_read = 0;
  for (const Span& span : counted_spans(regions, joining_gap(curve))) {
    const ChannelEnergy one = curve.between(span.from, span.to);
    sum.readings = one.readings;
    if (!one.joules) {
      sum.fault = one.fault;
      return sum;
    }
    const double length = seconds(span.to - span.from).value();
    const double share = span.counted_s / length;
    joules += *one.joules * share;
    as_read += one.as_read_j.value_or(0) * share;
    // What the gaps inside drew is not known apart. Errors of many spans have the same sign (the same load
    // ends and begins at each), so they add up; and what is shorter than the sensor resolves is smeared with
    // its neighbours.
    double half = *one.half_width_j * share + *one.joules * (1 - share);
    if (regions.name != "" && length < 2 * curve.resolves())
      half += *one.joules * std::min(1.0, curve.resolves() / length);
    half_width += half;
    sum.fresh += one.fresh;
  }
  if (sum.readings == 0) {
    sum.fault = EnergyFault::absent;
    return sum;
  }
  sum.joules = joules;
  sum.half_width_j = half_width;
  if (curve.counter()) sum.as_read_j = as_read;
  return sum;
}

// Energy of single stretches by the experiment's source, where they are long enough for the sensor to tell.
void energy_of_each(TrialRecord& trial, const std::map<std::uint32_t, EnergyCurve>& curves,
                    const JudgeInput& input) {
  for (RegionRecord& region : trial.regions) {
    double joules = 0;
    bool known = !input.energy_channels.empty();
    for (const std::uint32_t channel : input.energy_channels) {
      const auto curve = curves.find(channel);
      if (curve == curves.end()) {
        known = false;
        break;
      }
      constexpr double updates_to_tell = 2;
      const auto update = curve->second.update();
      const double length = seconds(region.ended - region.started).value();
      const auto one = curve->second.between(region.started, region.ended);
      known =
          known && one.joules && one.fresh >= 2 && (!update || length >= updates_to_tell * update->value());
      joules += one.joules.value_or(0);
    }
    if (known) region.joules = joules;
  }
}

void compare_sources(TrialRecord& trial, const JudgeInput& input) {
  for (const ChannelEnergy& integral : trial.energies) {
    const Channel& mine = input.channels[integral.channel];
    if (mine.kind != ChannelKind::gauge || !integral.joules) continue;
    for (const ChannelEnergy& counter : trial.energies) {
      const Channel& other = input.channels[counter.channel];
      if (other.kind != ChannelKind::counter || other.domain != mine.domain || !counter.joules ||
          *counter.joules <= 0)
        continue;
      const double difference = *integral.joules / *counter.joules - 1;
      const double explained = (*integral.half_width_j + *counter.half_width_j) / *counter.joules;
      if (std::abs(difference) <= std::max(difference_to_tell, explained)) continue;
      const std::string text =
          fmt::format("{} and {} differ by {:+.1f} %", mine.name, other.name, 100 * difference);
      const auto& source = input.energy_channels;
      const bool matters = std::find(source.begin(), source.end(), counter.channel) != source.end() ||
                           std::find(source.begin(), source.end(), integral.channel) != source.end();
      if (matters && input.energy_needed && std::abs(difference) > difference_too_large)
        set_verdict(trial, Verdict::sensors_disagree, text + ": one of them is wrong");
      else
        trial.events.push_back({"sensors_disagree", text});
    }
  }
}

void say_if_too_short(TrialRecord& trial, const std::optional<Seconds>& update) {
  if (!trial.energy_j || !trial.region_s || trial.runs.empty()) return;
  const double share = trial.energy_half_width_j.value_or(0) / std::max(1e-12, *trial.energy_j);
  if (trial.fresh_readings >= fresh_wanted && share <= sensor_share_wanted) return;
  std::string text = update ? region_advice(*update, Seconds{*trial.region_s}, sensor_share_wanted / 2) : "";
  if (share > share_of_no_use) {
    text = fmt::format(
        "what counts is too short for the sensor, which is then known to ±{:.2g} % only; mark one region "
        "around "
        "the steps, or lengthen it",
        100 * share);
  }
  if (text.empty())
    text = fmt::format(
        "{} fresh readings in {:.3g} s: the sensor alone adds ±{:.2g} %; a longer region is known better",
        trial.fresh_readings, *trial.region_s, 100 * share);
  trial.events.push_back({"short_region", text});
}

}  // namespace

void judge_energy(TrialRecord& trial, const JudgeInput& input, const Regions& regions) {
  std::map<std::uint32_t, EnergyCurve> curves;
  const bool idle = is_idle(trial.role);
  for (std::uint32_t i = 0; i < input.channels.size(); ++i) {
    if (!measures_energy(input.channels[i])) continue;
    const auto readings = of_channel(trial.readings, i);
    const bool may_be_flat = idle || moved_before(readings, i, input);
    const EnergyCurve curve(input.channels[i], readings, model_of(input, i, may_be_flat));
    trial.energies.push_back(energy_of_regions(curve, i, regions));
    curves.emplace(i, curve);
  }
  double total = 0, squares = 0;
  bool known = !input.energy_channels.empty();
  std::optional<Seconds> update;
  trial.fresh_readings = known ? INT32_MAX : 0;
  for (const std::uint32_t channel : input.energy_channels) {
    const auto energy = std::find_if(trial.energies.begin(), trial.energies.end(),
                                     [&](const ChannelEnergy& e) { return e.channel == channel; });
    if (energy != trial.energies.end() && energy->joules) {
      total += *energy->joules;
      squares += *energy->half_width_j * *energy->half_width_j;
      trial.fresh_readings = std::min(trial.fresh_readings, energy->fresh);
      const auto mine = curves.at(channel).update();
      if (mine && (!update || *mine > *update)) update = mine;
      continue;
    }
    known = false;
    const EnergyFault fault = energy == trial.energies.end() ? EnergyFault::absent : energy->fault;
    const auto said = input.impossible.find(channel);
    const std::string text = fault == EnergyFault::impossible && said != input.impossible.end()
                                 ? said->second
                                 : fault_text(fault, input.channels[channel]);
    if (input.energy_needed)
      set_verdict(trial, verdict_of(fault), text);
    else
      trial.events.push_back({std::string(to_string(verdict_of(fault))), text});
  }
  if (known) {
    trial.energy_j = total;
    trial.energy_half_width_j = std::sqrt(squares);
    energy_of_each(trial, curves, input);
    compare_sources(trial, input);
    if (counts_for_its_point(trial.role)) say_if_too_short(trial, update);
    return;
  }
  trial.fresh_readings = 0;
  if (input.energy_channels.empty() && input.energy_needed)
    set_verdict(trial, Verdict::sensor_absent, "this machine has no energy sensor that works");
}

}  // namespace dvfs_plan
