#include "probes/sysfs_probe.hpp"

#include <memory>
#include <utility>

#include "probes/attribute_reader.hpp"

namespace dvfs_plan {

void SysfsProbe::add(Channel channel, const Sysfs& sysfs, const std::string& path, double scale,
                     bool zero_is_absent) {
  const auto reader = std::make_shared<AttributeReader>(sysfs, path, scale, zero_is_absent);
  add_read(std::move(channel), path, [reader] { return reader->read(); });
}

void SysfsProbe::add_product(Channel channel, const Sysfs& sysfs, const std::string& path,
                             const std::string& by, double scale) {
  const auto one = std::make_shared<AttributeReader>(sysfs, path, scale),
             other = std::make_shared<AttributeReader>(sysfs, by, 1);
  add_read(std::move(channel), path + " x " + by, [one, other] {
    const Sample value = one->read();
    if (!value.value) return value;
    const Sample factor = other->read();
    return factor.value ? Sample{*value.value * *factor.value, ReadingStatus::ok} : factor;
  });
}

void SysfsProbe::add_read(Channel channel, const std::string& source, std::function<Sample()> read) {
  channel.probe = name_;
  channel.source = source;
  channels_.push_back(std::move(channel));
  readers_.push_back(std::move(read));
}

void SysfsProbe::read(std::span<Sample> samples) {
  for (std::size_t i = 0; i < readers_.size(); ++i) samples[i] = readers_[i]();
}

}  // namespace dvfs_plan
