// How long a board's own limits held its clocks down, from the time counters that its driver keeps.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "results/trial/judge_parts.hpp"

namespace dvfs_plan {
namespace {

// The counter's value at a time, between the readings around it.
std::optional<double> value_at(std::span<const Reading> readings, Nanoseconds time) {
  const Reading* before = nullptr;
  for (const Reading& reading : readings) {
    if (!reading.value) continue;
    if (reading.time <= time) {
      before = &reading;
      continue;
    }
    if (before == nullptr) return *reading.value;
    const double share =
        static_cast<double>(time - before->time) / static_cast<double>(reading.time - before->time);
    return *before->value + share * (*reading.value - *before->value);
  }
  if (before == nullptr) return std::nullopt;
  return *before->value;
}

}  // namespace

BoardLimits board_limits(const TrialRecord& trial, const JudgeInput& input, const std::string& domain,
                         const std::vector<Span>& spans) {
  BoardLimits limits;
  double length = 0;
  for (const Span& span : spans) length += seconds(span.to - span.from).value();
  if (length <= 0) return limits;
  for (std::uint32_t i = 0; i < input.channels.size(); ++i) {
    const Channel& channel = input.channels[i];
    const std::string_view quantity = quantity_of(channel);
    if (channel.domain != domain || !quantity.starts_with("throttle_")) continue;
    const auto readings = of_channel(trial.readings, i);
    double held = 0;
    bool known = false;
    for (const Span& span : spans) {
      const auto from = value_at(readings, span.from), to = value_at(readings, span.to);
      if (!from || !to || *to < *from) continue;
      known = true;
      held += *to - *from;
    }
    if (!known) continue;
    const double share = std::min(1.0, held / length);
    auto& into = quantity == "throttle_power_cap"                                            ? limits.power
                 : quantity == "throttle_thermal" || quantity == "throttle_hardware_thermal" ? limits.thermal
                 : quantity == "throttle_power_brake"                                        ? limits.brake
                                                                                             : limits.other;
    into = std::max(into.value_or(0), share);
  }
  return limits;
}

std::string limits_text(const BoardLimits& limits, std::optional<double> power_limit_w) {
  constexpr double worth_saying = 0.01;
  std::string text;
  const auto add = [&](const std::optional<double>& share, const std::string& what) {
    if (share && *share >= worth_saying)
      text += fmt::format(", {:.0f} % of the region {}", 100 * *share, what);
  };
  add(limits.power,
      power_limit_w ? fmt::format("at the {:g} W limit", *power_limit_w) : "at the power limit");
  add(limits.thermal, "slowed by heat");
  add(limits.brake, "slowed by the power brake");
  add(limits.other, "slowed by its sync-boost group");
  return text;
}

std::optional<double> power_limit_of(const TrialRecord& trial, const std::string& domain) {
  const auto found = trial.power_limits_w.find(domain);
  return found == trial.power_limits_w.end() ? std::nullopt : std::optional(found->second);
}

namespace {

// Of several boards whose energy is summed, those that computed nothing in what counts: what they drew is in the sum all the same.
void name_idle_boards(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans) {
  std::set<std::string> boards;
  for (const std::uint32_t channel : input.energy_channels) {
    const std::string& domain = input.channels[channel].domain;
    if (domain.starts_with("gpu-")) boards.insert(domain);
  }
  if (boards.size() < 2) return;
  constexpr std::size_t enough = 3;
  for (std::uint32_t i = 0; i < input.channels.size(); ++i) {
    const Channel& channel = input.channels[i];
    if (channel.unit != "%" || !boards.contains(channel.domain)) continue;
    std::size_t looks = 0, busy = 0;
    for (const Reading& reading : trial.readings) {
      if (reading.channel != i || !reading.value) continue;
      const bool counts = std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
        return reading.time >= span.from && reading.time <= span.to;
      });
      looks += counts ? 1 : 0;
      busy += counts && *reading.value > 0 ? 1 : 0;
    }
    if (looks >= enough && busy == 0)
      trial.events.push_back(
          {"board_idle",
           channel.domain + " computed nothing in what counts; what it drew is in the energy all the same"});
  }
}

}  // namespace

void judge_boards(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans,
                  const std::set<std::string>& told) {
  name_idle_boards(trial, input, spans);
  std::vector<std::string> domains;
  for (const Channel& channel : input.channels) {
    const bool tells = quantity_of(channel).starts_with("throttle_");
    if (tells && std::find(domains.begin(), domains.end(), channel.domain) == domains.end())
      domains.push_back(channel.domain);
  }
  constexpr double spoils = 0.01;
  for (const std::string& domain : domains) {
    const BoardLimits limits = board_limits(trial, input, domain, spans);
    const auto raise = [](std::optional<double>& into, const std::optional<double>& share) {
      if (share) into = std::max(into.value_or(0), *share);
    };
    raise(trial.conditions.power_cap_share, limits.power);
    raise(trial.conditions.thermal_share, limits.thermal);
    const std::string text = limits_text(limits, power_limit_of(trial, domain));
    if (text.empty()) continue;
    // A power limit is part of the operating point, and will hold the clocks down again. Heat or a failing
    // supply may be gone when the trial is run again.
    if (limits.thermal.value_or(0) >= spoils || limits.brake.value_or(0) >= spoils)
      set_verdict(trial, Verdict::throttled, domain + ": " + text.substr(2));
    else if (!told.contains(domain))
      trial.events.push_back({"limited", domain + ": " + text.substr(2)});
  }
}

}  // namespace dvfs_plan
