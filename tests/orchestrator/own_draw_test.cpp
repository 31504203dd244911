// What reading draws, of a machine whose every look costs so many joules: the measurement finds it.
#include "orchestrator/sensors/own_draw.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

// 10 W, and what each read costs besides; the counter is renewed every 2 ms, and wraps.
class CostlyProbe : public Probe {
 public:
  CostlyProbe(const Clock& clock, double joules_a_read, double wraps_at)
      : clock_(clock), joules_a_read_(joules_a_read) {
    channels_ = {counter("package-0", wraps_at), counter("dram-0", wraps_at)};
    began_ = clock.now();
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{0.005}; }
  void read(std::span<Sample> samples) override {
    // Of the looks for an edge, which each window has, nothing is drawn.
    const bool by_sampler = clock_.now() - last_ > 3'000'000;
    last_ = clock_.now();
    if (by_sampler) drawn_ += joules_a_read_;
    constexpr Nanoseconds renewal = 2'000'000;
    const double time = seconds((clock_.now() - began_) / renewal * renewal).value();
    samples[0] = {std::fmod(1000 + 8 * time + drawn_, *channels_[0].wraps_at), ReadingStatus::ok};
    samples[1] = {std::fmod(1000 + 2 * time, *channels_[1].wraps_at), ReadingStatus::ok};
  }

 private:
  const std::string name_ = "costly";
  const Clock& clock_;
  const double joules_a_read_;
  std::vector<Channel> channels_;
  Nanoseconds began_ = 0, last_ = 0;
  double drawn_ = 0;
};

OwnDraw measured(double joules_a_read, double wraps_at = 1e9, const std::function<bool()>& stop = {}) {
  SystemClock clock;
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<CostlyProbe>(clock, joules_a_read, wraps_at));
  Sampler sampler(std::move(probes), clock);
  sampler.set_period(0, Seconds{0.005});
  return measure_own_draw(sampler, clock, {}, {0, 1}, Seconds{0.25}, 3, 1, stop);
}

double mean_of(const OwnDraw& draw, SamplingRate rate) {
  double sum = 0;
  for (const auto& round : draw.watts) sum += round[static_cast<std::size_t>(rate)];
  return sum / static_cast<double>(draw.watts.size());
}

TEST(OwnDrawTest, FindsWhatEachLookDraws) {
  // 200 looks a second at 10 mJ: 2 W; a tenth of the looks: 0.2 W. How often it really looks depends on what else this machine does: at most so often.
  const OwnDraw draw = measured(0.01);
  ASSERT_EQ(draw.watts.size(), 3U);
  EXPECT_NEAR(mean_of(draw, SamplingRate::none), 10, 0.2);
  const double more = mean_of(draw, SamplingRate::full) - mean_of(draw, SamplingRate::none);
  EXPECT_GT(more, 0.7);
  EXPECT_LT(more, 2.3);
  EXPECT_LT(mean_of(draw, SamplingRate::tenth) - mean_of(draw, SamplingRate::none), 0.4 * more);
  EXPECT_GT(draw.wake_ups_per_s[0], 4 * draw.wake_ups_per_s[1]);
  EXPECT_EQ(draw.wake_ups_per_s[2], 0);
}

TEST(OwnDrawTest, OneThatDrawsNothingIsFoundToDrawNothing) {
  const OwnDraw draw = measured(0);
  EXPECT_NEAR(mean_of(draw, SamplingRate::full) - mean_of(draw, SamplingRate::none), 0, 0.2);
}

TEST(OwnDrawTest, ACounterThatWrapsIsCountedOn) {
  const OwnDraw draw = measured(0, 1001);
  ASSERT_EQ(draw.watts.size(), 3U);
  for (const auto& round : draw.watts) {
    for (const double watts : round) EXPECT_NEAR(watts, 10, 0.3);
  }
}

TEST(OwnDrawTest, EndsOnceAsked) {
  int asked = 0;
  EXPECT_EQ(measured(0, 1e9, [&] { return ++asked > 4; }).watts.size(), 1U);
}

}  // namespace
}  // namespace dvfs_plan
