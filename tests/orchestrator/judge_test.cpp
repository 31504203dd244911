// What counts and what does not; metrics out of a workload's output.
#include "results/trial/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "orchestrator/conditions/cpu_load.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/trial/bounded_metrics.hpp"
#include "results/trial/metrics.hpp"
#include "results/trial/several.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    trial_.child.end = ChildResult::End::exited;
    trial_.child.started = 100 * ms;
    trial_.child.ended = 1100 * ms;
    trial_.settings = {{0, "policy0", "3 GHz", "3 GHz", {}, {}, {}, 0}};
    channels_[0].averages_over_s = 0.05;
    input_.channels = channels_;
    input_.energy_channels = {0};
    trial_.settings[0].clock = ClockRule{
        .requested = 3e9, .tolerance = delivered_tolerance({2.2e9, 2.6e9, 3e9}, false, 3e9), .busiest = 0.9};
    for (int i = 0; i <= 24; ++i) {
      trial_.readings.push_back({0, (50 + 50 * i) * ms, 50.0 + i % 2, ReadingStatus::ok});
      trial_.readings.push_back({1, (50 + 50 * i) * ms, 3e9, ReadingStatus::ok});
    }
  }
  void clock_at(int first, int last, double hertz) {
    for (int i = first; i <= last; ++i) trial_.readings[static_cast<std::size_t>(2 * i + 1)].value = hertz;
  }

  std::vector<Channel> channels_{{.name = "hwmon:m/power1",
                                  .probe = "hwmon",
                                  .unit = "W",
                                  .kind = ChannelKind::gauge,
                                  .domain = "system",
                                  .within = {},
                                  .wraps_at = {},
                                  .source = {}},
                                 {.name = "cpufreq:policy0",
                                  .probe = "cpufreq",
                                  .unit = "Hz",
                                  .kind = ChannelKind::gauge,
                                  .domain = "policy0",
                                  .within = {},
                                  .wraps_at = {},
                                  .source = {}}};
  TrialRecord trial_;
  JudgeInput input_;
};

TEST_F(JudgeTest, AGoodTrialCounts) {
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_NEAR(*trial_.energy_j, 50.5, 0.1);
  EXPECT_DOUBLE_EQ(*trial_.settings[0].delivered, 3e9);
}

TEST_F(JudgeTest, AClockNearerToAnotherStepWasNotDelivered) {
  clock_at(10, 20, 2.6e9);
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::not_delivered);
  EXPECT_EQ(trial_.verdict_text,
            "3 GHz requested on policy0, 2.79 GHz delivered (mean of 21 readings, 11 of them off)");
}

// A cap that came and went leaves no trace in the limits, but the kernel counts where it had each policy.
TEST_F(JudgeTest, AClockThatTheKernelLeftMeanwhileWasNotDelivered) {
  trial_.settings[0].clock->counted_s = 1;
  trial_.settings[0].clock->elsewhere_s = 0.04;
  TrialRecord fine = trial_;
  judge(fine, input_);
  EXPECT_EQ(fine.verdict, Verdict::ok) << fine.verdict_text;
  trial_.settings[0].clock->elsewhere_s = 0.4;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::not_delivered);
  EXPECT_EQ(trial_.verdict_text,
            "3 GHz requested on policy0; the kernel had it at other clocks for 0.40 of 1.00 s "
            "(stats/time_in_state): a "
            "cap of the firmware, or somebody's hand");
}

TEST_F(JudgeTest, OneOddReadingIsNoVerdict) {
  clock_at(10, 10, 1e9);
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok);
}

TEST_F(JudgeTest, AnIdleCpusMeasuredClockSaysNothing) {
  clock_at(0, 24, 0.8e9);
  channels_[1].under_load_only = true;
  trial_.settings[0].clock->busiest = 0.05;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok);
  EXPECT_DOUBLE_EQ(*trial_.settings[0].delivered, 0.8e9);  // recorded all the same
}

TEST_F(JudgeTest, AWorkloadThatFailedComesFirst) {
  trial_.child.exit_code = 1;
  clock_at(0, 24, 1e9);
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::exited);
  EXPECT_EQ(trial_.verdict_text, "the workload exited with 1");
}

TEST_F(JudgeTest, SensorsThatSayNothingOfTheTrial) {
  for (Reading& reading : trial_.readings) {
    if (reading.channel == 0) reading.value = 0.0;
  }
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::sensor_dead);
  EXPECT_EQ(trial_.verdict_text, "hwmon:m/power1 read 0 W while the workload ran: a dead sensor");
  EXPECT_FALSE(trial_.energy_j);
}

TEST_F(JudgeTest, WithoutNeedForEnergyADeadSensorIsAWarning) {
  std::erase_if(trial_.readings, [](const Reading& reading) { return reading.channel == 0; });
  input_.energy_needed = false;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok);
  ASSERT_EQ(trial_.events.size(), 1U);
  EXPECT_EQ(trial_.events[0].kind, "sensor_absent");
}

TEST_F(JudgeTest, ToleranceIsHalfAStepOfATableAndAStepOfARange) {
  EXPECT_DOUBLE_EQ(delivered_tolerance({2e9, 2.1e9, 2.2e9}, false, 2.1e9), 0.05e9);
  EXPECT_DOUBLE_EQ(delivered_tolerance({2e9, 2.1e9, 2.2e9}, true, 2.1e9), 0.1e9);
  EXPECT_DOUBLE_EQ(delivered_tolerance({1.5e9, 2.2e9, 3.4e9}, false, 3.4e9),
                   0.03 * 3.4e9);  // wide steps hide no cap
  EXPECT_DOUBLE_EQ(delivered_tolerance({2.4e9, 2.401e9}, false, 2.4e9),
                   0.01 * 2.4e9);  // 1 MHz is turbo's mark, not a step
  EXPECT_TRUE(is_turbo_step({2.0e9, 2.4e9, 2.401e9}, 2.401e9));
  EXPECT_FALSE(is_turbo_step({2.0e9, 2.4e9, 2.401e9}, 2.4e9));
}

TEST_F(JudgeTest, TurboMayRunFasterThanItsName) {
  clock_at(0, 24, 3.6e9);
  trial_.settings[0].clock->or_higher = true;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok);
}

TEST_F(JudgeTest, AStoppedClockWatcherSawNoEnd) {
  trial_.child.stopped_meanwhile = true;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::stopped);
}

TEST_F(JudgeTest, AWorkloadThatWasStoppedTookNoTimeOfItsOwn) {
  trial_.child.child_was_stopped = true;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::stopped);
  EXPECT_EQ(
      trial_.verdict_text,
      "the workload was stopped for a while by a signal or a debugger: its time is not that of its work");
}

// 30 ms under a gauge whose values are means over 50: nearly all that it says is of what lies beside.
TEST_F(JudgeTest, WhatIsShorterThanAGaugeResolvesHasNoEnergy) {
  for (const int length : {1, 30, 45}) {
    TrialRecord trial = trial_;
    trial.child.started = 610 * ms;
    trial.child.ended = (610 + length) * ms;
    judge(trial, input_);
    EXPECT_EQ(trial.verdict, Verdict::sensor_gap) << length;
    EXPECT_EQ(trial.verdict_text,
              "what counts is shorter than any value of hwmon:m/power1 stands for: mark one region around "
              "the steps, lengthen it, or "
              "have the command run again within a trial (measure: {at least: ..})");
    EXPECT_FALSE(trial.energy_j) << length;
  }
  trial_.child.ended = trial_.child.started + 120 * ms;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
}

TEST_F(JudgeTest, TheLastRunMustTellWhatAConstraintIsAbout) {
  input_.objective.constraints = {{.name = "lat", .mark = {}, .limit = 200, .unit = "ms"}};
  trial_.runs = {{0, 1}, {1, 2}, {2, 3}};
  TrialRecord told = trial_;
  told.metrics = {{"lat", 150, "ms", 1}, {"lat", 150, "ms", 3}};
  judge(told, input_);
  EXPECT_EQ(told.verdict, Verdict::ok) << told.verdict_text;
  trial_.metrics = {{"lat", 150, "ms", 1}, {"lat", 150, "ms", 2}, {"other", 1, "", 3}};
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::no_metric);
  EXPECT_EQ(trial_.verdict_text,
            "the last run of the command told no 'lat', which the constraint lat <= 200 ms is about, and "
            "earlier ones did");
}

// `instances: "{copies}"` at one copy and at two: each run of each is a unit of work.
TEST_F(JudgeTest, OfAnOnlyCopyEachRunIsAUnitToo) {
  input_.objective.same_work = true;
  input_.in_copies = true;
  trial_.runs = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  TrialRecord once = trial_;
  once.runs.resize(1);
  judge(once, input_);
  EXPECT_EQ(once.units, 1);
  judge(trial_, input_);
  ASSERT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_EQ(trial_.units, 5);
  EXPECT_DOUBLE_EQ(*trial_.objective, *trial_.energy_j / 5);
}

TEST_F(JudgeTest, OfCopiesEachMustTellWhatAConstraintIsAbout) {
  input_.objective.constraints = {{.name = "lat", .mark = {}, .limit = 200, .unit = "ms"}};
  for (int i = 1; i <= 3; ++i) {
    InstanceRecord one;
    one.run = one.instance = i;
    one.workload = i < 3 ? "w" : "other";
    one.name = "instance " + std::to_string(i);
    trial_.instances.push_back(one);
  }
  TrialRecord silent = trial_;
  silent.metrics = {{"lat", 150, "ms", 1}};
  judge(silent, input_);
  EXPECT_EQ(silent.verdict, Verdict::no_metric);
  EXPECT_EQ(silent.verdict_text,
            "instance 2 told no 'lat', which the constraint lat <= 200 ms is about, and others did");
  trial_.metrics = {{"lat", 150, "ms", 1}, {"lat", 160, "ms", 2}};
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text << ": another workload need not tell it";
}

TEST_F(JudgeTest, AConstraintWhoseUnitDoesNotCompareIsNoticed) {
  input_.objective.constraints = {{.name = "lat", .mark = {}, .limit = 0.3, .unit = "GB"}};
  trial_.metrics = {{"lat", 200, "ms"}};
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  ASSERT_EQ(trial_.events.size(), 1U);
  EXPECT_EQ(trial_.events[0].kind, "constraint_unit");
  EXPECT_EQ(trial_.events[0].message,
            "whether lat <= 0.3 GB holds cannot be told: its values are told in 'ms', and the bound is in "
            "'GB': write it in 'ms'");
}

// "miss 90 of 100" is 90 %: a bare 0.9 beside it may be anything, 90 % is the same.
TEST_F(JudgeTest, ACountAndANumberWithoutAUnitDoNotCompare) {
  input_.objective.constraints = {{.name = "miss", .mark = {}, .limit = 5, .unit = "%"}};
  input_.told_before = {{"miss", {"%", "w #1", true}}};
  const auto judged = [&](std::vector<MetricRecord> metrics) {
    TrialRecord trial = trial_;
    trial.metrics = std::move(metrics);
    judge(trial, input_);
    return trial.verdict == Verdict::ok ? "ok" : trial.verdict_text;
  };
  MetricRecord count{"miss", 1, "%"};
  count.count_of = 100;
  const std::string about = "values of 'miss', which the constraint miss <= 5 % is about, come in ";
  EXPECT_EQ(judged({count}), "ok");
  EXPECT_EQ(judged({{"miss", 1, "%"}}), "ok");
  EXPECT_EQ(judged({{"miss", 0.9, ""}}), about + "no unit here and in a count ('96 of 100') in w #1");
  EXPECT_EQ(judged({count, {"miss", 0.9, ""}}), about + "two units, no unit and a count ('96 of 100')");
  input_.told_before = {{"miss", {"", "w #1"}}};
  EXPECT_EQ(judged({count}), about + "a count ('96 of 100') here and in no unit in w #1");
}

// The limit is about what was measured, whatever the workload calls by that name.
TEST_F(JudgeTest, AMetricByTheNameOfWhatIsMeasuredDecidesNothing) {
  input_.objective.constraints = {{.name = "time", .mark = {}, .limit = 10, .unit = "s"}};
  EXPECT_THAT(deciding_metrics(input_.objective), testing::IsEmpty());
  input_.told_before = {{"time", {"s", "w #1"}}};
  trial_.metrics = {{"time", 960, "ms"}, {"time", 2, "GB"}};
  trial_.unreadable_at_last = {{"time", "time nan"}};
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_THAT(trial_.events, testing::IsEmpty());
}

TEST_F(JudgeTest, AFlatGaugeIsFrozenOnlyIfItStayedWhereItWas) {
  for (Reading& reading : trial_.readings) {
    if (reading.channel == 0) reading.value = 50.0;
  }
  input_.earlier.last = {{0, 50.0}};
  TrialRecord coarse = trial_;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::sensor_frozen);
  input_.earlier.last = {{0, 20.0}};
  judge(coarse, input_);
  EXPECT_EQ(coarse.verdict, Verdict::ok);
  EXPECT_DOUBLE_EQ(*coarse.energy_j, 50.0);
}

// It hung between two trials: what it says all through is not what it said last, and is idle power.
TEST_F(JudgeTest, AGaugeThatToldAValueOfItsOwnEachTimeIsFrozenWhereItSaysTheSameAllThrough) {
  std::vector<Reading> before;
  for (int i = 0; i < 20; ++i) before.push_back({0, i * 100'000'000LL, 95 + 0.013 * i});
  input_.earlier.add(before);
  EXPECT_TRUE(input_.earlier.fine.contains(0));
  for (Reading& reading : trial_.readings) {
    if (reading.channel == 0) reading.value = 96.0;
  }
  TrialRecord coarse = trial_;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::sensor_frozen);
  // One that tells whole watts says few values often: it may well be flat under a steady load.
  std::vector<Reading> steps;
  for (int i = 0; i < 20; ++i) steps.push_back({0, i * 100'000'000LL, 94.0 + i % 3});
  input_.earlier = {};
  input_.earlier.add(steps);
  input_.earlier.last[0] = 95;
  EXPECT_FALSE(input_.earlier.fine.contains(0));
  judge(coarse, input_);
  EXPECT_EQ(coarse.verdict, Verdict::ok);
}

// It hangs while the work runs, and speaks again behind it.
TEST_F(JudgeTest, AGaugeThatHangsInWhatCountsIsFrozen) {
  channels_[0].averages_over_s = 0.01;
  std::vector<Reading> before;
  for (int i = 0; i < 20; ++i) before.push_back({0, i * 100'000'000LL, 95 + 0.013 * i});
  input_.earlier.add(before);
  std::erase_if(trial_.readings, [](const Reading& reading) { return reading.channel == 0; });
  constexpr Nanoseconds update = 10'000'000;
  int i = 0;
  for (Nanoseconds time = trial_.child.started - 30 * update; time <= trial_.child.ended + 30 * update;
       time += update, ++i) {
    const bool counts = time >= trial_.child.started && time <= trial_.child.ended;
    trial_.readings.push_back({0, time, counts ? 96.0 : 90 + 0.01 * i});
  }
  TrialRecord speaks = trial_;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::sensor_frozen);
  EXPECT_FALSE(trial_.energy_j);
  for (Reading& reading : speaks.readings) {
    if (reading.channel == 0 && reading.time > speaks.child.started + 20 * update)
      reading.value = *reading.value + 0.001;
  }
  judge(speaks, input_);
  EXPECT_EQ(speaks.verdict, Verdict::ok) << speaks.verdict_text;
}

// A target that is reached as soon as it began: 20 us under a counter of 10 ms that had just been renewed are no 0 J, and no bargain.
TEST_F(JudgeTest, WhatACounterDoesNotResolveAtAllHasNoEnergy) {
  channels_[0].kind = ChannelKind::counter;
  channels_[0].unit = "J";
  channels_[0].averages_over_s = std::nullopt;
  std::erase_if(trial_.readings, [](const Reading& reading) { return reading.channel == 0; });
  double joules = 0;
  for (int i = 0; i <= 100; ++i) {
    trial_.readings.push_back({0, (50 + 10 * i) * ms, joules, ReadingStatus::ok});
    joules += i < 6 ? 0 : 0.4;
  }
  std::sort(trial_.readings.begin(), trial_.readings.end(),
            [](const Reading& a, const Reading& b) { return a.time < b.time; });
  trial_.child.started = 109 * ms;
  trial_.child.ended = 109 * ms + 20'000;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::sensor_gap);
  EXPECT_FALSE(trial_.energy_j);
  EXPECT_THAT(trial_.verdict_text,
              testing::HasSubstr("what counts is shorter than any value of hwmon:m/power1 stands for"));
}

TEST_F(JudgeTest, AClockThatNothingTellsIsAWarning) {
  std::erase_if(trial_.readings, [](const Reading& reading) { return reading.channel == 1; });
  judge(trial_, input_);
  ASSERT_EQ(trial_.events.size(), 1U);
  EXPECT_EQ(trial_.events[0].message, "nothing tells at which clock policy0 really ran; 3 GHz was requested");
}

TEST(Metrics, EveryForm) {
  const std::string output =
      "loading...\nthroughput 12.5 1/s\n{\"metric\": \"loss\", \"value\": 0.25, \"unit\": "
      "\"1\"}\n{\"accuracy\": 0.75, \"name\": \"x\"}\nTotal time: 3.5 sec\nelapsed nan s\n";
  std::vector<std::string> texts;
  find_metrics(output,
               {{MetricRule::Kind::lines, {}, {}, {}},
                {MetricRule::Kind::json, {}, {}, {}},
                {MetricRule::Kind::regex, "total", "Total time: ([0-9.]+)", "s"}},
               [&](const MetricRecord& metric) {
                 texts.push_back(metric.name + "=" + std::to_string(metric.value) + " " + metric.unit);
               });
  EXPECT_THAT(texts, testing::ElementsAre("throughput=12.500000 1/s", "loss=0.250000 1", "accuracy=0.750000 ",
                                          "total=3.500000 s"));
}

// "lat 1 500" is no 1 in units of 500.
TEST(Metrics, TwoNumbersAreNoNumberAndItsUnit) {
  std::vector<std::string> good, bad;
  find_metrics(
      "lat 1 500\nitems 5 1\nrate 2 1/s\n", {{MetricRule::Kind::lines, {}, {}, {}}},
      [&](const MetricRecord& metric) { good.push_back(metric.name); },
      [&](const std::string& name, const std::string& line) { bad.push_back(name + ": " + line); });
  EXPECT_THAT(good, testing::ElementsAre("items", "rate"));
  EXPECT_THAT(bad, testing::ElementsAre("lat: lat 1 500"));
}

// An older value would hold a limit in its place, or too few units be counted.
TEST(Metrics, AValueThatCannotBeReadIsNamed) {
  const auto said = [](const std::string& output, const std::vector<MetricRule>& rules) {
    std::string texts;
    find_metrics(
        output, rules,
        [&](const MetricRecord& metric) { texts += fmt::format("{}={:g} ", metric.name, metric.value); },
        [&](const std::string& name, const std::string&) { texts += name + "? "; });
    return texts;
  };
  const std::vector<MetricRule> json{{MetricRule::Kind::json, {}, {}, {}}},
      lines{{MetricRule::Kind::lines, {}, {}, {}}},
      pointer{{MetricRule::Kind::pointer, "p99", "/latencies/99th", "ns"}};
  const std::string named = R"({"metric": "loss", "value": 0.3})";
  EXPECT_EQ(said(named + "\n" + R"({"metric": "loss", "value": null})", json), "loss=0.3 loss? ");
  EXPECT_EQ(said(named + "\n" + R"({"metric": "loss", "value": NaN})", json),
            "loss=0.3 metric? value? loss? ");
  // However long the line.
  EXPECT_EQ(said(fmt::format(R"({{"lat": 5, "text": "{}"}})", std::string(70000, 'x')), json), "lat=5 ");
  EXPECT_EQ(
      said("slo 99 of 100\nslo nan of 100\nslo 1,000 of 4,000\nslo 0 of 0\nslo 5 of 4\nslo some of it\n",
           lines),
      "slo=99 slo? slo? slo? slo? ");
  const std::string five = R"({"latencies": {"99th": 5}})";
  EXPECT_EQ(said(five + "\n" + R"({"latencies": {"99th": null}})" + "\n" + R"({"latencies": {}})", pointer),
            "p99=5 p99? ");
  EXPECT_EQ(said(five + "\n" + R"({"latencies": {"99th": NaN}})", pointer), "p99=5 p99? ");
  EXPECT_EQ(said(R"({"latencies": {"99th": NaN}})"
                 "\n" +
                     five,
                 pointer),
            "p99? p99=5 ");
  // One document over several lines, of which one looks like a broken one of its own.
  EXPECT_EQ(said("{\"latencies\":\n{\"99th\": 7},\n\"a\": 1}", pointer), "p99=7 ");
  EXPECT_EQ(said("{\"latencies\":\n{\"99th\": null}}", pointer), "p99? ");
}

TEST(Metrics, HoweverManyAreToldUnitsAndLastValuesAreWhole) {
  std::mt19937 chance(17);
  const auto up_to = [&](int n) { return static_cast<int>(chance() % static_cast<unsigned>(n)); };
  for (int night = 0; night < 300; ++night) {
    const int instances = 1 + up_to(3), starts = 1 + up_to(12), names = 1 + up_to(5);
    BoundedMetrics bounded("units", 20);
    std::vector<MetricRecord> all;
    for (int start = 0; start < starts; ++start) {
      bounded.begin();
      for (int i = 0; i < instances; ++i) {
        for (int n = up_to(40); n > 0; --n) {
          MetricRecord one{up_to(3) == 0 ? "units" : "m" + std::to_string(up_to(names)),
                           static_cast<double>(up_to(1000)), "", start * instances + i + 1};
          all.push_back(one);
          bounded.add(one);
        }
      }
    }
    std::vector<EventRecord> events;
    const auto kept = bounded.take(events);
    EXPECT_TRUE(!events.empty() || kept.size() == all.size());
    EXPECT_LE(kept.size(), 2U * 20 + 2U * 6 * static_cast<unsigned>(instances) + 6 + 36);
    EXPECT_EQ(units_told(kept, "units", {}), units_told(all, "units", {}));
    for (int run = 1; run <= starts * instances; ++run)
      EXPECT_EQ(units_told(kept, "units", run), units_told(all, "units", run)) << night;
    for (int m = 0; m < names; ++m) {
      const std::string name = "m" + std::to_string(m);
      EXPECT_EQ(units_told(kept, name, {}), units_told(all, name, {})) << night;  // what they add up to
      for (int run = (starts - 1) * instances + 1; run <= starts * instances; ++run) {
        const auto last = [&](const std::vector<MetricRecord>& of) {
          double value = -1;
          for (const MetricRecord& one : of) value = one.name == name && one.run == run ? one.value : value;
          return value;
        };
        EXPECT_EQ(last(kept), last(all)) << night;
      }
    }
  }
}

TEST(Metrics, WhatIsNotKeptAsItWasToldIsSaid) {
  BoundedMetrics bounded("units", 2, 1);
  for (int run = 1; run <= 4; ++run) {
    bounded.begin();
    bounded.add({"won", 50, "%", run, {}, {}, {}, {}, 4});
    bounded.add({"lost", 1, "", run, {}, {}, {}, {}, {}});
  }
  std::vector<EventRecord> events;
  const auto kept = bounded.take(events);
  ASSERT_EQ(kept.size(), 5U);
  EXPECT_EQ(kept[2].value, 50);  // 4 of 8, between the first and the last
  EXPECT_EQ(kept[2].count_of, 8);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "metrics_aggregated");
  EXPECT_EQ(events[0].message,
            "8 metrics were told, and 4 as they were told are kept at most; of 4 between these there is what "
            "each name "
            "adds up to, but for 2 of further names than the 1 that are kept. Units of work and the last "
            "values are "
            "whole");
}

TEST(CpuLoad, IsTheShareThatWasNotIdle) {
  TemporaryFolder root;
  root.file("/proc/stat", "cpu  1 1 1 1\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n");
  const auto before = read_cpu_times(Sysfs(root.path()));
  root.file("/proc/stat", "cpu  1 1 1 1\ncpu0 130 0 0 110 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n");
  const auto busy = busy_between(before, read_cpu_times(Sysfs(root.path())));
  EXPECT_DOUBLE_EQ(busy.at(0), 0.75);
  EXPECT_FALSE(busy.contains(1));  // no tick went by: not known, not 0
}

TEST(MachineFacts, AnotherKernelIsAnotherMachine) {
  EXPECT_THAT(decisive_differences({{"kernel", "Linux 6.1"}, {"host", "a"}},
                                   {{"kernel", "Linux 6.2"}, {"host", "b"}}),
              testing::ElementsAre("machine / kernel: Linux 6.1 -> Linux 6.2"));
}

// Nodes of one type have boards of their own; one board is of one machine.
TEST(MachineFacts, WhichBoardItIsMakesNoOtherType) {
  const std::map<std::string, std::string> one{{"gpu-0", "NVIDIA H200, GPU-1, NVIDIA 580.1"}},
      other{{"gpu-0", "NVIDIA H200, GPU-2, NVIDIA 580.1"}},
      older{{"gpu-0", "NVIDIA H200, GPU-2, NVIDIA 570.1"}};
  EXPECT_THAT(differences_of_type(one, other), testing::ElementsAre());
  EXPECT_THAT(
      differences_of_type(one, older),
      testing::ElementsAre("machine / gpu-0: NVIDIA H200, NVIDIA 580.1 -> NVIDIA H200, NVIDIA 570.1"));
  EXPECT_EQ(decisive_differences(one, other).size(), 1U)
      << "a night goes on with the board that it began with";
  EXPECT_EQ(board_of_both(one, other), std::nullopt);
  EXPECT_EQ(board_of_both(other, older), "GPU-2");
  const std::map<std::string, std::string> by_place{{"gpu-0", "Intel Arc A770, 0000:03:00.0, xe"}};
  EXPECT_EQ(board_of_both(by_place, by_place), std::nullopt);
}

// os-release(5): in quotes of either kind, or in none.
TEST(MachineFacts, TheNameOfTheSystem) {
  const TemporaryFolder root;
  for (const auto& [line, name] :
       {std::pair("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"", "Debian GNU/Linux 12 (bookworm)"),
        std::pair("PRETTY_NAME='Some Linux'", "Some Linux"), std::pair("PRETTY_NAME=Gentoo", "Gentoo"),
        std::pair("PRETTY_NAME=\"", "\"")}) {
    root.file("/etc/os-release", std::string(line) + "\nID=x\n");
    EXPECT_EQ(machine_facts(Sysfs(root.path()))["os"], name);
  }
  root.file("/etc/os-release", "PRETTY_NAME=\nNAME=\"\"\n");
  EXPECT_FALSE(machine_facts(Sysfs(root.path())).contains("os"));
}

// 64-bit Arm has no "model name": two machines of which nothing is known would pass for one kind.
TEST(MachineFacts, WithoutANameAProcessorIsCalledByItsNumbers) {
  const TemporaryFolder root;
  const auto model = [&] { return machine_facts(Sysfs(root.path()))["cpu.model"]; };
  const std::string core =
      "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
      "CPU part\t: 0xd0c\nCPU revision\t: 1\n\n";
  root.file("/proc/cpuinfo", core + core);
  EXPECT_EQ(model(), "CPU 0x41 0x3 0xd0c");
  root.file("/sys/class/dmi/id/product_name", "HS5-220\n");
  EXPECT_EQ(model(), "HS5-220, CPU 0x41 0x3 0xd0c");
  root.file("/proc/device-tree/model", std::string("NVIDIA Jetson AGX Orin Developer Kit") + '\0');
  root.file("/proc/cpuinfo",
            core + "processor\t: 1\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd42\n");
  EXPECT_EQ(model(), "NVIDIA Jetson AGX Orin Developer Kit, CPU 0x41 0x3 0xd0c and 0x41 0x1 0xd42");
  root.file("/proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n");
  EXPECT_THAT(model(), testing::HasSubstr("CPU POWER9, altivec supported"));
  EXPECT_THAT(
      decisive_differences({{"kernel", "Linux 6.1"}}, {{"kernel", "Linux 6.1"}, {"cpu.model", "CPU 0x41"}}),
      testing::ElementsAre())
      << "of a result before it was known";
}

TEST(MachineFacts, WhatMakesAnotherKindOfMachineAndWhatMayMoveAnAnswer) {
  const std::map<std::string, std::string> there{{"architecture", "x86_64"},
                                                 {"host", "a"},
                                                 {"cpu.model", "Xeon 8468"},
                                                 {"kernel", "Linux 6.1"},
                                                 {"gpu-0", "NVIDIA H200, GPU-1, NVIDIA 580.1"},
                                                 {"gpu-0.settings", "power limit 700 W, persistence on"}};
  auto here = there;
  here["host"] = "b";
  here["gpu-0"] = "NVIDIA H200, GPU-2, NVIDIA 580.1";  // another one of the same kind
  EXPECT_THAT(differences_of_kind(there, here), testing::ElementsAre());
  EXPECT_THAT(differences_of_state(there, here), testing::ElementsAre());
  here["kernel"] = "Linux 6.2";
  here["gpu-0"] = "NVIDIA H200, GPU-2, NVIDIA 590.1";
  here["gpu-0.settings"] = "power limit 500 W, persistence on";
  EXPECT_THAT(differences_of_kind(there, here), testing::ElementsAre());
  EXPECT_THAT(differences_of_state(there, here),
              testing::ElementsAre("kernel: Linux 6.1 there, Linux 6.2 here",
                                   "gpu-0: NVIDIA 580.1 there, NVIDIA 590.1 here",
                                   "gpu-0.settings: power limit 700 W there, power limit 500 W here"));
  here["cpu.model"] = "Xeon 6448";
  here["gpu-0"] = "NVIDIA H100, GPU-2, NVIDIA 590.1";
  here["gpu-1"] = "NVIDIA H100, GPU-3, NVIDIA 590.1";
  EXPECT_THAT(differences_of_kind(there, here),
              testing::ElementsAre("cpu.model: Xeon 8468 there, Xeon 6448 here",
                                   "gpu-0: NVIDIA H200 there, NVIDIA H100 here",
                                   "gpu-1: none there, NVIDIA H100 here"));
}

}  // namespace
}  // namespace dvfs_plan
