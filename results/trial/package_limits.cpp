// How long a CPU package drew what it is limited to. No driver counts that as boards' do, so it is told by what it drew: RAPL keeps
// the mean over a window at the limit (Intel SDM 3B, 15.10.3), within some percent where the limit holds it down.
#include <algorithm>

#include "results/trial/judge_parts.hpp"

namespace dvfs_plan {
namespace {

// Of which this share or more is drawn: it is at the limit.
constexpr double at_limit = 0.97;

double overlap_s(const std::vector<Span>& spans, Nanoseconds from, Nanoseconds to) {
  double shared = 0;
  for (const Span& span : spans) {
    const Nanoseconds begin = std::max(from, span.from), end = std::min(to, span.to);
    if (end > begin) shared += seconds(end - begin).value();
  }
  return shared;
}

// nullopt: what it drew is not known.
std::optional<double> share_at_limit(const TrialRecord& trial, std::uint32_t channel, double limit_w,
                                     const std::vector<Span>& spans) {
  double held = 0, known = 0;
  const Reading* before = nullptr;
  for (const Reading& reading : trial.readings) {
    if (reading.channel != channel) continue;
    if (!reading.value) {
      before = nullptr;
      continue;
    }
    // Repeats of a value and wraps say nothing of power.
    if (before != nullptr && *reading.value == *before->value) continue;
    if (before != nullptr && *reading.value > *before->value) {
      const double time_s = seconds(reading.time - before->time).value();
      const double counted = overlap_s(spans, before->time, reading.time);
      known += counted;
      if (time_s > 0 && (*reading.value - *before->value) / time_s >= at_limit * limit_w) held += counted;
    }
    before = &reading;
  }
  return known > 0 ? std::optional(held / known) : std::nullopt;
}

}  // namespace

void judge_packages(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans) {
  // Where boards are used the share and the limit that stand with the trial are the boards'.
  const bool of_boards = std::any_of(trial.power_limits_w.begin(), trial.power_limits_w.end(),
                                     [](const auto& one) { return !is_package(one.first); });
  for (const auto& [domain, limit_w] : trial.power_limits_w) {
    if (!is_package(domain)) continue;
    for (std::uint32_t i = 0; i < input.channels.size(); ++i) {
      const Channel& channel = input.channels[i];
      if (channel.domain != domain || channel.unit != "J" || channel.kind != ChannelKind::counter) continue;
      BoardLimits limits;
      limits.power = share_at_limit(trial, i, limit_w, spans);
      if (!limits.power) continue;
      if (!of_boards)
        trial.conditions.power_cap_share =
            std::max(trial.conditions.power_cap_share.value_or(0), *limits.power);
      if (const std::string text = limits_text(limits, limit_w); !text.empty())
        trial.events.push_back({"limited", domain + ": " + text.substr(2)});
      break;
    }
  }
}

}  // namespace dvfs_plan
