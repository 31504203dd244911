#include "probes/sampler.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace dvfs_plan {

Sampler::Sampler(std::vector<std::unique_ptr<Probe>> probes, const Clock& clock, Drive drive)
    : clock_(clock), drive_(drive) {
  for (auto& probe : probes) {
    Source source;
    source.first_channel = static_cast<std::uint32_t>(channels_.size());
    source.period = std::max<Nanoseconds>(nanoseconds(probe->period()), 100'000);
    source.samples.resize(probe->channels().size());
    source.at_random = std::any_of(probe->channels().begin(), probe->channels().end(), [](const Channel& c) {
      return c.kind == ChannelKind::gauge && c.unit == "W" && !c.told_when_new;
    });
    channels_.insert(channels_.end(), probe->channels().begin(), probe->channels().end());
    source.probe = std::move(probe);
    sources_.push_back(std::move(source));
  }
}

std::unique_lock<std::mutex> Sampler::lock_now() const {
  ++waiting_;
  std::unique_lock lock(mutex_);
  if (--waiting_ == 0) waiting_.notify_all();
  return lock;
}

Sampler::~Sampler() {
  if (!thread_.joinable()) return;
  {
    const auto lock = lock_now();
    quit_ = true;
    sampling_ = false;
  }
  changed_.notify_all();
  thread_.join();
}

Nanoseconds Sampler::read(Source& source) {
  const Nanoseconds before = clock_.now();
  source.probe->read(source.samples);
  const Nanoseconds took = clock_.now() - before;
  source.cost = source.cost == 0 ? took : (3 * source.cost + took) / 4;
  const Nanoseconds middle = before + took / 2;
  for (std::size_t i = 0; i < source.samples.size(); ++i) {
    Sample& sample = source.samples[i];
    if (!sample.value && sample.status == ReadingStatus::ok) continue;
    if (sample.value) refuse_impossible(source.first_channel + static_cast<std::uint32_t>(i), middle, sample);
    readings_.push_back(
        {source.first_channel + static_cast<std::uint32_t>(i), middle, sample.value, sample.status});
  }
  return middle;
}

// Uniform within 0.4 of a period to either side of what is planned.
Nanoseconds Sampler::around(const Source& source) {
  if (!source.at_random) return source.planned;
  constexpr double reach = 0.4;
  const double off = 2 * std::generate_canonical<double, 24>(random_) - 1;
  return source.planned + static_cast<Nanoseconds>(reach * off * static_cast<double>(source.period));
}

Nanoseconds Sampler::next_look(Source& source, Nanoseconds looked, Nanoseconds now) {
  const std::optional<double> value = source.samples[source.followed_channel].value;
  const bool changed = value && source.followed_value && *value != *source.followed_value;
  if (value) source.followed_value = value;
  return std::max(source.followed.next(looked, source.cost, changed), now);
}

void Sampler::refuse_impossible(std::uint32_t channel, Nanoseconds time, Sample& sample) {
  std::string reason = impossible_because(channels_[channel], *sample.value);
  if (reason.empty()) return;
  // Of each channel: one that is always out of its bounds must not hide what another says.
  constexpr std::ptrdiff_t kept = 2;
  const auto known = std::count_if(impossible_.begin(), impossible_.end(),
                                   [&](const Impossible& one) { return one.channel == channel; });
  if (known < kept)
    impossible_.push_back(
        {channel, time,
         sample.text.empty() ? fmt::format("{:g} {}", *sample.value, channels_[channel].unit) : sample.text,
         std::move(reason)});
  sample = {std::nullopt, ReadingStatus::impossible, {}};
}

std::vector<Sampler::Impossible> Sampler::impossible() const {
  const auto lock = lock_now();
  return impossible_;
}

std::size_t Sampler::source_of(std::uint32_t channel) const {
  std::size_t i = sources_.size();
  while (--i > 0 && sources_[i].first_channel > channel) {
  }
  return i;
}

std::vector<Reading> Sampler::look(const std::string& unit) {
  const auto lock = lock_now();
  readings_.clear();
  for (Source& source : sources_) {
    const auto& channels = source.probe->channels();
    if (std::any_of(channels.begin(), channels.end(), [&](const Channel& c) { return c.unit == unit; }))
      read(source);
  }
  return std::exchange(readings_, {});
}

void Sampler::set_period(std::uint32_t channel, Seconds period) {
  const auto lock = lock_now();
  Source& source = sources_.at(source_of(channel));
  source.period = std::max<Nanoseconds>(nanoseconds(period), 100'000);
  source.followed = {};
}

void Sampler::follow(std::uint32_t channel, Seconds update) {
  const auto lock = lock_now();
  Source& source = sources_.at(source_of(channel));
  source.period = nanoseconds(update);
  source.followed = FollowedUpdates(nanoseconds(update));
  source.followed_channel = channel - source.first_channel;
}

bool Sampler::follows(std::uint32_t channel) const {
  return sources_.at(source_of(channel)).followed.follows();
}

Seconds Sampler::read_cost(std::uint32_t channel) const {
  const auto lock = lock_now();
  return seconds(sources_.at(source_of(channel)).cost);
}

Seconds Sampler::period(std::uint32_t channel) const {
  return seconds(sources_.at(source_of(channel)).period);
}

void Sampler::read_due(Nanoseconds now) {
  for (Source& source : sources_) {
    if (source.due > now) continue;
    const Nanoseconds looked = read(source);
    if (source.followed.follows()) {
      source.due = next_look(source, looked, clock_.now());
      continue;
    }
    // Stay on the grid; after a stall go on from now instead of catching up in a burst.
    source.planned += source.period;
    if (source.planned <= now) source.planned = now + source.period;
    source.due = around(source);
    // A probe that takes longer than its period is read every other moment: whoever wants to stop needs the
    // lock between two reads.
    source.due = std::max(source.due, clock_.now() + std::min(source.cost, source.period));
  }
}

Nanoseconds Sampler::next_due() const {
  Nanoseconds next = INT64_MAX;
  for (const Source& source : sources_) next = std::min(next, source.due);
  return next;
}

void Sampler::start() {
  const auto lock = lock_now();
  readings_.clear();
  impossible_.clear();
  const Nanoseconds now = clock_.now();
  // Another run of random times in each trial, as no two begin at the same nanosecond.
  random_.seed(static_cast<std::minstd_rand::result_type>(now));
  for (Source& source : sources_) {
    source.probe->begin();
    source.followed.begin();
    source.followed_value.reset();
    const Nanoseconds looked = read(source);
    source.planned = now + source.period;
    source.due = source.followed.follows() ? next_look(source, looked, clock_.now()) : around(source);
  }
  if (sources_.empty() || drive_ == Drive::caller) return;
  sampling_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

std::vector<Reading> Sampler::stop() {
  const auto lock = lock_now();
  sampling_ = false;
  for (Source& source : sources_) read(source);
  changed_.notify_all();
  return std::move(readings_);
}

void Sampler::run() {
  pthread_setname_np(pthread_self(), "sampler");
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would be most of the jitter at 1 kHz
  std::unique_lock lock(mutex_);
  while (!quit_) {
    if (!sampling_) {
      changed_.wait(lock);
      continue;
    }
    const Nanoseconds due = next_due();
    if (clock_.now() < due) {
      // Clock is CLOCK_MONOTONIC, and so is steady_clock.
      const std::chrono::steady_clock::time_point when{std::chrono::nanoseconds(due)};
      if (changed_.wait_until(lock, when) == std::cv_status::no_timeout) continue;
    }
    if (waiting_ > 0) {
      lock.unlock();
      for (int waiting = waiting_; waiting > 0; waiting = waiting_) waiting_.wait(waiting);
      lock.lock();
      continue;
    }
    const Nanoseconds now = clock_.now();
    if (!sampling_ || now < due) continue;
    if (keep_lateness_) cost_.lateness.push_back(static_cast<float>(static_cast<double>(now - due) * 1e-9));
    read_due(now);
    ++cost_.wake_ups;
  }
}

Sampler::Cost Sampler::cost() {
  const auto lock = lock_now();
  Cost cost = cost_;
  clockid_t thread_time{};
  timespec used{};
  if (thread_.joinable() && pthread_getcpuclockid(thread_.native_handle(), &thread_time) == 0)
    clock_gettime(thread_time, &used);
  cost.cpu_seconds = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  return cost;
}

}  // namespace dvfs_plan
