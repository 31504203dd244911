#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {

void SysfsProbe::add(Channel channel, const Sysfs& sysfs, const std::string& path, double scale) {
  channel.probe = name_;
  channel.source = path;
  channels_.push_back(std::move(channel));
  readers_.emplace_back(sysfs, path, scale);
}

void SysfsProbe::read(std::span<Sample> samples) {
  for (std::size_t i = 0; i < readers_.size(); ++i) samples[i] = readers_[i].read();
}

}  // namespace dvfs_plan
