#include "orchestrator/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// A clock counts as delivered if it was there in 95 % of the readings; a single odd one is no verdict.
constexpr double share_that_may_be_off = 0.05;
constexpr int readings_off_for_a_verdict = 2;
// Below this load a clock measured from APERF/MPERF is that of housekeeping, not of the workload.
constexpr double least_load = 0.2;

void set(TrialRecord& trial, Verdict verdict, std::string text) {
  if (trial.verdict != Verdict::ok) return;  // the first cause stays
  trial.verdict = verdict;
  trial.verdict_text = std::move(text);
}

void judge_child(TrialRecord& trial) {
  const ChildResult& child = trial.child;
  switch (child.end) {
    case ChildResult::End::exited:
      if (child.exit_code != 0)
        set(trial, Verdict::exited, fmt::format("the workload exited with {}", child.exit_code));
      break;
    case ChildResult::End::signalled:
      set(trial, Verdict::signalled, fmt::format("the workload was ended by {}", signal_name(child.signal)));
      break;
    case ChildResult::End::timed_out:
      set(trial, Verdict::timed_out,
          fmt::format("the workload was ended at its timeout after {}",
                      format_duration(seconds(child.ended - child.started))));
      break;
    case ChildResult::End::interrupted:
    case ChildResult::End::not_launched:
      set(trial, Verdict::not_launched, child.problem);
      break;
  }
}

double percentile(const std::vector<double>& sorted, double share) {
  const auto at = static_cast<std::size_t>(std::llround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

bool under_load(const JudgeInput& input, const std::string& target) {
  const auto cpus = input.cpus_of_target.find(target);
  if (cpus == input.cpus_of_target.end()) return true;
  return std::any_of(cpus->second.begin(), cpus->second.end(), [&](int cpu) {
    const auto busy = input.busy.find(cpu);
    return busy != input.busy.end() && busy->second >= least_load;
  });
}

void judge_delivered(TrialRecord& trial, SettingRecord& setting, const JudgeInput& input) {
  const auto channel = std::find_if(input.channels.begin(), input.channels.end(), [&](const Channel& c) {
    return c.unit == "Hz" && c.domain == setting.target;
  });
  const auto requested = input.requested.find(setting.axis);
  if (channel == input.channels.end() || requested == input.requested.end()) return;
  std::vector<double> clocks;
  for (const Reading& reading :
       of_channel(trial.readings, static_cast<std::uint32_t>(channel - input.channels.begin()))) {
    if (reading.value && reading.time >= trial.child.started && reading.time <= trial.child.ended)
      clocks.push_back(*reading.value);
  }
  if (clocks.empty()) {
    // A trial shorter than the probe's period: the readings at its edges are better than none.
    for (const Reading& reading :
         of_channel(trial.readings, static_cast<std::uint32_t>(channel - input.channels.begin()))) {
      if (reading.value) clocks.push_back(*reading.value);
    }
  }
  if (clocks.empty()) return;
  double sum = 0;
  for (const double clock : clocks) sum += clock;
  setting.delivered = sum / static_cast<double>(clocks.size());
  setting.delivered_readings = static_cast<int>(clocks.size());
  std::sort(clocks.begin(), clocks.end());
  setting.delivered_low = percentile(clocks, 0.05);
  setting.delivered_high = percentile(clocks, 0.95);

  const auto tolerance = input.tolerance.find(setting.axis);
  if (tolerance == input.tolerance.end() || (channel->under_load_only && !under_load(input, setting.target)))
    return;
  const bool only_below = input.turbo_steps.contains(setting.axis);
  const auto off = static_cast<int>(std::count_if(clocks.begin(), clocks.end(), [&](double clock) {
    const double faster = clock - requested->second;
    return -faster > tolerance->second || (!only_below && faster > tolerance->second);
  }));
  const bool all = off == setting.delivered_readings;
  const bool too_many =
      off >= readings_off_for_a_verdict && off > share_that_may_be_off * setting.delivered_readings;
  if (all || too_many) {
    set(trial, Verdict::not_delivered,
        fmt::format("{} requested on {}, {} delivered (mean of {} readings, {} of them off)",
                    setting.requested, setting.target,
                    format_quantity(*setting.delivered, Dimension::frequency), setting.delivered_readings,
                    off));
  }
}

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
  }
  return {};
}

// A gauge that is flat through the trial but said something else before it is coarse, not frozen.
ChannelEnergy unless_it_moved(ChannelEnergy energy, std::uint32_t channel, const TrialRecord& trial,
                              const JudgeInput& input) {
  const auto before = input.last_values.find(channel);
  if (energy.fault != EnergyFault::frozen || before == input.last_values.end()) return energy;
  const auto readings = of_channel(trial.readings, channel);
  const auto known =
      std::find_if(readings.begin(), readings.end(), [](const Reading& r) { return r.value.has_value(); });
  if (known == readings.end() || *known->value == before->second) return energy;
  energy.fault = EnergyFault::none;
  energy.joules = *known->value * seconds(trial.child.ended - trial.child.started).value();
  return energy;
}

void judge_energy(TrialRecord& trial, const JudgeInput& input) {
  for (std::uint32_t i = 0; i < input.channels.size(); ++i) {
    if (!measures_energy(input.channels[i])) continue;
    auto energy = energy_between(input.channels[i], of_channel(trial.readings, i), trial.child.started,
                                 trial.child.ended);
    energy.channel = i;
    energy = unless_it_moved(energy, i, trial, input);
    trial.energies.push_back(energy);
  }
  double total = 0;
  bool known = !input.energy_channels.empty();
  for (const std::uint32_t channel : input.energy_channels) {
    const auto energy = std::find_if(trial.energies.begin(), trial.energies.end(),
                                     [&](const ChannelEnergy& e) { return e.channel == channel; });
    if (energy != trial.energies.end() && energy->joules) {
      total += *energy->joules;
      continue;
    }
    known = false;
    const EnergyFault fault = energy == trial.energies.end() ? EnergyFault::absent : energy->fault;
    if (input.energy_needed)
      set(trial, verdict_of(fault), fault_text(fault, input.channels[channel]));
    else
      trial.events.push_back(
          {std::string(to_string(verdict_of(fault))), fault_text(fault, input.channels[channel])});
  }
  if (known)
    trial.energy_j = total;
  else if (input.energy_channels.empty() && input.energy_needed)
    set(trial, Verdict::sensor_absent, "this machine has no energy sensor that works");
}

}  // namespace

double delivered_tolerance(const std::vector<double>& offered, bool continuous, double value) {
  double gap = 0;
  for (const double other : offered) {
    const double distance = std::abs(other - value);
    if (distance > 0 && (gap == 0 || distance < gap)) gap = distance;
  }
  // Half a step, or a whole one where any clock may be asked for. Never under 1 % (a measured clock scatters
  // so much) nor over 3 % (a table with wide steps must not hide a cap); 5 % for whole steps.
  if (continuous) return std::clamp(gap, 0.01 * value, 0.05 * value);
  return gap == 0 ? 0.03 * value : std::clamp(gap / 2, 0.01 * value, 0.03 * value);
}

bool is_turbo_step(const std::vector<double>& offered, double value) {
  constexpr double one_mhz = 1e6;
  const bool highest =
      std::none_of(offered.begin(), offered.end(), [&](double other) { return other > value; });
  return highest && std::any_of(offered.begin(), offered.end(),
                                [&](double other) { return std::abs(value - other - one_mhz) < 1e3; });
}

void judge(TrialRecord& trial, const JudgeInput& input) {
  if (trial.knob_refused) return;  // its verdict was set when it was refused
  judge_child(trial);
  if (trial.child.end == ChildResult::End::not_launched) return;
  if (trial.child.stopped_meanwhile)
    set(trial, Verdict::stopped,
        "dvfs-plan itself was stopped and continued meanwhile: the end of the trial was not seen");
  for (SettingRecord& setting : trial.settings) {
    judge_delivered(trial, setting, input);
    if (input.requested.contains(setting.axis) && !setting.delivered) {
      trial.events.push_back(
          {"delivered_unknown", fmt::format("nothing tells at which clock {} really ran; {} was requested",
                                            setting.target, setting.requested)});
    }
  }
  judge_energy(trial, input);
  for (const auto& [stream, name] :
       {std::pair{&trial.child.output, "output"}, std::pair{&trial.child.errors, "error output"}}) {
    if (stream->truncated()) {
      trial.events.push_back(
          {"output_truncated", fmt::format("{} of {} bytes of its {} were kept, from the end",
                                           stream->tail.size(), stream->bytes, name)});
    }
  }
  if (trial.child.leftovers > 0) {
    trial.events.push_back(
        {"leftover_processes",
         fmt::format("it left {} process{} running, which {} ended", trial.child.leftovers,
                     trial.child.leftovers == 1 ? "" : "es", trial.child.leftovers == 1 ? "was" : "were")});
  }
}

}  // namespace dvfs_plan
