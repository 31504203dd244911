// Probes of boards: the stand-in library plays a recording of a real H200; the stand-in nvidia-smi streams,
// dies and falls silent; AMD's and Intel's boards are trees of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "probes/gpu/amdgpu_metrics.hpp"
#include "probes/gpu/board_watch.hpp"
#include "probes/gpu/nvml_library.hpp"
#include "probes/probe_table.hpp"
#include "probes/sampler.hpp"
#include "results/energy/energy_curve.hpp"
#include "results/energy/energy_source.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class GpuProbes : public testing::Test {
 protected:
  ProbeFinding find(const std::string& name, bool launch = false) {
    boards_ = find_gpu_boards(sysfs_).boards;
    return find_probe(name, {sysfs_, boards_, launch ? &launcher_ : nullptr, &clock_, "test"});
  }
  std::unique_ptr<Sampler> sampler(ProbeFinding finding) {
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::move(finding.probe));
    for (auto& part : finding.others) probes.push_back(std::move(part));
    return std::make_unique<Sampler>(std::move(probes), clock_);
  }
  // What is read in so many seconds, the channel chosen by its name.
  std::vector<Reading> readings_of(Sampler& sampler, double seconds) {
    sampler.start();
    clock_.sleep_until(clock_.now() + nanoseconds(Seconds{seconds}));
    return sampler.stop();
  }
  static std::vector<Reading> of(const Sampler& sampler, const std::vector<Reading>& readings,
                                 const std::string& name) {
    for (std::uint32_t i = 0; i < sampler.channels().size(); ++i) {
      if (sampler.channels()[i].name == name) return of_channel(readings, i);
    }
    ADD_FAILURE() << "no channel " << name;
    return {};
  }
  static int with_value(const std::vector<Reading>& readings) {
    return static_cast<int>(std::count_if(readings.begin(), readings.end(),
                                          [](const Reading& r) { return r.value.has_value(); }));
  }
  static int with_status(const std::vector<Reading>& readings, ReadingStatus status) {
    return static_cast<int>(std::count_if(readings.begin(), readings.end(),
                                          [&](const Reading& r) { return !r.value && r.status == status; }));
  }
  std::string log() const { return root_.read("/gpu/argv.log"); }

  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
  SystemClock clock_;
  Launcher launcher_;
  std::vector<GpuBoard> boards_;
};

TEST_F(GpuProbes, TheLibraryIsAskedForWhatTheBoardHas) {
  machines::h200(root_, true);
  const auto finding = find("nvidia");
  ASSERT_TRUE(finding.probe) << finding.problem;
  EXPECT_EQ(finding.problem, "");
  std::vector<std::string> names;
  for (const Channel& channel : finding.probe->channels()) names.push_back(channel.name);
  for (const auto& part : finding.others) {
    for (const Channel& channel : part->channels()) names.push_back(channel.name);
  }
  EXPECT_THAT(
      names,
      ElementsAre("nvidia:gpu-0/energy", "nvidia:gpu-0/power_instant", "nvidia:gpu-0/power_average",
                  "nvidia:gpu-0/core_clock", "nvidia:gpu-0/memory_clock", "nvidia:gpu-0/utilisation",
                  "nvidia:gpu-0/throttle_power_cap", "nvidia:gpu-0/throttle_thermal",
                  "nvidia:gpu-0/temperature", "nvidia:gpu-0/memory_temperature", "nvidia:gpu-0/memory_used"));
  EXPECT_EQ(boards_[0].name, "NVIDIA H200");
  EXPECT_EQ(boards_[0].pci, "0000:00:06.0");
  EXPECT_EQ(boards_[0].driver, "NVIDIA 580.159.04");
  // Nothing was run for it.
  EXPECT_FALSE(std::filesystem::exists(root_ / "gpu/argv.log"));
}

// The recording, played through the library's interface, comes out as it went in.
TEST_F(GpuProbes, ARecordedStepOfLoadIsReadAsItWas) {
  machines::h200(root_, true);
  std::filesystem::copy_file(std::string(DVFS_PLAN_SOURCE) + "/tests/recorded/nvidia-h200/nvml_step.csv",
                             root_ / "gpu/trace.csv");
  auto played = sampler(find("nvidia"));
  const auto readings = readings_of(*played, 2.5);
  const auto energy = of(*played, readings, "nvidia:gpu-0/energy");
  const auto power = of(*played, readings, "nvidia:gpu-0/power_instant");
  const auto average = of(*played, readings, "nvidia:gpu-0/power_average");
  const auto clock = of(*played, readings, "nvidia:gpu-0/core_clock");
  ASSERT_GT(energy.size(), 20U);
  // Every value is one of the recording's, and they come in its order: how late the first look is, is the machine's business.
  const auto are_recorded = [&](const std::vector<Reading>& read, int column, double unit) {
    std::ifstream file(root_ / "gpu/trace.csv");
    std::vector<double> recorded;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::size_t at = 0;
      for (int comma = 0; comma < column; ++comma) at = line.find(',', at) + 1;
      recorded.push_back(std::stod(line.substr(at)) * unit);
    }
    auto next = recorded.begin();
    for (const Reading& reading : read) {
      next =
          std::find_if(next, recorded.end(), [&](double v) { return std::abs(v - *reading.value) < 1e-6; });
      ASSERT_NE(next, recorded.end()) << *reading.value << " was never recorded, or not after the one before";
    }
  };
  are_recorded(energy, 5, 1e-3);
  are_recorded(clock, 6, 1e6);
  // 32 bit power in a 64 bit union: no neighbour's bits in it.
  for (const Reading& reading : power) EXPECT_LT(*reading.value, 1000);
  for (const Reading& reading : average) EXPECT_LT(*reading.value, 1000);
  // The counter against the integral of the instant power, by our own curves.
  SensorModel model;
  model.update = Seconds{0.1};
  const auto& channels = played->channels();
  const Nanoseconds from = energy.front().time + 300'000'000, to = energy.back().time - 300'000'000;
  const double by_counter = *energy_between(channels[0], energy, from, to, model).joules;
  const double by_power = *energy_between(channels[1], power, from, to, model).joules;
  EXPECT_NEAR(by_power / by_counter, 1, 0.05);
}

TEST_F(GpuProbes, WhatTheBoardDoesNotHaveIsNamed) {
  machines::h200(root_, true);
  root_.file("/gpu/nvml_mode", "no-energy");
  const auto finding = find("nvidia");
  ASSERT_TRUE(finding.probe);
  EXPECT_EQ(finding.problem, "gpu-0 has no total energy counter");
  EXPECT_EQ(finding.probe->channels()[0].name, "nvidia:gpu-0/power_instant");
}

TEST_F(GpuProbes, WithoutFieldsTheOldCallsAreUsed) {
  machines::h200(root_, true);
  root_.file("/gpu/nvml_mode", "no-fields");
  const auto finding = find("nvidia");
  ASSERT_TRUE(finding.probe);
  EXPECT_EQ(finding.probe->channels()[0].source.substr(0, 35), "nvmlDeviceGetTotalEnergyConsumption");
  EXPECT_EQ(finding.others[0]->channels()[0].name, "nvidia:gpu-0/power");
  EXPECT_EQ(finding.problem, "gpu-0 does not count the time its limits bind");
}

TEST_F(GpuProbes, ABoardThatIsLostIsGoneAndOneThatRefusesIsDenied) {
  machines::h200(root_, true);
  auto one = sampler(find("nvidia"));
  root_.file("/gpu/nvml_mode", "no-permission");
  EXPECT_GT(with_status(of(*one, readings_of(*one, 0.1), "nvidia:gpu-0/energy"), ReadingStatus::denied), 0);
  root_.file("/gpu/nvml_mode", "lost");
  const auto readings = readings_of(*one, 0.1);
  EXPECT_GT(with_status(of(*one, readings, "nvidia:gpu-0/energy"), ReadingStatus::gone), 0);
  EXPECT_GT(with_status(of(*one, readings, "nvidia:gpu-0/core_clock"), ReadingStatus::gone), 0);
  EXPECT_EQ(with_value(readings), 0);
}

TEST_F(GpuProbes, ALibraryThatDoesNotStartSaysWhyAndNvidiaSmiIsAsked) {
  machines::h200(root_, true);
  root_.file("/gpu/nvml_mode", "not-loaded");
  const auto finding = find("nvidia");
  ASSERT_TRUE(finding.probe);
  EXPECT_EQ(
      finding.problem,
      "NVIDIA's management library does not start: Driver Not Loaded (NVML error 9); read through nvidia-smi "
      "instead, which has no energy counter");
  EXPECT_EQ(finding.fix, "look whether the driver is loaded: cat /proc/driver/nvidia/version; nvidia-smi");
}

TEST_F(GpuProbes, AStreamOfNvidiaSmiIsReadByItsHeader) {
  machines::h200(root_, false);
  auto finding = find("nvidia", true);
  ASSERT_TRUE(finding.probe) << finding.problem;
  EXPECT_EQ(finding.problem,
            "there is no libnvidia-ml.so.1; read through nvidia-smi instead, which has no energy counter");
  auto one = sampler(std::move(finding));
  const auto readings = readings_of(*one, 1.2);
  const auto power = of(*one, readings, "nvidia:gpu-0/power_instant");
  ASSERT_GT(with_value(power), 8);
  for (const Reading& reading : power) {
    if (!reading.value) continue;
    EXPECT_NEAR(*reading.value, 118, 2);  // the recorded board at rest
  }
  EXPECT_EQ(*of(*one, readings, "nvidia:gpu-0/core_clock").back().value, 1980e6);
  EXPECT_NEAR(*of(*one, readings, "nvidia:gpu-0/throttle_power_cap").back().value, 39.801638, 1e-6);
  EXPECT_THAT(log(), HasSubstr("-lms 50"));
}

TEST_F(GpuProbes, AFieldThatAnOldDriverDoesNotKnowIsLeftOut) {
  machines::h200(root_, false);
  root_.file("/gpu/mode", "old-driver");
  const auto finding = find("nvidia");
  ASSERT_TRUE(finding.probe) << finding.problem;
  std::vector<std::string> names;
  for (const Channel& channel : finding.probe->channels()) names.push_back(channel.name);
  EXPECT_THAT(names, Contains("nvidia:gpu-0/power_average"));
  EXPECT_THAT(names, testing::Not(Contains("nvidia:gpu-0/power_instant")));
}

TEST_F(GpuProbes, AStreamThatDiesIsStartedAgainAndTheGapIsAbsent) {
  machines::h200(root_, false);
  root_.file("/gpu/stream", "die 6\nreorder\n");
  auto one = sampler(find("nvidia", true));
  const auto readings = readings_of(*one, 2.5);
  const auto power = of(*one, readings, "nvidia:gpu-0/power_instant");
  EXPECT_EQ(root_.read("/gpu/starts"), "2");
  EXPECT_GT(with_status(power, ReadingStatus::absent), 0);
  EXPECT_EQ(with_status(power, ReadingStatus::gone), 0);
  ASSERT_TRUE(power.back().value || power[power.size() - 2].value);
  const auto last =
      std::find_if(power.rbegin(), power.rend(), [](const Reading& r) { return r.value.has_value(); });
  EXPECT_NEAR(*last->value, 118, 2);  // its second life has its columns the other way round
}

TEST_F(GpuProbes, AStreamThatFallsSilentInTheMiddleOfALineIsEndedAndStartedAgain) {
  machines::h200(root_, false);
  root_.file("/gpu/stream", "half 4\n");
  auto one = sampler(find("nvidia", true));
  const auto readings = readings_of(*one, 4.0);
  const auto power = of(*one, readings, "nvidia:gpu-0/power_instant");
  EXPECT_EQ(root_.read("/gpu/starts"), "2");
  EXPECT_GT(with_status(power, ReadingStatus::absent), 0);
  for (const Reading& reading : power) {
    if (!reading.value) continue;
    EXPECT_NEAR(*reading.value, 118, 2);  // half a number is no number
  }
}

TEST_F(GpuProbes, AStreamThatAlwaysDiesIsGone) {
  machines::h200(root_, false);
  root_.file("/gpu/stream", "die 2\n");
  auto finding = find("nvidia", true);
  ASSERT_TRUE(finding.probe);
  std::filesystem::remove(root_ / "usr/bin/nvidia-smi");  // a driver taken away for an update
  auto one = sampler(std::move(finding));
  const auto readings = readings_of(*one, 4.0);
  EXPECT_GT(with_status(of(*one, readings, "nvidia:gpu-0/power_instant"), ReadingStatus::gone), 0);
}

TEST_F(GpuProbes, WithoutAnythingTheNextStepIsSaid) {
  const auto boards = find_gpu_boards(sysfs_);
  EXPECT_TRUE(boards.boards.empty());
  EXPECT_EQ(
      boards.missing,
      "this machine has no GPU that can be read: there is no libnvidia-ml.so.1, and there is no nvidia-smi; "
      "there is no /sys/class/drm either (amdgpu, xe, i915)");
  EXPECT_EQ(find("nvidia").problem, "there is no libnvidia-ml.so.1");
  EXPECT_EQ(find("amdgpu").problem, "no board of the amdgpu driver in /sys/class/drm");
  EXPECT_EQ(find("intel_gpu").problem, "no board of the xe or i915 driver in /sys/class/drm");
  EXPECT_FALSE(has_gpu_boards(sysfs_));
}

TEST_F(GpuProbes, AnAmdBoardIsReadFromItsFiles) {
  machines::radeon(root_, false);
  EXPECT_TRUE(has_gpu_boards(sysfs_));
  auto one = sampler(find("amdgpu"));
  EXPECT_EQ(boards_[0].uuid, "5a7c9e0f11223344");
  EXPECT_EQ(boards_[0].pci, "0000:0c:00.0");
  const auto readings = readings_of(*one, 0.01);
  EXPECT_EQ(*of(*one, readings, "amdgpu:gpu-0/power_average").front().value, 43.0);
  EXPECT_EQ(*of(*one, readings, "amdgpu:gpu-0/core_clock").front().value, 500e6);
  EXPECT_EQ(*of(*one, readings, "amdgpu:gpu-0/memory_used").front().value, 314572800.0);
  // Its sensors are not told a second time, under the name of the chip.
  EXPECT_FALSE(find_probe("hwmon", {sysfs_}).probe);
}

// An MI300X as kernels tell it: the layout's size and revision, and the counter in units of 2^-16 J at its place.
std::vector<std::byte> gpu_metrics(unsigned content, std::size_t size, std::size_t place,
                                   std::uint64_t units) {
  std::vector<std::byte> file(size, std::byte{0x11});
  const auto length = static_cast<std::uint16_t>(size);
  std::memcpy(file.data(), &length, sizeof length);
  file[2] = std::byte{1};
  file[3] = std::byte(content);
  std::memcpy(file.data() + place, &units, sizeof units);
  return file;
}

TEST_F(GpuProbes, TheEnergyOfInstinctBoardsIsAtItsPlaceInEachLayout) {
  constexpr std::uint64_t units = 65536ULL * 1234;
  struct Layout {
    unsigned content;
    std::size_t size, place;
    const char* device;
  };
  for (const Layout& one :
       {Layout{1, 96, 24, "0x7408"}, Layout{3, 120, 24, "0x740f"}, Layout{4, 288, 24, "0x74a0"},
        Layout{5, 360, 88, "0x74a1"}, Layout{6, 400, 88, "0x74a1"}, Layout{6, 1664, 16, "0x74a1"},
        Layout{7, 2300, 24, "0x74a1"}, Layout{8, 3300, 24, "0x75a0"}})
    EXPECT_EQ(energy_in_gpu_metrics(gpu_metrics(one.content, one.size, one.place, units), one.device), 1234.0)
        << one.content;
  // A Radeon board has the field, and nobody tells its unit; nor is that of a later layout known.
  EXPECT_FALSE(energy_in_gpu_metrics(gpu_metrics(3, 120, 24, units), "0x73bf"));
  EXPECT_FALSE(energy_in_gpu_metrics(gpu_metrics(9, 400, 24, units), "0x75a0"));
  // Not filled in by the firmware; cut short.
  EXPECT_FALSE(energy_in_gpu_metrics(gpu_metrics(4, 288, 24, UINT64_MAX), "0x74a0"));
  EXPECT_FALSE(energy_in_gpu_metrics(gpu_metrics(4, 288, 24, 0), "0x74a0"));
  auto cut = gpu_metrics(4, 288, 24, units);
  cut.resize(100);
  EXPECT_FALSE(energy_in_gpu_metrics(cut, "0x74a0"));
  EXPECT_FALSE(energy_in_gpu_metrics({}, "0x74a0"));
}

TEST_F(GpuProbes, AnInstinctBoardsCounterIsWhatItsJoulesAreMadeOf) {
  machines::radeon(root_, false);
  const std::string device = "/sys/class/drm/card1/device/";
  root_.attribute(device + "device", "0x74a1");
  const auto file = gpu_metrics(4, 288, 24, 65536ULL * 500);
  root_.file(device + "gpu_metrics", std::string(reinterpret_cast<const char*>(file.data()), file.size()));
  auto one = sampler(find("amdgpu"));
  const auto readings = readings_of(*one, 0.01);
  EXPECT_EQ(*of(*one, readings, "amdgpu:gpu-0/energy").front().value, 500.0);
  const auto sources = energy_sources(one->channels(), {});
  ASSERT_FALSE(sources.empty());
  EXPECT_EQ(one->channels()[sources[0].channels.at(0)].name, "amdgpu:gpu-0/energy");
}

TEST_F(GpuProbes, GraphicsInsideACpuTellThePackagesPowerWhichIsNotAddedToIt) {
  machines::radeon(root_, false);
  for (const char* file : {"power1_cap", "power1_cap_min", "power1_cap_max", "power1_cap_default"})
    std::filesystem::remove(root_.path() + "/sys/class/drm/card1/device/hwmon/hwmon3/" + file);
  EXPECT_FALSE(has_gpu_boards(sysfs_));
  const auto finding = find("amdgpu");
  EXPECT_EQ(finding.probe->channels()[0].within, "package-0");
  std::vector<Channel> channels = finding.probe->channels();
  Channel package = channels[0];
  package.name = package.domain = "package-0";
  package.within.clear();
  channels.push_back(package);
  EXPECT_EQ(energy_sources(channels, {}).at(0).name, "package-0");
}

TEST_F(GpuProbes, AnIntelBoardTellsItsEnergyOnceAndItsPartApart) {
  machines::arc_xe(root_);
  auto one = sampler(find("intel_gpu"));
  const auto& channels = one->channels();
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_EQ(channels[0].name, "intel_gpu:gpu-0/energy");
  EXPECT_EQ(channels[0].domain, "gpu-0");
  EXPECT_EQ(channels[1].domain, "gpu-0/pkg");
  EXPECT_EQ(channels[1].within, "gpu-0");
  EXPECT_EQ(channels[2].source, "/sys/class/drm/card0/device/tile0/gt0/freq0/act_freq");
  // Asleep it says 0, which is no clock.
  const std::string clock = channels[2].name;
  EXPECT_GT(with_status(of(*one, readings_of(*one, 0.01), clock), ReadingStatus::absent), 0);
  root_.attribute("/sys/class/drm/card0/device/tile0/gt0/freq0/act_freq", "1200");
  EXPECT_EQ(*of(*one, readings_of(*one, 0.01), clock).back().value, 1200e6);
}

TEST_F(GpuProbes, BoardsAreNamedByIndexUuidOrAddress) {
  machines::h200(root_, false);
  root_.file("/gpu/boards", "2");
  const auto boards = find_gpu_boards(sysfs_).boards;
  ASSERT_EQ(boards.size(), 2U);
  EXPECT_EQ(choose_boards(boards, {"1"}).boards[0].uuid, "GPU-00000000-0000-4000-8000-000000000201");
  EXPECT_EQ(choose_boards(boards, {"GPU-00000000-0000-4000-8000-000000000201"}).boards[0].index, 1);
  EXPECT_EQ(choose_boards(boards, {"0000:00:07.0", "1"}).boards.size(), 1U);
  EXPECT_EQ(
      choose_boards(boards, {"GPU-0000"}).problem,
      "more than one is meant by GPU 'GPU-0000'; there are: 0 (NVIDIA H200, "
      "GPU-00000000-0000-4000-8000-000000000200), 1 (NVIDIA H200, GPU-00000000-0000-4000-8000-000000000201)");
  EXPECT_THAT(choose_boards(boards, {"2"}).problem,
              HasSubstr("there is no GPU '2'; there are: 0 (NVIDIA H200"));
}

TEST_F(GpuProbes, WhoIsOnABoardIsSeenEitherWay) {
  for (const bool with_library : {true, false}) {
    const TemporaryFolder root;
    machines::h200(root, with_library);
    const Sysfs sysfs(root.path());
    const auto boards = find_gpu_boards(sysfs).boards;
    root.file("/gpu/processes", std::to_string(::getpid()));
    root.file("/gpu/memory_mib", "2048");
    const auto watch = watch_boards(boards, sysfs);
    const auto processes = watch->processes();
    ASSERT_TRUE(processes && processes->size() == 1);
    EXPECT_EQ((*processes)[0].pid, ::getpid());
    EXPECT_EQ((*processes)[0].name, "probes_test");
    EXPECT_EQ(watch->memory_used().at("gpu-0"), 2048.0 * 1048576);
  }
  machines::radeon(root_, false);
  const auto watch = watch_boards(find_gpu_boards(sysfs_).boards, sysfs_);
  EXPECT_FALSE(watch->processes());
  EXPECT_EQ(watch->memory_used().at("gpu-0"), 314572800.0);
}

// A probe that takes longer than its period must not keep the one who wants to stop from stopping.
class SlowProbe : public Probe {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{0.001}; }
  void read(std::span<Sample> samples) override {
    SystemClock clock;
    clock.sleep_until(clock.now() + 4'000'000);
    samples[0] = {1.0, ReadingStatus::ok};
  }

 private:
  std::string name_ = "slow";
  std::vector<Channel> channels_{Channel{.name = "slow:a",
                                         .probe = "slow",
                                         .unit = "J",
                                         .domain = "x",
                                         .within = {},
                                         .wraps_at = {},
                                         .source = {}}};
};

TEST(SlowReads, DoNotStarveTheOneWhoStops) {
  SystemClock clock;
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<SlowProbe>());
  Sampler sampler(std::move(probes), clock);
  for (int i = 0; i < 20; ++i) {
    sampler.start();
    clock.sleep_until(clock.now() + 10'000'000);
    const Nanoseconds asked = clock.now();
    sampler.stop();
    // Unfair locks made this last for minutes.
    EXPECT_LT(clock.now() - asked, 2'000'000'000);
  }
  EXPECT_NEAR(sampler.read_cost(0).value(), 0.004, 0.003);
}

}  // namespace
}  // namespace dvfs_plan
