// nvidia-smi's words: recorded answers of a real H200, and the ways in which such answers go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/run_program.hpp"
#include "probes/gpu/smi_stream.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string recorded(const std::string& file) {
  std::ifstream stream(std::string(DVFS_PLAN_SOURCE) + "/tests/recorded/nvidia-h200/" + file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(NvidiaSmiCsv, ARecordedAnswerIsReadByTheNamesInItsHeader) {
  const SmiTable table = parse_smi_csv(recorded("query_gpu.csv"));
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table.text(0, "name"), "NVIDIA H200");
  EXPECT_EQ(table.number(0, "power.draw.instant"), 77.18);
  EXPECT_EQ(table.number(0, "power.limit"), 700.0);
  EXPECT_EQ(table.number(0, "clocks.current.sm"), 345.0);
  EXPECT_EQ(table.number(0, "clocks_event_reasons.supported"), 0x1ff);
  EXPECT_EQ(table.text(0, "mig.mode.current"), "Disabled");
  EXPECT_FALSE(table.text(0, "no.such.column"));
  EXPECT_EQ(parse_smi_csv(recorded("supported_clocks.csv")).size(), 220U);
}

TEST(NvidiaSmiCsv, WhatIsNoValueIsAbsentAndNeverZero) {
  for (const char* cell :
       {"N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "[GPU is lost]", "[Insufficient Permissions]",
        "Requested functionality has been deprecated", "", "  "})
    EXPECT_FALSE(smi_number(cell)) << cell;
  EXPECT_EQ(smi_number("0 %"), 0.0);
  EXPECT_EQ(smi_number(" 39801638 us"), 39801638.0);
  EXPECT_FALSE(smi_number("Enabled"));
}

TEST(NvidiaSmiCsv, AnErrorIsNoTable) {
  const std::string error = "Field \"power.drow\" is not a valid field to query.\n\n";
  EXPECT_THAT(recorded("errors.txt"), HasSubstr("is not a valid field to query"));
  EXPECT_EQ(smi_unknown_field(recorded("errors.txt")), "power.drow");
  EXPECT_FALSE(parse_smi_csv(error).has_header());
  EXPECT_FALSE(parse_smi_csv("No devices were found\n").has_header());
  EXPECT_FALSE(smi_unknown_field("No devices were found"));
}

// The stream, fed text as it may come.
class StreamTest : public testing::Test {
 protected:
  static GpuBoard board(int index) {
    GpuBoard one;
    one.index = index;
    one.domain = "gpu-" + std::to_string(index);
    one.uuid = "GPU-" + std::to_string(index);
    return one;
  }
  std::optional<double> value(const std::string& name) const {
    for (std::size_t i = 0; i < reader_.channels().size(); ++i) {
      if (reader_.channels()[i].name == "nvidia:" + name) return samples_[i].value;
    }
    ADD_FAILURE() << "no channel " << name;
    return std::nullopt;
  }
  ReadingStatus status(std::size_t channel) const { return samples_[channel].status; }
  void take(std::string_view text) {
    for (Sample& sample : samples_) sample = {};
    reader_.parse(text, samples_);
  }

  SmiStreamReader reader_{{board(0), board(1)}, {"uuid", "power.draw.instant", "clocks.current.sm"}};
  std::vector<Sample> samples_ = std::vector<Sample>(reader_.channels().size());
};

TEST_F(StreamTest, ColumnsMayMoveAndLinesMayComeInPieces) {
  take("uuid, power.draw.instant [W], clocks.current.sm [MHz]\nGPU-1, 300.5 W, 13");
  EXPECT_EQ(reader_.lines(), 0);
  take("95 MHz\nGPU-0, 77.18 W, 345 MHz\n");
  EXPECT_EQ(value("gpu-1/power_instant"), 300.5);
  EXPECT_EQ(value("gpu-1/core_clock"), 1395e6);
  EXPECT_EQ(value("gpu-0/power_instant"), 77.18);
  take(
      "dvfs-plan: ended 0\ndvfs-plan: runs 4711\nclocks.current.sm [MHz], power.draw.instant [W], uuid\n1980 "
      "MHz, 118.1 W, "
      "GPU-0\n");
  EXPECT_EQ(value("gpu-0/core_clock"), 1980e6);
  EXPECT_EQ(value("gpu-0/power_instant"), 118.1);
  EXPECT_EQ(reader_.program(), 4711);
  EXPECT_EQ(reader_.ends(), 1);
  EXPECT_EQ(reader_.lines(), 3);
}

TEST_F(StreamTest, AColumnThatIsGoneIsAbsentAndABoardThatIsNotOursIsPassedOver) {
  take("uuid, clocks.current.sm [MHz]\nGPU-0, 345 MHz\nGPU-7, 999 MHz\n");
  EXPECT_EQ(value("gpu-0/core_clock"), 345e6);
  EXPECT_FALSE(value("gpu-0/power_instant"));
  EXPECT_EQ(status(0), ReadingStatus::absent);
  EXPECT_FALSE(value("gpu-1/core_clock"));
}

TEST_F(StreamTest, ExcusesAreAbsentAndHalfALineIsNothing) {
  take("uuid, power.draw.instant [W], clocks.current.sm [MHz]\nGPU-0, [Unknown Error], [N/A]\n");
  EXPECT_EQ(status(0), ReadingStatus::absent);
  EXPECT_EQ(status(1), ReadingStatus::absent);
  // It died in the middle of a line; the supervisor's word comes right behind.
  take("GPU-0, 77.1dvfs-plan: ended 137\nGPU-0, 78 W, 345 MHz\n");
  EXPECT_EQ(reader_.ends(), 1);
  EXPECT_EQ(value("gpu-0/power_instant"), 78.0);
  take(
      "Unable to determine the device handle for GPU 0000:00:06.0: GPU is lost.\nGPU-0, 1 W\nGPU-0, 1 W, 2 "
      "MHz, 3\n");
  EXPECT_EQ(reader_.malformed(), 3);
  EXPECT_FALSE(value("gpu-0/power_instant"));
}

TEST(RunProgram, SaysWhyThereIsNoAnswer) {
  EXPECT_EQ(run_program("/bin/sh", {"-c", "echo out; echo err >&2; exit 3"}, Seconds{10}).exit_code, 3);
  EXPECT_THAT(run_program("/bin/sh", {"-c", "echo out; echo err >&2"}, Seconds{10}).output,
              testing::AllOf(HasSubstr("out"), HasSubstr("err")));
  EXPECT_EQ(run_program("/no/such", {}, Seconds{1}).problem, "exec /no/such: No such file or directory");
  EXPECT_EQ(run_program("/bin/sh", {"-c", "kill -SEGV $$"}, Seconds{10}).problem,
            "/bin/sh was ended by SIGSEGV");
  EXPECT_EQ(run_program("/bin/sh", {"-c", "sleep 100"}, Seconds{0.2}).problem,
            "/bin/sh did not answer within 0.2 s");
  // One that closes its output and lives on is not waited for either.
  EXPECT_EQ(run_program("/bin/sh", {"-c", "exec >/dev/null 2>&1; sleep 100"}, Seconds{0.2}).problem,
            "/bin/sh did not answer within 0.2 s");
}

}  // namespace
}  // namespace dvfs_plan
