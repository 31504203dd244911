// Reads probes while a trial runs: once just before the child starts, then each probe at its own period, or
// just after each renewal of its counter, in one thread, once just after the child ends. Readings carry the
// time in the middle of their read. A probe with a power gauge is read at random times around its period: a
// load that comes and goes once a period would else be met in the same phase each time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "probes/follow.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

class Sampler {
 public:
  // Who reads between start() and stop(): a thread of the sampler's own, or whoever calls read_due().
  enum class Drive { thread, caller };
  Sampler(std::vector<std::unique_ptr<Probe>> probes, const Clock& clock, Drive drive = Drive::thread);
  ~Sampler();

  // All channels of all probes; Reading::channel is an index into it.
  const std::vector<Channel>& channels() const { return channels_; }

  // Reads everything now and goes on in the background.
  void start();
  // Stops, reads everything once more, and returns what was read since start().
  std::vector<Reading> stop();

  // Values that cannot be (base/reading.hpp), as they were said; the first two of each channel since start().
  // Their readings have no value.
  struct Impossible {
    std::uint32_t channel = 0;
    Nanoseconds time = 0;
    std::string text, reason;
  };
  std::vector<Impossible> impossible() const;

  // Reads once, now, the probes that have a channel of this unit. Not while sampling.
  std::vector<Reading> look(const std::string& unit);

  // How often the probe is read that has this channel; from the next start() on.
  void set_period(std::uint32_t channel, Seconds period);
  Seconds period(std::uint32_t channel) const;
  // Looks at the probe of this counter just after each of its renewals, which come once an `update`. Only
  // where it is the probe's only counter: two have two phases. From the next start() on; set_period() ends
  // it.
  void follow(std::uint32_t channel, Seconds update);
  bool follows(std::uint32_t channel) const;
  // Which probe it belongs to, counted in the order they were handed in.
  std::size_t source_of(std::uint32_t channel) const;
  // How long one read of that probe took lately: an NVML energy counter keeps a CPU busy for 4 ms.
  Seconds read_cost(std::uint32_t channel) const;

  // Reads the probes that are due at `now`; the thread's whole work, and a test's way to drive it.
  void read_due(Nanoseconds now);
  Nanoseconds next_due() const;

  struct Cost {
    std::uint64_t wake_ups = 0;
    double cpu_seconds = 0;       // of the sampling thread
    std::vector<float> lateness;  // seconds after the planned time, a wake-up each; kept if asked for
  };
  void keep_lateness(bool keep) { keep_lateness_ = keep; }
  Cost cost();

 private:
  struct Source {
    std::unique_ptr<Probe> probe;
    std::uint32_t first_channel = 0;
    Nanoseconds period = 0;
    Nanoseconds planned = 0;  // on the grid of its period
    Nanoseconds due = 0;      // around that
    bool at_random = false;
    Nanoseconds cost = 0;  // of a read, smoothed
    std::vector<Sample> samples;
    FollowedUpdates followed;
    std::size_t followed_channel = 0;  // of the probe
    std::optional<double> followed_value;
  };

  // Returns when the value was read.
  Nanoseconds read(Source& source);
  Nanoseconds around(const Source& source);
  Nanoseconds next_look(Source& source, Nanoseconds looked, Nanoseconds now);
  void refuse_impossible(std::uint32_t channel, Nanoseconds time, Sample& sample);
  void run();
  // For whoever is not the sampling thread. That one works with the lock held as long as any probe is due,
  // which several slow ones always are: it lets go for those who wait.
  std::unique_lock<std::mutex> lock_now() const;

  const Clock& clock_;
  const Drive drive_;
  std::vector<Source> sources_;
  std::vector<Channel> channels_;
  std::vector<Reading> readings_;
  std::vector<Impossible> impossible_;

  mutable std::mutex mutex_;
  mutable std::atomic<int> waiting_{0};
  std::condition_variable changed_;
  bool sampling_ = false;
  bool quit_ = false;
  bool keep_lateness_ = false;
  Cost cost_;
  std::minstd_rand random_;
  std::thread thread_;
};

}  // namespace dvfs_plan
