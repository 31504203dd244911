// Which sensors are looked at under a load before a night, and what becomes of a load that cannot be run.
#include "orchestrator/sensors/sensor_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/sensors/energy_choice.hpp"
#include "probes/gpu/cuda_load.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

class SteadyProbe : public Probe {
 public:
  explicit SteadyProbe(std::vector<Channel> channels) : channels_(std::move(channels)) {}
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{0.05}; }
  void read(std::span<Sample> samples) override {
    ++reads_;
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] = {channels_[i].kind == ChannelKind::counter ? reads_ : 100.0, ReadingStatus::ok, {}};
  }

 private:
  std::string name_ = "probe";
  std::vector<Channel> channels_;
  double reads_ = 0;
};

class SensorChecks : public testing::Test {
 protected:
  SensorCheck check(std::vector<Channel> channels) {
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::make_unique<SteadyProbe>(std::move(channels)));
    SystemClock clock;
    Sampler sampler(std::move(probes), clock);
    TestLoads loads;
    for (const std::string domain : {"", "gpu-0", "gpu-1"}) {
      loads.of_domain[domain] = [this, domain] {
        ran_ += domain + ",";
        return TestLoad{{}, "no load on '" + domain + "'"};
      };
    }
    loads.say = [this](const std::string& line) { said_.push_back(line); };
    return check_sensors(sampler, clock, {}, nullptr, loads);
  }
  std::string ran_;
  std::vector<std::string> said_;
};

TEST_F(SensorChecks, AMachineWithACounterIsNotLoaded) {
  // Its gauge of the same domain is not what energies are made of.
  const auto found = check({counter("package-0"), gauge("package-0")});
  EXPECT_EQ(ran_, "");
  EXPECT_TRUE(said_.empty());
  EXPECT_TRUE(found.notes.empty());
}

TEST_F(SensorChecks, AGaugeWhoseWindowItsDriverTellsIsNotLoaded) {
  Channel told = gauge("system");
  told.averages_over_s = 1;
  check({told});
  EXPECT_EQ(ran_, "");
}

TEST_F(SensorChecks, AGaugeThatIsAllItsDomainHasIsLoadedThoughItIsSteadyAtRest) {
  const auto found = check({gauge("system"), gauge("gpu-1", "system")});
  EXPECT_EQ(ran_, ",gpu-1,");
  EXPECT_THAT(said_, ElementsAre("CPUs compute by turns for some seconds, to see how the sensors answer",
                                 "boards compute by turns for some seconds, to see how the sensors answer"));
  EXPECT_THAT(found.notes, ElementsAre("how g:system answers a load was not measured: no load on ''",
                                       "how g:gpu-1 answers a load was not measured: no load on 'gpu-1'"));
  EXPECT_FALSE(found.audit.channels[0].window);
}

// A program of the user's own: an interpreter that starts, a meter that speaks seldom.
class SlowProgram : public Probe {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{0.05}; }
  void read(std::span<Sample> samples) override {
    if (starts_ == Nanoseconds{}) starts_ = clock_.now();
    const int told = static_cast<int>(seconds(clock_.now() - starts_).value() / 1.3);
    const bool is_new = std::exchange(told_, told) != told;
    samples[0] =
        is_new ? Sample{50.0, ReadingStatus::ok, {}} : Sample{std::nullopt, ReadingStatus::absent, {}};
    samples[1] =
        is_new ? Sample{65.0 * told, ReadingStatus::ok, {}} : Sample{std::nullopt, ReadingStatus::absent, {}};
  }
  SlowProgram() : channels_{gauge("system"), counter("system")} {
    for (Channel& channel : channels_) channel.told_when_new = true;
  }

 private:
  std::string name_ = "probe";
  SystemClock clock_;
  std::vector<Channel> channels_;
  Nanoseconds starts_{};
  int told_ = 0;
};

TEST(SlowPrograms, AreHeardBeforeTheyAreJudged) {
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<SlowProgram>());
  SystemClock clock;
  Sampler sampler(std::move(probes), clock);
  const auto found = check_sensors(sampler, clock, {}, nullptr, {});
  EXPECT_TRUE(found.faults.empty());
  EXPECT_EQ(found.audit.channels[0].state, SensorState::steady);
  EXPECT_FALSE(found.audit.channels[0].fresh_per_second);  // it may have said the same anew each time
  EXPECT_EQ(found.audit.channels[1].state, SensorState::alive);
}

TEST(BoardLoad, WithoutCudaItSaysSo) {
  const auto refused = load_cuda_board("GPU-none", Seconds{0.1}, 1);
  EXPECT_TRUE(refused.on.empty());
  EXPECT_NE(refused.problem, "");
}

TEST(BoardLoad, TurnsAreTheSameForASeedAndFillTheLength) {
  double sum = 0;
  const auto turns = random_turns(Seconds{5}, 3);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    sum += turns[i].value();
    EXPECT_EQ(turns[i].value(), random_turns(Seconds{5}, 3)[i].value());
    EXPECT_GE(turns[i].value(), 0.03);
    EXPECT_LE(turns[i].value(), 0.5);
  }
  EXPECT_GE(sum, 5);
  EXPECT_LE(sum, 5.5);
}

// Two power supplies, each with a meter: which of them `energy` is, and how to ask for both.
TEST(EnergyChoice, OneOfSeveralSensorsIsTold) {
  const auto watts = [](const std::string& domain) {
    Channel channel;
    channel.name = "wall:" + domain;
    channel.unit = "W";
    channel.domain = domain;
    return channel;
  };
  Experiment experiment;
  experiment.workloads.emplace_back();
  const auto note = [&](const std::vector<Channel>& channels) {
    return note_on_choice(experiment, channels, choose_energy(experiment, channels, SensorCheck(), {}));
  };
  EXPECT_EQ(
      note({watts("psu-1"), watts("psu-2")}),
      "'energy' is that of 'psu-1' alone, the first that is measured; there is psu-2 too: `objective: "
      "{minimise: energy, of: psu-2}` asks for it, `objective: {minimise: energy, of: psu}` for the sum of "
      "psu-1 + psu-2");
  EXPECT_EQ(note({watts("in"), watts("cpu"), watts("soc")}),
            "'energy' is that of 'in' alone, the first that is measured; there are cpu, soc too: `objective: "
            "{minimise: energy, of: cpu}` asks for one of them");
  EXPECT_EQ(note({watts("psu-1")}), std::nullopt);
  EXPECT_EQ(note({watts("package-0"), watts("psu-1")}), std::nullopt);
  Channel inside = watts("cpu");
  inside.within = "in";
  EXPECT_EQ(note({watts("in"), inside}), std::nullopt);
  Channel card = watts("gpu0");
  card.name = "card:power";
  card.probe = "card";
  experiment.probes.emplace().emplace_back();
  experiment.probes->front().name = "card";
  experiment.probes->front().command = {"card.py"};
  EXPECT_EQ(note({watts("package-0"), watts("gpu-0"), card}),
            "'energy' is that of 'package-0 + gpu-0'; what your own card:power (gpu0) measures is not in it: "
            "`objective: {minimise: energy, of: gpu0}` asks for it");
  EXPECT_EQ(note({watts("package-0"), watts("system"), card}), std::nullopt);
  card.domain = "gpu-0";
  EXPECT_EQ(note({watts("package-0"), card}), std::nullopt);
  experiment.probes.reset();
  experiment.objective.energy_of = RawValue{"psu-2", {}};
  EXPECT_EQ(note({watts("psu-1"), watts("psu-2")}), std::nullopt);
  experiment.objective.energy_of.reset();
  experiment.objective.minimise = Objective::time;
  EXPECT_EQ(note({watts("psu-1"), watts("psu-2")}), std::nullopt);
}

}  // namespace
}  // namespace dvfs_plan
