// A probe: a source of measurements. Found once (probe_table.hpp), read by the sampler for each trial.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/reading.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

// One channel's answer to one read. No value with status ok means "nothing new": nothing is recorded.
struct Sample {
  std::optional<double> value;  // in the channel's unit
  ReadingStatus status = ReadingStatus::ok;
  std::string text = {};  // as the source said it, where it is text; for the error that names it
  std::optional<Nanoseconds> told_at = {};  // where the source tells by itself; nullopt: when it was read
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<Channel>& channels() const = 0;
  // How often reading it tells something new.
  virtual Seconds period() const = 0;
  // A read asks a device through its driver, which may take its time or never answer: it then holds up no
  // other probe. Files that the kernel fills from its own memory, and pipes, answer at once.
  virtual bool asks_device() const { return false; }
  // Called before the first read of a trial: what was said until now belongs to no trial. Returns what is to be told
  // of it: a meter was started again; empty: nothing.
  virtual std::string begin() { return {}; }
  // Fills one sample a channel, in the order of channels(). Does not throw; is called by one thread at a
  // time.
  virtual void read(std::span<Sample> samples) = 0;
  // A source that tells by itself may have told more values than the last read() gave: it is read again at once.
  virtual bool has_more() const { return false; }
  // The end of what its program said on standard error; empty: it said nothing, or there is no program.
  virtual std::string last_words() const { return {}; }
};

}  // namespace dvfs_plan
