// A PowerSensor3's stream, and the probe in front of a pseudo-terminal (pty(7)) behind which a device of ours does as firmware 1.x does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/file.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

#include "base/unique_fd.hpp"
#include "probes/meters/meter.hpp"
#include "probes/meters/powersensor3_stream.hpp"

namespace dvfs_plan {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

constexpr double current_reference = 1.65, current_sensitivity = 0.12, voltage_gain = 0.09;

int level_of(double volts) {
  return std::clamp(static_cast<int>(std::lround(volts / 3.3 * 1023)), 0, 1023);
}

void append(Bytes& bytes, int sensor, int level, bool mark) {
  bytes.push_back(static_cast<std::uint8_t>(0x80 | sensor << 4 | level >> 6));
  bytes.push_back(static_cast<std::uint8_t>((mark ? 0x40 : 0) | (level & 0x3f)));
}

// One look at t us: `amperes` at 12 V on pair 0, twice as many at 3.3 V on pair 3; pairs 1 and 2 are off and float.
Bytes look_at(std::int64_t us, double amperes) {
  Bytes bytes;
  append(bytes, 7, static_cast<int>(us % 1024), true);
  for (int sensor = 0; sensor < 8; ++sensor) {
    const int pair = sensor / 2;
    double volts = 1.1;
    if (pair == 0)
      volts = sensor % 2 == 0 ? current_reference + amperes * current_sensitivity : 12 * voltage_gain;
    if (pair == 3)
      volts = sensor % 2 == 0 ? current_reference + 2 * amperes * current_sensitivity : 3.3 * voltage_gain;
    append(bytes, sensor, level_of(volts), sensor == 0 && us % 7 == 0);  // a mark of the host's own tools
  }
  return bytes;
}

std::array<PowerSensor3Sensor, 8> sensors() {
  std::array<PowerSensor3Sensor, 8> all;
  for (std::size_t i : {0UL, 6UL}) {
    all[i] = {"MLX10", i == 0 ? "ext12V" : "slot3V3", current_reference, current_sensitivity, true};
    all[i + 1] = {"voltage", all[i].pair_name, 0, voltage_gain, true};
  }
  return all;
}

constexpr double step_of_levels = 0.02;  // what ten bits and two sensors round, of these values

TEST(PowerSensor3Stream, AddsUpEachPairByTheDevicesClock) {
  PowerSensor3Stream stream(sensors());
  Bytes bytes;
  for (std::int64_t us = 500; us <= 1'000'500; us += 50) {
    const Bytes look = look_at(us, us < 500'000 ? 1 : 3);
    bytes.insert(bytes.end(), look.begin(), look.end());
  }
  // In pieces of any length.
  std::mt19937 random(3);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - at, 1 + random() % 300);
    stream.take({bytes.data() + at, count});
    at += count;
  }
  EXPECT_EQ(stream.looks(), 20'001U);
  EXPECT_EQ(stream.strange(), 0U);
  EXPECT_NEAR(stream.device_s(), 1, 1e-9);
  EXPECT_NEAR(stream.joules(0), 24, 24 * step_of_levels);
  EXPECT_NEAR(stream.joules(3), 2 * 3.3 * 2, 2 * 3.3 * 2 * step_of_levels);
  EXPECT_EQ(stream.joules(1), 0) << "switched off";
}

TEST(PowerSensor3Stream, LostBytesCostNoEnergy) {
  std::mt19937 random(5);
  PowerSensor3Stream stream(sensors());
  for (std::int64_t us = 0; us <= 2'000'000; us += 50) {
    Bytes look = look_at(us, 2);
    if (random() % 50 == 0) look.erase(look.begin() + static_cast<std::ptrdiff_t>(random() % look.size()));
    stream.take(look);
  }
  EXPECT_GT(stream.strange(), 500U);
  EXPECT_NEAR(stream.device_s(), 2, 0.001);
  EXPECT_NEAR(stream.joules(0), 48, 48 * step_of_levels)
      << "the time of a look that is not whole is in the next one's";
}

TEST(PowerSensor3Stream, RecordsAreReadAndOthersRefused) {
  Bytes record(powersensor3_record);
  std::memcpy(record.data(), "MLX20", 5);
  std::memcpy(record.data() + 16, "Jetson", 6);
  const float reference = 1.62247F, sensitivity = 0.0625F;
  std::memcpy(record.data() + 32, &reference, 4);
  std::memcpy(record.data() + 36, &sensitivity, 4);
  record[40] = 1;
  const auto sensor = parse_powersensor3_record(record);
  ASSERT_TRUE(sensor);
  EXPECT_EQ(sensor->type + "|" + sensor->pair_name, "MLX20|Jetson");
  EXPECT_TRUE(sensor->in_use);
  EXPECT_NEAR(sensor->value_of(1023), (3.3 - 1.62247) / 0.0625, 1e-4);
  Bytes other = record;
  other[40] = 7;
  EXPECT_FALSE(parse_powersensor3_record(other));
  other = record;
  other[2] = 0x07;
  EXPECT_FALSE(parse_powersensor3_record(other));
  const float zero = 0;
  std::memcpy(record.data() + 36, &zero, 4);
  EXPECT_FALSE(parse_powersensor3_record(record)) << "switched on, and by nothing to divide by";
  EXPECT_FALSE(parse_powersensor3_record(Bytes(25)));
}

class Device {
 public:
  Device() {
    int master = -1, slave = -1;
    char name[64] = {};
    EXPECT_EQ(::openpty(&master, &slave, name, nullptr, nullptr), 0);
    termios raw{};
    ::tcgetattr(slave, &raw);
    ::cfmakeraw(&raw);
    ::tcsetattr(slave, TCSANOW, &raw);
    master_.reset(master);
    slave_.reset(slave);
    path_ = name;
    thread_ = std::thread([this] { serve(); });
  }
  ~Device() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void unplug() {
    ends_ = true;
    thread_.join();
    slave_.reset();
    master_.reset();
  }

  const std::string& path() const { return path_; }
  std::atomic<bool> old_firmware{false}, mute{false}, streams{false}, falls_silent{false},
      switched_off{false};
  std::atomic<int> leaves_out_ms{0};  // of the values, once
  std::atomic<double> amperes{2};

 private:
  Bytes record(int sensor) const {
    Bytes bytes(powersensor3_record);
    const PowerSensor3Sensor one = sensors()[static_cast<std::size_t>(sensor)];
    std::memcpy(bytes.data(), one.type.c_str(), one.type.size());
    std::memcpy(bytes.data() + 16, one.pair_name.c_str(), one.pair_name.size());
    const auto reference = static_cast<float>(one.reference_v),
               sensitivity = static_cast<float>(one.sensitivity);
    std::memcpy(bytes.data() + 32, &reference, 4);
    std::memcpy(bytes.data() + 36, &sensitivity, 4);
    bytes[40] = one.in_use && !switched_off;
    if (old_firmware) bytes.erase(bytes.begin() + 16, bytes.begin() + 32);
    return bytes;
  }
  void say(const Bytes& bytes) const {
    for (std::size_t at = 0; at < bytes.size() && !ends_;) {
      const ssize_t count = ::write(master_.get(), bytes.data() + at, bytes.size() - at);
      if (count > 0) at += static_cast<std::size_t>(count);
    }
  }
  void serve() {
    using Steady = std::chrono::steady_clock;
    const auto began = Steady::now();
    const auto now_us = [&] {
      return std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - began).count();
    };
    std::int64_t sent = 0;
    int listing = -1;
    while (!ends_) {
      pollfd wait{master_.get(), POLLIN, 0};
      ::poll(&wait, 1, 1);
      char command = 0;
      if ((wait.revents & POLLIN) != 0 && ::read(master_.get(), &command, 1) == 1 && !mute) {
        if (command == 'R') listing = 0;
        if (command == 's' && listing >= 0) ++listing;
        if (command == 'R' || command == 's') say(listing < 8 ? record(listing) : Bytes{'D'});
        if (command == 's' && listing >= 8) listing = -1;
        if (command == 'S') {
          streams = true;
          sent = now_us();
        }
        if (command == 'X') {
          if (streams) say({0xff, 0x3f});
          streams = false;
        }
      }
      if (!streams || falls_silent) continue;
      if (const int left_out = leaves_out_ms.exchange(0)) sent += left_out * 1000;
      Bytes bytes;
      for (; sent + 50 <= now_us(); sent += 50) {
        const Bytes look = look_at(sent + 50, amperes);
        bytes.insert(bytes.end(), look.begin(), look.end());
      }
      say(bytes);
    }
  }

  UniqueFd master_, slave_;
  std::string path_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

MeterFinding open(const std::string& at, const std::string& outlet = {}) {
  MeterRequest request;
  request.name = "card";
  request.at = at;
  request.outlet = outlet;
  request.domain = "gpu0";
  return Registered<MeterKind>::find("powersensor3")->open(request);
}

Sample read_when(Probe& probe, const std::function<bool(const Sample&)>& good) {
  std::vector<Sample> samples(1);
  for (int i = 0; i < 3000; ++i) {
    samples[0] = {};
    probe.read(samples);
    if (good(samples[0])) break;
    ::usleep(1000);
  }
  return samples[0];
}

bool has_value(const Sample& sample) {
  return sample.value.has_value();
}

TEST(PowerSensor3, CountsTheEnergyOfItsPairs) {
  Device device;
  auto finding = open(device.path());
  ASSERT_TRUE(finding.probe) << finding.problem;
  const Channel& channel = finding.probe->channels().at(0);
  EXPECT_EQ(channel.name + "|" + channel.unit + "|" + channel.domain, "card:energy|J|gpu0");
  EXPECT_EQ(channel.source, device.path() + " (PowerSensor3, pairs 0 (ext12V), 3 (slot3V3))");
  finding.probe->begin();
  const Sample first = read_when(*finding.probe, has_value);
  ::usleep(400'000);
  const Sample last = read_when(*finding.probe, has_value);
  ASSERT_TRUE(first.value && last.value && first.told_at && last.told_at);
  const double passed = 1e-9 * static_cast<double>(*last.told_at - *first.told_at);
  ASSERT_GT(passed, 0.2);
  constexpr double watts = 2 * 12 + 4 * 3.3;
  EXPECT_NEAR(*last.value - *first.value, watts * passed, watts * (step_of_levels * passed + 0.05));
  EXPECT_TRUE(device.streams);
  finding.probe.reset();
  for (int i = 0; i < 2000 && device.streams; ++i) ::usleep(1000);
  EXPECT_FALSE(device.streams) << "it is told to stop";
}

TEST(PowerSensor3, OneThatStillSendsSinceAKilledRunIsTakenOver) {
  Device device;
  device.streams = true;
  const auto finding = open(device.path(), "0");
  ASSERT_TRUE(finding.probe) << finding.problem;
  EXPECT_EQ(finding.probe->channels().at(0).source, device.path() + " (PowerSensor3, pair 0 (ext12V))");
}

TEST(PowerSensor3, ValuesThatWereLostSpoilTheTrialAndNotTheNext) {
  Device device;
  auto finding = open(device.path());
  ASSERT_TRUE(finding.probe) << finding.problem;
  finding.probe->begin();
  ASSERT_TRUE(read_when(*finding.probe, has_value).value);
  ::usleep(50'000);
  device.leaves_out_ms = 300;
  const Sample spoilt = read_when(*finding.probe, [](const Sample& one) { return !one.text.empty(); });
  EXPECT_EQ(spoilt.status, ReadingStatus::absent);
  EXPECT_THAT(spoilt.text, HasSubstr("some were lost, and their energy with them"));
  EXPECT_THAT(finding.probe->begin(), HasSubstr("card: it sent "));
  EXPECT_TRUE(read_when(*finding.probe, has_value).value);
  EXPECT_EQ(finding.probe->begin(), "");
}

TEST(PowerSensor3, OneThatFallsSilentOrIsPulledOutIsGone) {
  Device device;
  auto finding = open(device.path());
  ASSERT_TRUE(finding.probe) << finding.problem;
  ASSERT_TRUE(read_when(*finding.probe, has_value).value);
  device.falls_silent = true;
  const auto gone = [](const Sample& one) { return one.status == ReadingStatus::gone; };
  EXPECT_EQ(read_when(*finding.probe, gone).text, "it sends nothing any more");
  device.unplug();
  EXPECT_EQ(
      read_when(*finding.probe, [](const Sample& one) { return one.text == "the device is gone"; }).text,
      "the device is gone");
}

TEST(PowerSensor3, WhatIsNoneOrCannotMeasureSaysSo) {
  Device device;
  const std::string at = "meter 'card' (powersensor3) at " + device.path() + ": ";
  EXPECT_EQ(open(device.path(), "9").problem,
            at + "it has no pair '9'; switched on are 0 (ext12V), 3 (slot3V3)");
  {
    const auto first = open(device.path());
    ASSERT_TRUE(first.probe);
    EXPECT_EQ(open(device.path()).problem, at + device.path() + " is in use by another program");
  }
  device.switched_off = true;
  EXPECT_EQ(open(device.path()).problem, at + "none of its pairs of sensors is switched on");
  device.switched_off = false;
  device.old_firmware = true;
  EXPECT_EQ(open(device.path()).problem,
            at + "it told 25 of 41 bytes of its sensor 0: an older firmware's records are shorter");
  device.mute = true;
  const auto mute = open(device.path());
  EXPECT_EQ(mute.problem, at + "it does not answer");
  EXPECT_EQ(mute.fix,
            "is it a PowerSensor3? `psconfig -d " + device.path() + " -p` shows what it is set up for");
  EXPECT_THAT(open("/dev/null").problem, HasSubstr("/dev/null is no serial line"));
  EXPECT_THAT(open("/dev/no-such-line").problem,
              HasSubstr("open /dev/no-such-line: No such file or directory"));
  EXPECT_THAT(open("tcp://x").problem,
              HasSubstr("'at' is the device that it is, /dev/ttyACM0; found 'tcp://x'"));
}

}  // namespace
}  // namespace dvfs_plan
