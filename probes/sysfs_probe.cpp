#include "probes/sysfs_probe.hpp"

namespace dvfs_plan {

void SysfsProbe::add(Channel channel, const Sysfs& sysfs, const std::string& path, double scale,
                     bool zero_is_absent) {
  channel.probe = name_;
  channel.source = path;
  channels_.push_back(std::move(channel));
  readers_.push_back({AttributeReader(sysfs, path, scale, zero_is_absent), std::nullopt});
}

void SysfsProbe::add_product(Channel channel, const Sysfs& sysfs, const std::string& path,
                             const std::string& by, double scale) {
  channel.probe = name_;
  channel.source = path + " x " + by;
  channels_.push_back(std::move(channel));
  readers_.push_back({AttributeReader(sysfs, path, scale), AttributeReader(sysfs, by, 1)});
}

void SysfsProbe::read(std::span<Sample> samples) {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    samples[i] = readers_[i].value.read();
    if (!readers_[i].by || !samples[i].value) continue;
    const Sample by = readers_[i].by->read();
    samples[i] = by.value ? Sample{*samples[i].value * *by.value, ReadingStatus::ok} : by;
  }
}

}  // namespace dvfs_plan
