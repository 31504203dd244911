// DCMI's answers, byte by byte (DCMI 1.5, tables 6-2, 6-16), and a BMC that misbehaves. The real driver in front of one: system.ipmi.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/ipmi.hpp"
#include "probes/probe_table.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using Bytes = std::vector<std::uint8_t>;

// 220 W now, 150 to 330 in the last second, 222 in the mean.
Bytes reading(int watts = 220, std::uint8_t state = 0x40) {
  return {0x00,
          0xdc,
          static_cast<std::uint8_t>(watts),
          static_cast<std::uint8_t>(watts >> 8),
          0x96,
          0x00,
          0x4a,
          0x01,
          0xde,
          0x00,
          0x10,
          0x20,
          0x30,
          0x60,
          0xe8,
          0x03,
          0x00,
          0x00,
          state};
}
const Bytes averages{0x00, 0xdc, 0x01, 0x05, 0x02, 0x03, 0x05, 0x1e, 0x41};  // 5 s, 30 s, 1 min

class PlayedDoor : public BmcDoor {
 public:
  explicit PlayedDoor(std::vector<Answer> answers) : answers_(std::move(answers)) {}
  Answer ask(std::uint8_t net_function, std::uint8_t command, std::span<const std::uint8_t> data,
             Seconds) override {
    asked.push_back({net_function, command});
    asked.back().insert(asked.back().end(), data.begin(), data.end());
    Answer answer = answers_.front();
    if (answers_.size() > 1) answers_.erase(answers_.begin());
    return answer;
  }
  std::vector<Bytes> asked;

 private:
  std::vector<Answer> answers_;
};

Sample read_once(Probe& probe) {
  std::vector<Sample> samples(1);
  probe.read(samples);
  return samples[0];
}

TEST(Dcmi, AReadingIsWatts) {
  std::string problem;
  const auto power = dcmi_power(reading(1290), problem);
  ASSERT_TRUE(power) << problem;
  EXPECT_DOUBLE_EQ(power->now_w, 1290);
  EXPECT_TRUE(power->active);
}

TEST(Dcmi, WhatIsNoReadingSaysWhy) {
  std::string problem;
  EXPECT_FALSE(dcmi_power(Bytes{0xc1}, problem));
  EXPECT_EQ(problem, "completion code 0xC1");
  EXPECT_FALSE(dcmi_power(Bytes{}, problem));
  EXPECT_EQ(problem, "an empty answer");
  for (std::size_t length = 1; length < reading().size(); ++length) {
    Bytes cut = reading();
    cut.resize(length);
    EXPECT_FALSE(dcmi_power(cut, problem)) << length;
    EXPECT_EQ(problem, "an answer of " + std::to_string(length) + " bytes that is no DCMI");
  }
  Bytes other = reading();
  other[1] = 0xde;
  EXPECT_FALSE(dcmi_power(other, problem));
}

TEST(Dcmi, MeansThatAreOffered) {
  const auto texts = dcmi_averages(averages);
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0].value(), 5);
  EXPECT_EQ(texts[1].value(), 30);
  EXPECT_EQ(texts[2].value(), 60);
  EXPECT_TRUE(dcmi_averages(Bytes{0xc9}).empty());
  EXPECT_EQ(dcmi_averages(Bytes{0x00, 0xdc, 0x01, 0x05, 0x02, 0xff, 0x05}).size(),
            1U);  // promises more than it says
}

TEST(Ipmi, AsksForSystemPowerAndDescribesItself) {
  auto door =
      std::make_unique<PlayedDoor>(std::vector<BmcDoor::Answer>{{reading()}, {averages}, {reading(231)}});
  PlayedDoor& played = *door;
  std::string problem;
  const auto probe = make_ipmi_probe(std::move(door), "/dev/ipmi0", problem);
  ASSERT_TRUE(probe) << problem;
  ASSERT_EQ(probe->channels().size(), 1U);
  const Channel& channel = probe->channels()[0];
  EXPECT_EQ(channel.name, "ipmi:power");
  EXPECT_EQ(channel.domain, "system");
  EXPECT_EQ(channel.source, "/dev/ipmi0 (DCMI); it offers means over 5 s, 30 s, 60 s");
  EXPECT_FALSE(channel.averages_over_s);  // DCMI does not say of "current" power
  EXPECT_TRUE(probe->asks_device());
  EXPECT_DOUBLE_EQ(*read_once(*probe).value, 231);
  EXPECT_THAT(played.asked,
              ElementsAre(Bytes{0x2c, 0x02, 0xdc, 0x01, 0x00, 0x00}, Bytes{0x2c, 0x01, 0xdc, 0x05},
                          Bytes{0x2c, 0x02, 0xdc, 0x01, 0x00, 0x00}));
}

TEST(Ipmi, ABmcWithoutPowerIsNone) {
  std::string problem;
  EXPECT_FALSE(make_ipmi_probe(std::make_unique<PlayedDoor>(std::vector<BmcDoor::Answer>{{Bytes{0xc1}}}),
                               "/dev/ipmi0", problem));
  EXPECT_EQ(problem, "the BMC at /dev/ipmi0 has no DCMI power reading: completion code 0xC1");
  EXPECT_FALSE(make_ipmi_probe(std::make_unique<PlayedDoor>(std::vector<BmcDoor::Answer>{{reading(0, 0)}}),
                               "/dev/ipmi0", problem));
  EXPECT_EQ(problem, "the BMC at /dev/ipmi0 says that it does not measure power now");
  EXPECT_FALSE(make_ipmi_probe(
      std::make_unique<PlayedDoor>(std::vector<BmcDoor::Answer>{{{}, "the BMC did not answer within 4 s"}}),
      "/dev/ipmi0", problem));
  EXPECT_EQ(problem, "the BMC did not answer within 4 s");
}

TEST(Ipmi, SilentOffBusyAndZeroAreFourThings) {
  std::string problem;
  const auto probe = make_ipmi_probe(
      std::make_unique<PlayedDoor>(std::vector<BmcDoor::Answer>{{reading()},
                                                                {averages},
                                                                {{}, "the BMC did not answer within 4 s"},
                                                                {reading(0, 0)},
                                                                {Bytes{0xc0}},  // node busy
                                                                {reading(0)},
                                                                {reading(225)}}),
      "/dev/ipmi0", problem);
  ASSERT_TRUE(probe);
  Sample sample = read_once(*probe);
  EXPECT_EQ(sample.status, ReadingStatus::gone);
  EXPECT_FALSE(sample.value);
  sample = read_once(*probe);
  EXPECT_EQ(sample.status, ReadingStatus::absent);
  EXPECT_FALSE(sample.value);
  sample = read_once(*probe);
  EXPECT_EQ(sample.status, ReadingStatus::absent);
  EXPECT_EQ(sample.text, "completion code 0xC0");
  sample = read_once(*probe);
  EXPECT_EQ(sample.status, ReadingStatus::ok);
  EXPECT_EQ(sample.value, 0);
  EXPECT_EQ(read_once(*probe).value, 225);
}

TEST(Ipmi, IsReadOnlyWhereItIsNamed) {
  const TemporaryFolder root;
  const auto has = [&](WhichProbes which) {
    for (const ProbeFinding& finding : find_probes({Sysfs(root.path())}, which)) {
      if (finding.name == "ipmi") return true;
    }
    return false;
  };
  EXPECT_FALSE(has(WhichProbes::usual));
  EXPECT_TRUE(has(WhichProbes::all));
  EXPECT_EQ(find_probe("ipmi", {Sysfs(root.path())}).problem, "a BMC is not part of a recorded machine");
}

}  // namespace
}  // namespace dvfs_plan
