#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {

void SysfsProbe::add(Channel channel, const Sysfs& sysfs, const std::string& path, double scale,
                     bool zero_is_absent) {
  channel.probe = name_;
  channel.source = path;
  channels_.push_back(std::move(channel));
  readers_.emplace_back(sysfs, path, scale, zero_is_absent);
}

void SysfsProbe::read(std::span<Sample> samples) {
  for (std::size_t i = 0; i < readers_.size(); ++i) samples[i] = readers_[i].read();
}

}  // namespace dvfs_plan
