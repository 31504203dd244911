// Did the hardware run at the clock that was asked for?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "orchestrator/judge/judge_parts.hpp"

namespace dvfs_plan {
namespace {

// A clock counts as delivered if it was there in 95 % of the readings; a single odd one is no verdict.
constexpr double share_that_may_be_off = 0.05;
constexpr int readings_off_for_a_verdict = 2;
// Below this load a clock measured from APERF/MPERF is that of housekeeping, not of the workload.
constexpr double least_load = 0.2;

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

// Readings of the clock inside what counts; where its board tells its load, only those under load: an idle
// board rests at a clock of its own.
std::vector<double> clocks_that_count(const TrialRecord& trial, const JudgeInput& input, std::uint32_t clock,
                                      const std::vector<Span>& spans) {
  const Channel& mine = input.channels[clock];
  const auto load = std::find_if(input.channels.begin(), input.channels.end(),
                                 [&](const Channel& c) { return c.unit == "%" && c.domain == mine.domain; });
  std::vector<Reading> loads;
  if (load != input.channels.end())
    loads = of_channel(trial.readings, static_cast<std::uint32_t>(load - input.channels.begin()));
  const auto idle_at = [&](Nanoseconds time) {
    const auto after = std::lower_bound(loads.begin(), loads.end(), time,
                                        [](const Reading& r, Nanoseconds t) { return r.time < t; });
    return after != loads.end() && after->value && *after->value == 0;
  };
  const auto readings = of_channel(trial.readings, clock);
  std::vector<double> clocks;
  for (const Reading& reading : readings) {
    // Spans are disjoint and in order: the last that begins before the reading is the only one that can hold
    // it.
    const auto behind = std::upper_bound(spans.begin(), spans.end(), reading.time,
                                         [](Nanoseconds time, const Span& span) { return time < span.from; });
    const bool counts = behind != spans.begin() && reading.time <= std::prev(behind)->to;
    if (reading.value && counts && !idle_at(reading.time)) clocks.push_back(*reading.value);
  }
  if (!clocks.empty() || !loads.empty()) return clocks;
  // A trial shorter than the probe's period: the readings at its edges are better than none.
  for (const Reading& reading : readings) {
    if (reading.value) clocks.push_back(*reading.value);
  }
  return clocks;
}

// What the board ran at instead, and why: no fault of the trial, which is filed under it.
void tell_of_board(TrialRecord& trial, const SettingRecord& setting, const JudgeInput& input, int off,
                   const std::vector<Span>& spans) {
  const auto watts = input.power_limit_w.find(setting.target);
  trial.events.push_back(
      {"not_delivered",
       fmt::format(
           "{} requested on {}, {} delivered (mean of {} readings under load, {} of them off){}",
           setting.requested, setting.target, format_clock(*setting.delivered, setting.requested),
           setting.delivered_readings, off,
           limits_text(board_limits(trial, input, setting.target, spans),
                       watts == input.power_limit_w.end() ? std::nullopt : std::optional(watts->second)))});
}

// A lock that was acknowledged and cannot be read back is in force as far as the clock shows it. Faster than
// locked, it is not. Slower may be a limit of the board, which then says so; without a limit that binds, only
// what lies near the request shows the lock (boards that step down as they warm up say nothing of it).
void judge_lock(TrialRecord& trial, const SettingRecord& setting, const JudgeInput& input, double requested,
                const std::vector<Span>& spans) {
  constexpr double near = 0.1, binds = 0.01;
  const double delivered = *setting.delivered;
  const BoardLimits limits = board_limits(trial, input, setting.target, spans);
  double held = 0;
  bool told = false;
  for (const auto& share : {limits.power, limits.thermal, limits.brake, limits.other}) {
    told = told || share.has_value();
    held = std::max(held, share.value_or(0));
  }
  const auto tolerance = input.tolerance.find(setting.axis);
  const double scatter = tolerance == input.tolerance.end() ? near * requested : tolerance->second;
  const bool faster = delivered - requested > scatter;
  const bool explained = !faster && (!told || held >= binds || delivered >= (1 - near) * requested);
  if (explained) return;
  set_verdict(
      trial, Verdict::not_in_force,
      fmt::format("{} was requested on {} and acknowledged, but it ran at {}{}: the setting had no effect",
                  setting.requested, setting.target, format_clock(delivered, setting.requested),
                  faster ? "" : ", and none of its limits held it down"));
}

// Whether the kernel itself had the target at another clock for a part of the trial: by a cap that came and
// went, or by somebody's hand. What the hardware did in between is not known; that it was not what was asked
// for is.
bool left_by_the_kernel(TrialRecord& trial, SettingRecord& setting, const JudgeInput& input,
                        double requested) {
  const auto residency = input.residency.find(setting.target);
  if (residency == input.residency.end()) return false;
  double elsewhere = 0, all = 0;
  for (const auto& [hertz, seconds] : residency->second) {
    all += seconds;
    if (std::abs(hertz - requested) > 1e3) elsewhere += seconds;
  }
  constexpr double ticks = 0.05;
  if (elsewhere <= ticks || elsewhere <= share_that_may_be_off * all) return false;
  setting.as_requested = false;
  set_verdict(trial, Verdict::not_delivered,
              fmt::format("{} requested on {}; the kernel had it at other clocks for {:.2f} of {:.2f} s "
                          "(stats/time_in_state): a cap of the firmware, or somebody's hand",
                          setting.requested, setting.target, elsewhere, all));
  return true;
}

}  // namespace

std::optional<bool> judge_delivered(TrialRecord& trial, SettingRecord& setting, const JudgeInput& input,
                                    const std::vector<Span>& spans) {
  const auto board = input.board_clock.find(setting.axis);
  const auto channel = std::find_if(input.channels.begin(), input.channels.end(), [&](const Channel& c) {
    return c.unit == "Hz" && c.domain == setting.target &&
           (board == input.board_clock.end() || quantity_of(c) == board->second);
  });
  const auto requested = input.requested.find(setting.axis);
  if (requested != input.requested.end() && left_by_the_kernel(trial, setting, input, requested->second))
    return false;
  if (channel == input.channels.end() || requested == input.requested.end()) return std::nullopt;
  std::vector<double> clocks =
      clocks_that_count(trial, input, static_cast<std::uint32_t>(channel - input.channels.begin()), spans);
  if (clocks.empty()) return std::nullopt;
  double sum = 0;
  for (const double clock : clocks) sum += clock;
  setting.delivered = sum / static_cast<double>(clocks.size());
  setting.delivered_readings = static_cast<int>(clocks.size());
  std::sort(clocks.begin(), clocks.end());
  setting.delivered_low = percentile(clocks, 0.05);
  setting.delivered_high = percentile(clocks, 0.95);

  const auto tolerance = input.tolerance.find(setting.axis);
  if (tolerance == input.tolerance.end() || (channel->under_load_only && !under_load(input, setting.target)))
    return std::nullopt;
  const bool only_below = input.turbo_steps.contains(setting.axis);
  const auto off = static_cast<int>(std::count_if(clocks.begin(), clocks.end(), [&](double clock) {
    const double faster = clock - requested->second;
    return -faster > tolerance->second || (!only_below && faster > tolerance->second);
  }));
  const bool all = off == setting.delivered_readings;
  const bool too_many =
      off >= readings_off_for_a_verdict && off > share_that_may_be_off * setting.delivered_readings;
  setting.as_requested = !(all || too_many);
  if (*setting.as_requested) return true;
  if (board != input.board_clock.end()) {
    if (input.shown_by_clock_only.contains(setting.axis))
      judge_lock(trial, setting, input, requested->second, spans);
    tell_of_board(trial, setting, input, off, spans);
    return false;
  }
  const double events = trial.conditions.throttle_events.value_or(0);
  set_verdict(trial, events > 0 ? Verdict::throttled : Verdict::not_delivered,
              fmt::format("{} requested on {}, {} delivered (mean of {} readings, {} of them off{})",
                          setting.requested, setting.target,
                          format_clock(*setting.delivered, setting.requested), setting.delivered_readings,
                          off, events > 0 ? fmt::format("; {:.0f} thermal throttle events", events) : ""));
  return false;
}

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

}  // namespace dvfs_plan
