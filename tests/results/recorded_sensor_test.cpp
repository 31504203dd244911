// The sensors of a real NVIDIA H200, recorded every 3.2 ms through idle, square waves and 15 s of steady
// load.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/energy/sensor_audit.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

const std::string recording =
    std::string(DVFS_PLAN_SOURCE) + "/../shared/fixtures/nvidia-h200/nvml_trace_1ms.csv";

struct RecordedTrace {
  std::vector<Channel> channels{gauge("gpu"), gauge("gpu"), counter("gpu")};
  std::vector<Reading> readings;
  Nanoseconds from = 0, to = 0, load_from = 0, steady_from = 0, steady_to = 0;
  double first_joules = 0, last_joules = 0;
};

RecordedTrace read_trace() {
  RecordedTrace trace;
  trace.channels[0].name = "average";
  trace.channels[1].name = "instant";
  trace.channels[2].name = "energy";
  std::ifstream file(recording);
  std::string line;
  std::getline(file, line);  // t_ns,call_ns,usage_mw,average_mw,instant_mw,energy_mj,sm_mhz,phase
  while (std::getline(file, line)) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> cells;
    std::size_t start = 0;
    while (start <= line.size()) {
      const auto comma = std::min(line.find(',', start), line.size());
      cells.push_back(line.substr(start, comma - start));
      start = comma + 1;
    }
    const auto time = static_cast<Nanoseconds>(*parse_number(cells[0]));
    if (trace.from == 0) trace.from = time;
    trace.to = time;
    if (cells[7] != "idle" && trace.load_from == 0) trace.load_from = time;
    const double joules = *parse_number(cells[5]) / 1e3;
    if (cells[7] == "steady") {
      if (trace.steady_from == 0) {
        trace.steady_from = time;
        trace.first_joules = joules;
      }
      trace.steady_to = time;
      trace.last_joules = joules;
    }
    trace.readings.push_back(at(time, *parse_number(cells[3]) / 1e3, 0));
    trace.readings.push_back(at(time, *parse_number(cells[4]) / 1e3, 1));
    trace.readings.push_back(at(time, joules, 2));
  }
  return trace;
}

TEST(RecordedSensor, TheAuditFindsWhatWasMeasuredByHand) {
  if (!std::ifstream(recording)) GTEST_SKIP() << "the recording is not here: " << recording;
  const RecordedTrace trace = read_trace();
  ASSERT_EQ(trace.readings.size(), 3 * 12158U);
  const auto audit = audit_sensors(trace.channels, trace.readings, trace.from, trace.to, trace.load_from);
  for (const auto& line : audit_lines(audit, trace.channels)) std::printf("%s\n", line.c_str());
  for (const ChannelAudit& one : audit.channels) {
    EXPECT_EQ(one.state, SensorState::alive);
    EXPECT_NEAR(one.update->value(), 0.100, 0.005) << trace.channels[one.channel].name;
    EXPECT_GE(*one.fresh_per_second, 6) << trace.channels[one.channel].name;
    EXPECT_LE(*one.fresh_per_second, 10) << trace.channels[one.channel].name;
  }

  // Over the 15 s of steady load.
  EXPECT_NEAR(trace.last_joules - trace.first_joules, 10401.6, 0.05);
  ChannelEnergy energies[3];
  for (std::uint32_t i = 0; i < 3; ++i) {
    energies[i] =
        energy_between(trace.channels[i], of_channel(trace.readings, i), trace.steady_from, trace.steady_to);
    std::printf("%s: %.1f J +- %.1f J\n", trace.channels[i].name.c_str(), *energies[i].joules,
                *energies[i].half_width_j);
  }
  EXPECT_NEAR(*energies[2].as_read_j, 10401.6, 0.05);
  // The plain difference lacks up to an update at each edge; with the edges placed between the updates it is
  // some joules more, and says how uncertain they are.
  EXPECT_NEAR(*energies[2].joules, 10401.6, 0.1 * 700);
  EXPECT_LT(*energies[2].half_width_j, 0.01 * 10401.6);
  EXPECT_NEAR(*energies[1].joules / *energies[2].joules - 1, 0.0034, 0.004);
  EXPECT_NEAR(*energies[0].joules / *energies[2].joules - 1, -0.0065, 0.004);
}

}  // namespace
}  // namespace dvfs_plan
