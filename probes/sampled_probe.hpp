// One probe while it is sampled: when it is to be read next, what it said, what a read costs. Without a
// thread: the sampler's threads read it in real time, simulations in a time of their own.
//
// A probe is read at its own period, or just after each renewal of its counter (probes/follow.hpp). One with
// a power gauge is read at random times around its period: a load that comes and goes once a period would
// else be met in the same phase each time.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probes/follow.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

// A value that cannot be (base/reading.hpp), as it was said. Its reading has no value.
struct ImpossibleValue {
  std::uint32_t channel = 0;
  Nanoseconds time = 0;
  std::string text, reason;
};

class SampledProbe {
 public:
  // Its channels are counted from `first_channel` on.
  SampledProbe(std::unique_ptr<Probe> probe, std::uint32_t first_channel, const Clock& clock);

  const std::string& name() const { return probe_->name(); }
  const std::vector<Channel>& channels() const { return probe_->channels(); }
  std::uint32_t first_channel() const { return first_channel_; }
  // How long a read took lately; 0: not read yet.
  Nanoseconds cost() const { return cost_; }

  // From the next begin() on. A period ends following.
  void set_period(Seconds period);
  Seconds period() const { return seconds(period_); }
  void follow(std::size_t channel, Seconds update);  // counted within the probe
  bool follows() const { return followed_.follows(); }

  // Forgets what it said, and reads once, now.
  void begin();
  Nanoseconds due() const { return due_; }
  // Reads, and plans the next read; `now` is no earlier than due().
  void read_due(Nanoseconds now);
  // Reads once; plans nothing. Returns when the value was read.
  Nanoseconds read();
  void keep(Nanoseconds looked);
  // What it said since begin(), or since the last take(). Each reading has the time at which the source told it,
  // else the middle of its read, less what its channel is late by; the first may be from before begin().
  std::vector<Reading> take();
  // The first two of each channel since begin().
  const std::vector<ImpossibleValue>& impossible() const { return impossible_; }
  // What the probe told when it began.
  const std::string& told() const { return told_; }

 private:
  Nanoseconds late(std::size_t channel) const;
  Nanoseconds around_planned();
  Nanoseconds next_look(Nanoseconds looked, Nanoseconds now);
  void refuse_impossible(std::size_t channel, Nanoseconds time, Sample& sample);

  std::unique_ptr<Probe> probe_;
  std::uint32_t first_channel_;
  const Clock& clock_;
  Nanoseconds period_;
  bool at_random_;
  std::minstd_rand random_;
  Nanoseconds planned_ = 0;  // on the grid of its period
  Nanoseconds due_ = 0;      // around that
  Nanoseconds cost_ = 0;     // of a read, smoothed
  FollowedUpdates followed_;
  std::size_t followed_channel_ = 0;  // of the probe
  std::optional<double> followed_value_;
  std::vector<Sample> samples_;
  std::vector<Reading> readings_;
  std::vector<ImpossibleValue> impossible_;
  std::string told_;
};

}  // namespace dvfs_plan
