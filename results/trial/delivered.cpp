// Did the hardware run at the clock that was asked for?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.hpp"
#include "results/trial/judge_parts.hpp"

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
  trial.events.push_back(
      {"not_delivered",
       fmt::format("{} requested on {}, {} delivered (mean of {} readings under load, {} of them off){}",
                   setting.requested, setting.target, format_clock(*setting.delivered, setting.requested),
                   setting.delivered_readings, off,
                   limits_text(board_limits(trial, input, setting.target, spans),
                               power_limit_of(trial, setting.target)))});
}

// A lock that was acknowledged and cannot be read back is in force as far as the clock shows it. Faster than
// locked, it is not. Slower may be a limit of the board, which then says so; without a limit that binds, only
// what lies near the request shows the lock (boards that step down as they warm up say nothing of it).
void judge_lock(TrialRecord& trial, const SettingRecord& setting, const JudgeInput& input,
                const std::vector<Span>& spans) {
  constexpr double near = 0.1, binds = 0.01;
  const double delivered = *setting.delivered, requested = setting.clock->requested;
  const BoardLimits limits = board_limits(trial, input, setting.target, spans);
  double held = 0;
  bool told = false;
  for (const auto& share : {limits.power, limits.thermal, limits.brake, limits.other}) {
    told = told || share.has_value();
    held = std::max(held, share.value_or(0));
  }
  const bool faster = delivered - requested > setting.clock->tolerance;
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
bool left_by_the_kernel(TrialRecord& trial, SettingRecord& setting) {
  const double elsewhere = setting.clock->elsewhere_s.value_or(0), all = setting.clock->counted_s.value_or(0);
  constexpr double ticks = 0.05;
  if (elsewhere <= ticks || elsewhere <= share_that_may_be_off * all) return false;
  setting.as_requested = false;
  set_verdict(trial, Verdict::not_delivered,
              fmt::format("{} requested on {}; the kernel had it at other clocks for {:.2f} of {:.2f} s "
                          "(stats/time_in_state): a cap of the firmware, or somebody's hand",
                          setting.requested, setting.target, elsewhere, all));
  return true;
}

// Whether the requested clock was delivered; nullopt if that cannot be told.
std::optional<bool> judge_delivered(TrialRecord& trial, SettingRecord& setting, const JudgeInput& input,
                                    const std::vector<Span>& spans) {
  const ClockRule& rule = *setting.clock;
  const auto by_the_kernel = left_by_the_kernel(trial, setting) ? std::optional(false) : std::nullopt;
  const auto channel = std::find_if(input.channels.begin(), input.channels.end(), [&](const Channel& c) {
    return c.unit == "Hz" && c.domain == setting.target &&
           (rule.quantity.empty() || quantity_of(c) == rule.quantity);
  });
  if (channel == input.channels.end()) return by_the_kernel;
  std::vector<double> clocks =
      clocks_that_count(trial, input, static_cast<std::uint32_t>(channel - input.channels.begin()), spans);
  if (clocks.empty()) return by_the_kernel;
  double sum = 0;
  for (const double clock : clocks) sum += clock;
  setting.delivered = sum / static_cast<double>(clocks.size());
  setting.delivered_readings = static_cast<int>(clocks.size());
  std::sort(clocks.begin(), clocks.end());
  setting.delivered_low = percentile(clocks, 0.05);
  setting.delivered_high = percentile(clocks, 0.95);

  if (by_the_kernel) return by_the_kernel;
  const bool of_cpus = rule.quantity.empty();
  if (of_cpus && channel->under_load_only && rule.busiest.value_or(0) < least_load) return std::nullopt;
  const auto off = static_cast<int>(std::count_if(clocks.begin(), clocks.end(), [&](double clock) {
    const double faster = clock - rule.requested;
    return -faster > rule.tolerance || (!rule.or_higher && faster > rule.tolerance);
  }));
  const bool all = off == setting.delivered_readings;
  const bool too_many =
      off >= readings_off_for_a_verdict && off > share_that_may_be_off * setting.delivered_readings;
  setting.as_requested = !(all || too_many);
  if (*setting.as_requested) return true;
  if (!rule.quantity.empty()) {
    if (rule.only_proof) judge_lock(trial, setting, input, spans);
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

// One sentence an axis: a machine may have a policy for each of 128 CPUs.
void tell_unknown_clocks(TrialRecord& trial) {
  std::map<int, std::pair<const SettingRecord*, int>> unknown;  // the first of each axis, how many
  for (const SettingRecord& setting : trial.settings) {
    if (!setting.clock || setting.delivered) continue;
    auto& [first, targets] = unknown[setting.axis];
    if (targets++ == 0) first = &setting;
  }
  for (const auto& [axis, found] : unknown) {
    const auto& [first, targets] = found;
    trial.events.push_back(
        {"delivered_unknown",
         fmt::format("nothing tells at which clock {}{} really ran; {} was requested", first->target,
                     targets == 1 ? "" : fmt::format(" and {} more", targets - 1), first->requested)});
  }
}

// A lock that cannot be read back, and no clock of any board that worked: one board in use speaks for the
// others.
void judge_unseen_locks(TrialRecord& trial) {
  std::map<int, std::pair<const SettingRecord*, bool>> locks;  // the first of each axis; is one shown?
  for (const SettingRecord& setting : trial.settings) {
    if (!setting.clock || !setting.clock->only_proof) continue;
    auto& [first, shown] = locks.try_emplace(setting.axis, &setting, false).first->second;
    shown = shown || setting.delivered;
  }
  for (const auto& [axis, lock] : locks) {
    const auto& [first, shown] = lock;
    if (shown) continue;
    set_verdict(
        trial, Verdict::not_in_force,
        fmt::format("nothing shows that {} was in force on {}: such a lock cannot be read back, and no "
                    "clock was read while it worked",
                    first->requested, first->target));
  }
}

}  // namespace

Delivered judge_clocks(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans) {
  Delivered delivered;
  bool any = false;
  for (SettingRecord& setting : trial.settings) {
    if (!setting.clock) continue;
    any = true;
    const auto as_requested = judge_delivered(trial, setting, input, spans);
    delivered.all = as_requested.value_or(false) && delivered.all;
    if (as_requested == false && !setting.clock->quantity.empty()) delivered.boards.insert(setting.target);
  }
  delivered.all = delivered.all && any;
  tell_unknown_clocks(trial);
  judge_unseen_locks(trial);
  return delivered;
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
