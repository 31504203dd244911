#include "probes/sampler.hpp"

#include <algorithm>
#include <utility>

namespace dvfs_plan {
namespace {

// A probe whose read takes longer than this does not make the quick ones wait.
constexpr Nanoseconds longest_quick_read = 500'000;

void append(std::vector<Reading>& readings, std::vector<Reading> more) {
  if (readings.empty())
    readings = std::move(more);
  else
    readings.insert(readings.end(), more.begin(), more.end());
}

}  // namespace

Sampler::Sampler(std::vector<std::unique_ptr<Probe>> probes, const Clock& clock, bool keep_lateness)
    : clock_(clock), keep_lateness_(keep_lateness) {
  Lane& quick = add_lane();
  for (auto& probe : probes) {
    const bool asks_device = probe->asks_device();
    const auto first = static_cast<std::uint32_t>(channels_.size());
    channels_.insert(channels_.end(), probe->channels().begin(), probe->channels().end());
    probes_.push_back(std::make_shared<SampledProbe>(std::move(probe), first, clock));
    (asks_device ? add_lane() : quick).thread.probes().push_back(probes_.back());
  }
}

Sampler::Lane& Sampler::add_lane() {
  lanes_.push_back(std::make_unique<Lane>(clock_, keep_lateness_));
  lanes_.back()->thread.hurry_when(hurries_);
  return *lanes_.back();
}

void Sampler::hurry_when(std::function<bool()> asked) {
  hurries_ = std::move(asked);
  for (const auto& lane : lanes_) lane->thread.hurry_when(hurries_);
}

// Its thread sits in a read: what it said meanwhile cannot be had.
void Sampler::give_up(Lane& lane) {
  lane.begun = false;
  const Nanoseconds now = clock_.now();
  for (const auto& probe : lane.thread.probes()) {
    if (std::find(stuck_.begin(), stuck_.end(), probe->name()) == stuck_.end())
      stuck_.push_back(probe->name());
    for (std::size_t i = 0; i < probe->channels().size(); ++i)
      gone_.push_back(
          {probe->first_channel() + static_cast<std::uint32_t>(i), now, std::nullopt, ReadingStatus::gone});
  }
}

// The quick ones here and now, the others by their own threads meanwhile: all within one time.
void Sampler::do_with_all(const std::vector<Lane*>& lanes, const std::function<void(SampledProbe&)>& job) {
  const auto until = SamplingThread::deadline();
  std::vector<Lane*> posted;
  for (Lane* lane : lanes) {
    if (lane == lanes_.front().get()) continue;
    lane->done = false;
    if (lane->thread.post(job)) posted.push_back(lane);
  }
  if (std::find(lanes.begin(), lanes.end(), lanes_.front().get()) != lanes.end()) {
    const auto hold = lanes_.front()->thread.hold(until);
    lanes_.front()->done = hold.owns_lock();
    if (hold.owns_lock()) {
      lanes_.front()->thread.rest();
      for (const auto& probe : lanes_.front()->thread.probes()) job(*probe);
    }
  }
  for (Lane* lane : posted) lane->done = lane->thread.wait(until);
}

std::vector<Sampler::Lane*> Sampler::all_lanes() const {
  std::vector<Lane*> lanes;
  for (const auto& lane : lanes_) lanes.push_back(lane.get());
  return lanes;
}

void Sampler::start() {
  gone_.clear();
  impossible_.clear();
  stuck_.clear();
  told_.clear();
  do_with_all(all_lanes(), [](SampledProbe& probe) { probe.begin(); });
  for (const auto& lane : lanes_) {
    lane->begun = lane->done;
    if (!lane->begun) {
      give_up(*lane);
      continue;
    }
    const auto hold = lane->thread.hold();
    if (!hold.owns_lock()) continue;
    for (const auto& probe : lane->thread.probes()) {
      if (!probe->told().empty()) told_.push_back(probe->name() + ": " + probe->told());
    }
  }
  if (lanes_.front()->begun) move_slow_probes();
  for (const auto& lane : lanes_) {
    if (!lane->begun) continue;
    const auto hold = lane->thread.hold();
    if (hold.owns_lock()) lane->thread.go();
  }
}

// What a read costs is known now. Once apart, a probe stays apart.
void Sampler::move_slow_probes() {
  const auto hold = lanes_.front()->thread.hold();
  if (!hold.owns_lock()) return;
  auto& quick = lanes_.front()->thread.probes();
  for (auto probe = quick.begin(); probe != quick.end() && quick.size() > 1;) {
    if ((*probe)->cost() <= longest_quick_read) {
      ++probe;
      continue;
    }
    Lane& own = add_lane();
    own.begun = true;
    own.thread.probes().push_back(*probe);
    probe = quick.erase(probe);
  }
}

std::vector<Reading> Sampler::stop() {
  std::vector<Reading> readings;
  std::vector<Lane*> begun;
  for (const auto& lane : lanes_) {
    if (lane->begun)
      begun.push_back(lane.get());
    else
      give_up(*lane);
  }
  do_with_all(begun, [](SampledProbe& probe) { probe.read(); });
  for (Lane* lane : begun) {
    const auto hold = lane->thread.hold();
    if (!lane->done || !hold.owns_lock()) {
      give_up(*lane);
      continue;
    }
    for (const auto& probe : lane->thread.probes()) {
      append(readings, probe->take());
      impossible_.insert(impossible_.end(), probe->impossible().begin(), probe->impossible().end());
    }
  }
  append(readings, std::exchange(gone_, {}));
  std::stable_sort(readings.begin(), readings.end(),
                   [](const Reading& a, const Reading& b) { return a.time < b.time; });
  return readings;
}

std::vector<Reading> Sampler::look(const std::string& unit) {
  const auto has_unit = [unit](const SampledProbe& probe) {  // by value: a job may outlive this call
    return std::any_of(probe.channels().begin(), probe.channels().end(),
                       [&](const Channel& channel) { return channel.unit == unit; });
  };
  std::vector<Lane*> lanes;
  for (const auto& lane : lanes_) {
    // Which probes a lane has is changed by us alone.
    const auto& probes = lane->thread.probes();
    if (std::any_of(probes.begin(), probes.end(), [&](const auto& probe) { return has_unit(*probe); }))
      lanes.push_back(lane.get());
  }
  do_with_all(lanes, [has_unit](SampledProbe& probe) {
    probe.take();
    if (has_unit(probe)) probe.read();
  });
  std::vector<Reading> readings;
  for (Lane* lane : lanes) {
    const auto hold = lane->thread.hold();
    if (!lane->done || !hold.owns_lock()) continue;
    for (const auto& probe : lane->thread.probes()) append(readings, probe->take());
  }
  return readings;
}

std::size_t Sampler::source_of(std::uint32_t channel) const {
  std::size_t i = probes_.size();
  while (--i > 0 && probes_[i]->first_channel() > channel) {
  }
  return i;
}

Sampler::Held Sampler::hold_probe_of(std::uint32_t channel) const {
  const auto& wanted = probes_.at(source_of(channel));
  for (const auto& lane : lanes_) {
    const auto& probes = lane->thread.probes();
    if (std::find(probes.begin(), probes.end(), wanted) == probes.end()) continue;
    auto hold = lane->thread.hold();
    SampledProbe* const probe = hold.owns_lock() ? wanted.get() : nullptr;
    return {std::move(hold), probe};
  }
  return {};
}

void Sampler::set_period(std::uint32_t channel, Seconds period) {
  const Held held = hold_probe_of(channel);
  if (held.probe != nullptr) held.probe->set_period(period);
}

void Sampler::follow(std::uint32_t channel, Seconds update) {
  const Held held = hold_probe_of(channel);
  if (held.probe != nullptr) held.probe->follow(channel - held.probe->first_channel(), update);
}

bool Sampler::follows(std::uint32_t channel) const {
  const Held held = hold_probe_of(channel);
  return held.probe != nullptr && held.probe->follows();
}

Seconds Sampler::read_cost(std::uint32_t channel) const {
  const Held held = hold_probe_of(channel);
  return held.probe != nullptr ? seconds(held.probe->cost()) : seconds(longest_read);
}

Seconds Sampler::period(std::uint32_t channel) const {
  const Held held = hold_probe_of(channel);
  return held.probe != nullptr ? held.probe->period() : seconds(longest_read);
}

SamplingCost Sampler::cost() const {
  SamplingCost all;
  for (const auto& lane : lanes_) {
    const auto hold = lane->thread.hold();
    if (!hold.owns_lock()) continue;
    const SamplingCost one = lane->thread.cost();
    all.wake_ups += one.wake_ups;
    all.cpu_seconds += one.cpu_seconds;
    all.lateness.insert(all.lateness.end(), one.lateness.begin(), one.lateness.end());
  }
  return all;
}

}  // namespace dvfs_plan
