// A probe whose channels are attribute files: most of them. What differs is how the files are found; each
// find_... function does that for one part of the kernel and says why it found nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"

#include "probes/probe.hpp"

namespace dvfs_plan {

class SysfsProbe : public Probe {
 public:
  // Who fills the files: the kernel from its own memory, or a device that its driver asks.
  enum class Answer { from_memory, from_device };
  SysfsProbe(std::string name, Seconds period, Answer answer)
      : name_(std::move(name)), period_(period), answer_(answer) {}

  void add(Channel channel, const Sysfs& sysfs, const std::string& path, double scale,
           bool zero_is_absent = false);
  // Volts times amperes: two files, read one right behind the other.
  void add_product(Channel channel, const Sysfs& sysfs, const std::string& path, const std::string& by,
                   double scale);
  // What is not a number in a file of its own.
  void add_read(Channel channel, const std::string& source, std::function<Sample()> read);
  void set_period(Seconds period) { period_ = period; }
  bool empty() const { return channels_.empty(); }

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return answer_ == Answer::from_device; }
  void read(std::span<Sample> samples) override;

 private:
  std::string name_;
  Seconds period_;
  Answer answer_;
  std::vector<Channel> channels_;
  std::vector<std::function<Sample()>> readers_;
};

}  // namespace dvfs_plan
