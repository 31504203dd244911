// Reads probes while a trial runs: all once just before the child starts, each when it is due (probes/
// sampled_probe.hpp), all once just after the child ends. Readings carry the time in the middle of their
// read.
//
// Probes do not wait for each other: those that answer at once share a thread, which wakes as seldom as it
// can; one that asks a device (an NVML energy counter: 4 ms) has its own, which does all that is done with
// it. If that does not come back within longest_read, as where a driver hangs, the trial has no readings of
// it, and nobody waits for it again until it has come back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "probes/sampled_probe.hpp"
#include "probes/sampling_thread.hpp"

namespace dvfs_plan {

class Sampler {
 public:
  Sampler(std::vector<std::unique_ptr<Probe>> probes, const Clock& clock, bool keep_lateness = false);

  // All channels of all probes; Reading::channel is an index into it.
  const std::vector<Channel>& channels() const { return channels_; }

  // Asked while it waits for a slow probe: once true, that is waited for no longer than half a second more.
  void hurry_when(std::function<bool()> asked);
  // Reads everything now and goes on in the background.
  void start();
  // Stops, reads everything once more, and returns what was read since start(), by time.
  std::vector<Reading> stop();

  // Since start(); once stopped.
  const std::vector<ImpossibleValue>& impossible() const { return impossible_; }
  // What probes told at the last start().
  const std::vector<std::string>& told() const { return told_; }
  // Probes that did not come back from a read in time when they were to start or stop; their channels have a
  // reading `gone` where they were waited for.
  const std::vector<std::string>& stuck() const { return stuck_; }

  // Reads once, now, the probes that have a channel of this unit. Not while sampling.
  std::vector<Reading> look(const std::string& unit);

  // How often the probe is read that has this channel; from the next start() on, as is follow().
  void set_period(std::uint32_t channel, Seconds period);
  Seconds period(std::uint32_t channel) const;
  // Looks at the probe of this counter just after each of its renewals, which come once an `update`. Only
  // where it is the probe's only counter: two have two phases. set_period() ends it.
  void follow(std::uint32_t channel, Seconds update);
  bool follows(std::uint32_t channel) const;
  // Which probe it belongs to, counted in the order they were handed in.
  std::size_t source_of(std::uint32_t channel) const;
  // How long one read of that probe took lately: an NVML energy counter keeps a CPU busy for 4 ms.
  Seconds read_cost(std::uint32_t channel) const;

  SamplingCost cost() const;

 private:
  // A thread and whether its probes were begun by the last start().
  struct Lane {
    Lane(const Clock& clock, bool keep_lateness) : thread(clock, keep_lateness) {}
    SamplingThread thread;
    bool begun = false;
    bool done = false;  // what do_with_all() was asked for last
  };
  std::vector<Lane*> all_lanes() const;
  void do_with_all(const std::vector<Lane*>& lanes, const std::function<void(SampledProbe&)>& job);
  void move_slow_probes();
  Lane& add_lane();
  void give_up(Lane& lane);
  // The probe that has this channel, while its thread does not read it.
  struct Held {
    SamplingThread::Hold hold;
    SampledProbe* probe = nullptr;  // nullptr: it is stuck
  };
  Held hold_probe_of(std::uint32_t channel) const;

  const Clock& clock_;
  bool keep_lateness_;
  std::vector<std::shared_ptr<SampledProbe>> probes_;  // in the order they were handed in
  std::vector<Channel> channels_;
  // The first one's probes answer at once; each other one has a single probe.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::function<bool()> hurries_;
  std::vector<Reading> gone_;  // of probes that are stuck
  std::vector<ImpossibleValue> impossible_;
  std::vector<std::string> told_;
  std::vector<std::string> stuck_;
};

}  // namespace dvfs_plan
