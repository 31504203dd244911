// Readings packed into the file and out of it: nothing is lost, and what is damaged is called so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "results/store/trace_codec.hpp"

namespace dvfs_plan {
namespace {

void expect_kept(const Trace& trace) {
  const PackedTimes times = pack_times(trace.times_ns);
  EXPECT_EQ(unpack_times(times.readings, times.first_ns, times.period_ns, times.packed), trace.times_ns);
  const PackedValues values = pack_values(trace);
  const auto unpacked = unpack_values(trace.values.size(), values.scale, values.packed);
  ASSERT_EQ(unpacked.size(), trace.values.size());
  for (std::size_t i = 0; i < unpacked.size(); ++i) {
    if (!trace.has_value(i)) continue;
    // Bit for bit: -0 and NaN too.
    EXPECT_EQ(std::bit_cast<std::uint64_t>(unpacked[i]), std::bit_cast<std::uint64_t>(trace.values[i])) << i;
  }
  EXPECT_EQ(unpack_absences(trace.values.size(), values.absences), trace.absences);
}

Trace of_values(std::vector<double> values) {
  Trace trace;
  for (std::size_t i = 0; i < values.size(); ++i)
    trace.times_ns.push_back(static_cast<std::int64_t>(i) * 10'000'000);
  trace.values = std::move(values);
  return trace;
}

TEST(Traces, KeepWhateverASensorSays) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  expect_kept(of_values({}));
  expect_kept(of_values({42}));
  expect_kept(of_values({0.1, 0.2, 0.3, 118.204, -3.5}));
  expect_kept(of_values({0, -0.0, 1}));
  expect_kept(of_values({1e300, -1e300, 5e-324, infinity, -infinity, std::nan("")}));
  expect_kept(of_values({9007199254740993.0, 1}));
  expect_kept(of_values({std::ldexp(3.0, -32), std::ldexp(123456789.0, -32)}));
  expect_kept(of_values({1.0 / 3, 2.0 / 3}));
}

TEST(Traces, KeepTimesThatJumpAndRunBackwards) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                         least = std::numeric_limits<std::int64_t>::min();
  Trace trace = of_values({1, 2, 3, 4, 5, 6});
  trace.times_ns = {most, least, 0, -5, 7, 3'600'000'000'000'000};
  expect_kept(trace);
}

TEST(Traces, KeepWhyThereIsNoValue) {
  Trace trace = of_values({5, 0, 7, 0, 0});
  trace.absences = {ReadingStatus::ok, ReadingStatus::absent, ReadingStatus::ok, ReadingStatus::denied,
                    ReadingStatus::gone};
  expect_kept(trace);
}

TEST(Traces, KeepRandomOnes) {
  std::mt19937_64 random(7);
  for (int n = 1; n < 200; ++n) {
    Trace trace;
    std::int64_t time = static_cast<std::int64_t>(random() % 1'000'000'000'000);
    const bool whole = random() % 2 == 0, gaps = random() % 2 == 0;
    for (int i = 0; i < n; ++i) {
      time += static_cast<std::int64_t>(random() % 20'000'000);
      trace.times_ns.push_back(time);
      const double value = static_cast<double>(static_cast<std::int64_t>(random() % 2'000'000) - 1'000'000);
      trace.values.push_back(whole ? value / 1000 : value * 0.37);
      if (gaps) trace.absences.push_back(static_cast<ReadingStatus>(random() % 4));
    }
    expect_kept(trace);
  }
}

// What it is for: a counter of millijoules and its neighbours at 100 Hz, some microseconds late each.
TEST(Traces, TakeLessThanThreeBytesAReading) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  Trace energy, power;
  double joules = 5000, watts = 300;
  for (std::int64_t i = 0; i < 6000; ++i) {
    energy.times_ns.push_back(3'600'000'000'000 + i * 10'000'000 +
                              static_cast<std::int64_t>(20'000 * std::abs(normal(random))));
    if (i % 10 == 0) joules += 0.1 * (watts = 300 + 3 * normal(random));
    energy.values.push_back(std::floor(joules * 1000) / 1000);
    power.values.push_back(std::floor(watts * 1000) / 1000);
  }
  power.times_ns = energy.times_ns;
  const std::size_t bytes = pack_times(energy.times_ns).packed.size() + pack_values(energy).packed.size() +
                            pack_values(power).packed.size();
  EXPECT_LT(static_cast<double>(bytes) / 12000, 3);
}

TEST(Traces, WhatIsDamagedIsCalledSo) {
  const Trace trace = of_values({1, 2, 3});
  const PackedValues values = pack_values(trace);
  EXPECT_THROW(unpack_values(4, values.scale, values.packed), std::runtime_error);
  EXPECT_THROW(unpack_values(3, values.scale, values.packed.substr(0, 5)), std::runtime_error);
  EXPECT_THROW(unpack_values(3, values.scale, "no such thing"), std::runtime_error);
  EXPECT_THROW(unpack_absences(3, pack_values(of_values({9})).packed), std::runtime_error);
}

}  // namespace
}  // namespace dvfs_plan
