// What a trial waits for: temperature and clocks, with sensors that say what a test wants.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "orchestrator/conditions/cpu_load.hpp"
#include "orchestrator/conditions/other_setters.hpp"
#include "orchestrator/conditions/settling.hpp"
#include "orchestrator/conditions/temperature_gate.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

// Gives the values of a list, one a look, the last for ever.
class ListedProbe : public Probe {
 public:
  ListedProbe(const std::string& unit, std::vector<double> values, bool under_load_only = false)
      : values_(std::move(values)) {
    Channel channel{};
    channel.name = "listed";
    channel.unit = unit;
    channel.under_load_only = under_load_only;
    channels_.push_back(channel);
  }
  const std::string& name() const override { return channels_[0].name; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{1}; }
  void read(std::span<Sample> samples) override {
    samples[0] = {values_[std::min(at_, values_.size() - 1)], ReadingStatus::ok};
    ++at_;
  }

 private:
  std::vector<Channel> channels_;
  std::vector<double> values_;
  std::size_t at_ = 0;
};

class Conditions : public testing::Test {
 protected:
  Sampler& listed(const std::string& unit, std::vector<double> values, bool under_load_only = false) {
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::make_unique<ListedProbe>(unit, std::move(values), under_load_only));
    sampler_ = std::make_unique<Sampler>(std::move(probes), clock_);
    return *sampler_;
  }
  SystemClock clock_;
  Interruption interruption_;
  std::unique_ptr<Sampler> sampler_;
};

TEST_F(Conditions, TheGateWaitsUntilTheMachineHasCooled) {
  TemperatureGate gate(listed("C", {50, 60, 58, 52.5, 51.9}), 2.0, Seconds{5});
  auto first = gate.wait(interruption_, clock_);
  EXPECT_EQ(first.word, "in_band");
  EXPECT_DOUBLE_EQ(*first.temperature_c, 50);
  const auto second = gate.wait(interruption_, clock_);
  EXPECT_EQ(second.word, "waited");
  EXPECT_DOUBLE_EQ(*second.temperature_c, 51.9);
  EXPECT_GE(second.waited.value(), 0.29);
}

TEST_F(Conditions, TheGateGivesUpAtItsLimitAndSaysSo) {
  TemperatureGate gate(listed("C", {50, 60}), 2.0, Seconds{0.25});
  gate.wait(interruption_, clock_);
  const auto warm = gate.wait(interruption_, clock_);
  EXPECT_EQ(warm.word, "timed_out");
  EXPECT_EQ(warm.message,
            "listed is at 60.0 C, 10.0 C above the block's start, and did not come back within 250 ms");
  EXPECT_EQ(gate.wait(interruption_, clock_).word, "in_band");  // that is the machine's state from now on
  gate.begin_block();
  EXPECT_EQ(gate.wait(interruption_, clock_).word, "in_band");
}

TEST_F(Conditions, WithoutAGateOrASensorNothingIsWaitedFor) {
  TemperatureGate off(listed("C", {50, 90}), std::nullopt, Seconds{5});
  off.wait(interruption_, clock_);
  const auto open = off.wait(interruption_, clock_);
  EXPECT_EQ(open.word, "");
  EXPECT_DOUBLE_EQ(*open.temperature_c, 90);
  TemperatureGate blind(listed("W", {50}), 2.0, Seconds{5});
  EXPECT_FALSE(blind.wait(interruption_, clock_).temperature_c);  // not known: no number
}

TEST_F(Conditions, ClocksAreWaitedForUntilTheyHold) {
  const auto settled = settle(listed("Hz", {1e9, 2e9, 2.5e9, 3e9, 3e9, 3.001e9}), Seconds{0.02}, Seconds{2},
                              interruption_, clock_);
  EXPECT_EQ(settled.outcome, "held");
  EXPECT_GE(settled.waited.value(), 0.02 + 5 * 0.01);
  std::vector<double> hunting;
  for (int i = 0; i < 1000; ++i) hunting.push_back(i % 2 == 0 ? 1e9 : 2e9);
  EXPECT_EQ(settle(listed("Hz", hunting), Seconds{0}, Seconds{0.1}, interruption_, clock_).outcome,
            "timed_out");
  // A clock from APERF/MPERF says nothing on a machine at rest: only the least time is waited.
  EXPECT_EQ(settle(listed("Hz", hunting, true), Seconds{0.01}, Seconds{2}, interruption_, clock_).outcome,
            "");
}

TEST_F(Conditions, OthersCpuTimeIsWhatIsNotOursAndNotInterrupts) {
  TemporaryFolder root;
  root.file("/proc/stat",
            "cpu 0\ncpu0 100 10 50 900 5 3 2 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nprocs_running 4\n");
  const auto before = read_cpu_times(Sysfs(root.path()));
  EXPECT_EQ(run_queue(Sysfs(root.path())), 3);
  root.file("/proc/stat", "cpu 0\ncpu0 200 10 100 900 5 99 99 0 0 0\ncpu1 30 0 20 1000 0 0 0 0 0 0\n");
  const double ticks = 100 + 50 + 30 + 20;
  EXPECT_DOUBLE_EQ(process_time_between(before, read_cpu_times(Sysfs(root.path()))).value(),
                   ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  EXPECT_FALSE(run_queue(Sysfs(root.path())));
  const Sysfs sysfs(root.path());
  EXPECT_FALSE(ThrottleCounts(sysfs).read());  // absent is not 0
  for (const char* cpu : {"cpu0", "cpu1"}) {
    root.file(std::string("/sys/devices/system/cpu/") + cpu + "/thermal_throttle/core_throttle_count", "3\n");
    root.file(std::string("/sys/devices/system/cpu/") + cpu + "/thermal_throttle/package_throttle_count",
              "5\n");
  }
  EXPECT_EQ(ThrottleCounts(sysfs).read(), 3 + 3 + 5);
  // Of two sockets each has its own.
  for (const char* cpu : {"cpu0", "cpu1"})
    root.file(std::string("/sys/devices/system/cpu/") + cpu + "/topology/physical_package_id",
              std::string(1, cpu[3]) + "\n");
  const ThrottleCounts two(sysfs);
  EXPECT_EQ(two.read(), 3 + 3 + 5 + 5);
  root.file("/sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "4\n");
  EXPECT_EQ(two.read(), 3 + 3 + 5 + 4);
}

// proc(5): what sets knobs or samples sensors beside a sweep, and what it used of a CPU since it was started.
TEST(OtherSetters, AreFoundWithWhatTheyCost) {
  TemporaryFolder root;
  const auto process = [&](int pid, const std::string& comm, double cpu_seconds, double started) {
    const std::string folder = fmt::format("/proc/{}/", pid);
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    root.attribute(folder + "comm", comm);
    root.attribute(
        folder + "stat",
        fmt::format("{} (a (odd) name) S 1 1 1 0 -1 0 0 0 0 0 {:.0f} {:.0f} 0 0 20 0 1 0 {:.0f} 0 0", pid,
                    cpu_seconds * ticks * 0.75, cpu_seconds * ticks * 0.25, started * ticks));
  };
  root.attribute("/proc/uptime", "1100.00 2000.00");
  process(7, "dcgm-exporter", 20, 100);
  process(8, "bash", 900, 100);
  process(9, "power-profiles-", 0, 100);
  root.attribute("/proc/10/comm", "thermald");  // whose stat cannot be read
  const auto found = find_other_setters(Sysfs(root.path()));
  ASSERT_EQ(found.size(), 3U);
  std::map<std::string, OtherSetter> by_name;
  for (const OtherSetter& one : found) by_name[one.name] = one;
  EXPECT_NEAR(*by_name.at("dcgm-exporter").cpu, 0.02, 1e-9);
  EXPECT_FALSE(by_name.at("dcgm-exporter").sets);
  EXPECT_EQ(by_name.at("dcgm-exporter").why, "samples all boards and keeps them awake");
  EXPECT_EQ(by_name.at("power-profiles-daemon").cpu, 0.0);
  EXPECT_TRUE(by_name.at("power-profiles-daemon").sets);
  EXPECT_FALSE(by_name.at("thermald").cpu);
  EXPECT_EQ(likely_setters({by_name.at("dcgm-exporter")}), "");
}

}  // namespace
}  // namespace dvfs_plan
