#include "probes/meters/meter.hpp"

#include <exception>
#include <utility>
#include <vector>

namespace dvfs_plan {
namespace {

class PolledMeter : public Probe {
 public:
  PolledMeter(const MeterRequest& request, const std::string& source, Seconds usual,
              std::function<MeterLook()> look)
      : name_(request.name), period_(request.period.value_or(usual)), look_(std::move(look)) {
    Channel channel;
    channel.name = name_ + ":power";
    channel.probe = name_;
    channel.unit = "W";
    channel.domain = request.domain;
    channel.source = source;
    channel.averages_over_s = request.averages_over_s;
    channel.late_by_s = request.late_by_s;
    channels_.push_back(std::move(channel));
  }

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return true; }
  void read(std::span<Sample> samples) override {
    MeterLook look;
    try {
      look = look_();
    } catch (const std::exception& fault) {  // of a parser: what it said is nothing that is understood
      look = MeterLook::none(fault.what());
    }
    samples[0] = {look.watts, look.watts ? ReadingStatus::ok : look.status, std::move(look.problem)};
  }

 private:
  std::string name_;
  Seconds period_;
  std::function<MeterLook()> look_;
  std::vector<Channel> channels_;
};

}  // namespace

std::unique_ptr<Probe> make_polled_meter(const MeterRequest& request, const std::string& source,
                                         Seconds usual, std::function<MeterLook()> look) {
  return std::make_unique<PolledMeter>(request, source, usual, std::move(look));
}

}  // namespace dvfs_plan
