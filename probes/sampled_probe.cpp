#include "probes/sampled_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dvfs_plan {
namespace {

constexpr Nanoseconds shortest_period = 100'000;

}  // namespace

SampledProbe::SampledProbe(std::unique_ptr<Probe> probe, std::uint32_t first_channel, const Clock& clock)
    : probe_(std::move(probe)),
      first_channel_(first_channel),
      clock_(clock),
      period_(std::max(nanoseconds(probe_->period()), shortest_period)),
      at_random_(std::any_of(channels().begin(), channels().end(),
                             [](const Channel& c) {
                               return c.kind == ChannelKind::gauge && c.unit == "W" && !c.told_when_new;
                             })),
      samples_(channels().size()) {}

void SampledProbe::set_period(Seconds period) {
  period_ = std::max(nanoseconds(period), shortest_period);
  followed_ = {};
}

void SampledProbe::follow(std::size_t channel, Seconds update) {
  period_ = nanoseconds(update);
  followed_ = FollowedUpdates(nanoseconds(update));
  followed_channel_ = channel;
}

void SampledProbe::begin() {
  readings_.clear();
  impossible_.clear();
  const Nanoseconds now = clock_.now();
  // Another run of random times in each trial, as no two begin at the same nanosecond; and in each probe.
  constexpr Nanoseconds apart = 7919;
  random_.seed(static_cast<std::minstd_rand::result_type>(now + apart * first_channel_));
  told_ = probe_->begin();
  followed_.begin();
  followed_value_.reset();
  const Nanoseconds looked = read();
  planned_ = now + period_;
  due_ = followed_.follows() ? next_look(looked, clock_.now()) : around_planned();
}

Nanoseconds SampledProbe::late(std::size_t channel) const {
  return nanoseconds(Seconds{channels()[channel].late_by_s.value_or(0)});
}

Nanoseconds SampledProbe::read() {
  const Nanoseconds before = clock_.now();
  probe_->read(samples_);
  const Nanoseconds took = clock_.now() - before;
  cost_ = cost_ == 0 ? took : (3 * cost_ + took) / 4;
  const Nanoseconds middle = before + took / 2;
  keep(middle);
  while (probe_->has_more()) {
    probe_->read(samples_);
    keep(middle);
  }
  return middle;
}

void SampledProbe::keep(Nanoseconds looked) {
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    Sample& sample = samples_[i];
    if (!sample.value && sample.status == ReadingStatus::ok) continue;
    const Nanoseconds time = sample.told_at.value_or(looked) - late(i);
    if (sample.value) refuse_impossible(i, time, sample);
    readings_.push_back({first_channel_ + static_cast<std::uint32_t>(i), time, sample.value, sample.status});
  }
}

void SampledProbe::read_due(Nanoseconds now) {
  const Nanoseconds looked = read();
  if (followed_.follows()) {
    due_ = next_look(looked, clock_.now());
    return;
  }
  // Stay on the grid; after a stall go on from now instead of catching up in a burst.
  planned_ += period_;
  if (planned_ <= now) planned_ = now + period_;
  // A probe that takes longer than its period is read every other moment: whoever wants its thread to stop
  // must get a word in between two reads.
  due_ = std::max(around_planned(), clock_.now() + std::min(cost_, period_));
}

std::vector<Reading> SampledProbe::take() {
  return std::exchange(readings_, {});
}

// Uniform within 0.4 of a period to either side of what is planned.
Nanoseconds SampledProbe::around_planned() {
  if (!at_random_) return planned_;
  constexpr double reach = 0.4;
  const double off = 2 * std::generate_canonical<double, 24>(random_) - 1;
  return planned_ + static_cast<Nanoseconds>(reach * off * static_cast<double>(period_));
}

Nanoseconds SampledProbe::next_look(Nanoseconds looked, Nanoseconds now) {
  const std::optional<double> value = samples_[followed_channel_].value;
  const bool changed = value && followed_value_ && *value != *followed_value_;
  if (value) followed_value_ = value;
  return std::max(followed_.next(looked, cost_, changed), now);
}

void SampledProbe::refuse_impossible(std::size_t channel, Nanoseconds time, Sample& sample) {
  std::string reason = impossible_because(channels()[channel], *sample.value);
  if (reason.empty()) return;
  const std::uint32_t number = first_channel_ + static_cast<std::uint32_t>(channel);
  // Of each channel: one that is always out of its bounds must not hide what another says.
  constexpr std::ptrdiff_t kept = 2;
  const auto known = std::count_if(impossible_.begin(), impossible_.end(),
                                   [&](const ImpossibleValue& one) { return one.channel == number; });
  if (known < kept)
    impossible_.push_back(
        {number, time,
         sample.text.empty() ? fmt::format("{:g} {}", *sample.value, channels()[channel].unit) : sample.text,
         std::move(reason)});
  sample = {std::nullopt, ReadingStatus::impossible, {}};
}

}  // namespace dvfs_plan
