// Marks into what counts, and what a trial is judged by beyond its clock and its sensors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "results/trial/judge.hpp"
#include "results/trial/regions.hpp"
#include "results/trial/several.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "begin a@100 ..." in ms.
MarkedRun run_of(std::initializer_list<std::pair<const char*, int>> marks, int from = 0, int to = 1000) {
  MarkedRun run{from * ms, to * ms, RegionMarks(0)};
  for (const auto& [line, at_ms] : marks) run.marks.feed(std::string(line) + "\n", at_ms * ms);
  return run;
}

std::vector<std::string> counted(const Regions& regions) {
  std::vector<std::string> names;
  for (const RegionRecord& region : regions.all) {
    if (region.counted)
      names.push_back(region.name + " " + std::to_string(region.started / ms) + "-" +
                      std::to_string(region.ended / ms));
  }
  return names;
}

TEST(Regions, WithoutMarksTheWholeProcessCounts) {
  const auto regions = find_regions({run_of({}, 5, 50)}, "");
  EXPECT_THAT(counted(regions), ElementsAre(" 5-50"));
  EXPECT_EQ(regions.name, "");
}

TEST(Regions, TheOutermostCountUnlessOneIsNamed) {
  const std::vector<MarkedRun> runs{run_of({{"begin train", 10},
                                            {"begin step", 20},
                                            {"end step", 30},
                                            {"begin step", 40},
                                            {"end step", 50},
                                            {"end train", 60}})};
  EXPECT_THAT(counted(find_regions(runs, "")), ElementsAre("train 10-60"));
  const auto steps = find_regions(runs, "step");
  EXPECT_THAT(counted(steps), ElementsAre("step 20-30", "step 40-50"));
  EXPECT_THAT(steps.events, IsEmpty());
  const auto spans = counted_spans(steps, 0);
  ASSERT_EQ(spans.size(), 2U);
  const auto joined = counted_spans(steps, 10 * ms);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_DOUBLE_EQ(joined[0].counted_s, 0.02);  // the gap inside does not count
}

TEST(Regions, SeveralOutermostCountTogetherAndItIsSaid) {
  const auto regions = find_regions(
      {run_of({{"begin load", 0}, {"end load", 10}, {"begin train", 10}, {"end train", 60}})}, "");
  EXPECT_THAT(counted(regions), ElementsAre("load 0-10", "train 10-60"));
  EXPECT_EQ(regions.name, "load + train");
  ASSERT_EQ(regions.events.size(), 1U);
  EXPECT_EQ(regions.events[0].message,
            "the regions load, train count together; `measure: {region: load}` would take one");
}

std::vector<std::string> messages(const Regions& regions) {
  std::vector<std::string> texts;
  for (const auto& event : regions.events) texts.push_back(event.message);
  return texts;
}

TEST(Regions, MarksInsideWhatCountsThatDoNotPairAreTold) {
  const auto regions = find_regions({run_of({{"begin b - 7", 10},
                                             {"end a - 7", 12},
                                             {"begin open - 7/3", 14},
                                             {"nonsense", 16},
                                             {"end b - 7", 20}})},
                                    "");
  EXPECT_THAT(counted(regions), ElementsAre("b 10-20"));
  EXPECT_EQ(regions.unpaired, "");
  EXPECT_THAT(
      messages(regions),
      testing::UnorderedElementsAre(
          "region 'a' was ended and not begun by process 7; it lies inside what counts (and 1 more like it)",
          "1 line on DVFS_PLAN_REGIONS cannot be read, first 'nonsense'"));
}

TEST(Regions, MarksOfWhatCountsThatDoNotPairLeaveItUnknown) {
  EXPECT_EQ(find_regions({run_of({{"begin train - 7", 10}})}, "").unpaired,
            "region 'train' was begun and not ended by process 7");
  EXPECT_EQ(find_regions({run_of({{"end train", 10}})}, "").unpaired,
            "region 'train' was ended and not begun by a process that does not say which");
  // It may have been outermost.
  EXPECT_EQ(find_regions({run_of({{"begin a", 10}, {"end a", 20}, {"end b", 30}})}, "").unpaired,
            "region 'b' was ended and not begun by a process that does not say which");
  // Of a name that counts, wherever it lies: this rank never finished.
  EXPECT_EQ(find_regions({run_of({{"begin a - 7/0", 10}, {"begin a - 8/1", 12}, {"end a - 7/0", 20}})}, "")
                .unpaired,
            "region 'a' was begun and not ended by rank 1 (process 8)");
  EXPECT_EQ(find_regions({run_of({{"begin a", 10}, {"end a", 20}, {"begin b", 30}})}, "a").unpaired, "");
}

TEST(Regions, SeveralProcessesAreInsideTogetherFromTheFirstBeginToTheLastEnd) {
  const auto two = find_regions({run_of({{"begin train - 7/0", 10},
                                         {"begin train - 8/1", 20},
                                         {"end train - 7/0", 50},
                                         {"metric samples 100 - 7/0", 50},
                                         {"metric samples 100 - 8/1", 80},
                                         {"end train - 8/1", 80}})},
                                "");
  EXPECT_THAT(counted(two), ElementsAre("train 10-50", "train 20-80"));
  EXPECT_EQ(two.name, "train");
  EXPECT_EQ(two.all[0].process, "7/0");
  EXPECT_EQ(two.all[1].process, "8/1");
  const auto spans = counted_spans(two, 0);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_DOUBLE_EQ(spans[0].counted_s, 0.07);
  EXPECT_EQ(two.metrics.size(), 2U);
  EXPECT_THAT(two.events, IsEmpty());
  // One after another, with a pause between: the pause is nobody's.
  const auto in_turn = counted_spans(
      find_regions({run_of({{"begin w - 7", 10}, {"end w - 7", 20}, {"begin w - 8", 60}, {"end w - 8", 70}})},
                   "w"),
      0);
  ASSERT_EQ(in_turn.size(), 2U);
  EXPECT_DOUBLE_EQ(in_turn[0].counted_s + in_turn[1].counted_s, 0.02);
}

TEST(Regions, ANameBegunInsideItselfIsOneStretch) {
  const auto regions =
      find_regions({run_of({{"begin b", 10}, {"begin b", 12}, {"end b", 20}, {"end b", 30}})}, "");
  EXPECT_THAT(counted(regions), ElementsAre("b 10-30"));
  EXPECT_THAT(
      messages(regions),
      ElementsAre(
          "region 'b' was begun inside itself by a process that does not say which; the outer stretch "
          "counts: marks of several processes must say whose they are"));
}

TEST(Regions, LostMarksAreNamed) {
  EXPECT_EQ(find_regions({run_of({{"begin a", 1}, {"end a", 2}, {"lost 3 7", 3}})}, "").lost,
            "3 marks could not be written or kept");
  MarkedRun run = run_of({{"begin a", 1}, {"end a", 2}});
  run.told_lost = "cannot open the FIFO /x: no";
  EXPECT_EQ(find_regions(std::vector{run}, "").lost, "cannot open the FIFO /x: no");
  EXPECT_EQ(find_regions({run_of({{"begin a", 1}, {"end a", 2}, {"begin b c d e f", 3}})}, "").lost,
            "1 mark could not be written or kept");
}

TEST(Regions, ANameForEachStepIsToldShortly) {
  MarkedRun run{0, 1000 * ms, RegionMarks(0), {}};
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = "step" + std::to_string(i);
    run.marks.feed("begin " + name + "\nend " + name + "\n", i * 1000);
  }
  EXPECT_EQ(find_regions(std::vector{run}, "").name, "step0 + step1 + step2 + step3 + step4 and 49995 more");
}

TEST(Regions, EachRunMustMarkWhatIsWanted) {
  EXPECT_FALSE(
      find_regions({run_of({{"begin a", 1}, {"end a", 2}}), run_of({{"begin a", 11}, {"end a", 12}}, 10, 20)},
                   "a")
          .missing);
  EXPECT_TRUE(find_regions({run_of({{"begin a", 1}, {"end a", 2}}), run_of({}, 10, 20)}, "a").missing);
}

TEST(Regions, ARunThatMarksNothingAmongOthersThatDoIsMissing) {
  const std::vector<MarkedRun> runs{run_of({{"begin a", 1}, {"end a", 2}}), run_of({}, 10, 20)};
  EXPECT_TRUE(find_regions(runs, "").missing);
}

TEST(Regions, AMillionMistakesAreOneEvent) {
  MarkedRun run = run_of({{"begin a", 1}, {"end a", 900}});
  run.marks = RegionMarks(0);
  run.marks.feed("begin a\n", 1);
  for (int i = 0; i < 200'000; ++i) run.marks.feed("end x" + std::to_string(i) + "\n", 2 * ms);
  run.marks.feed("end a\n", 900 * ms);
  const auto inside = find_regions(std::vector{run}, "");
  ASSERT_EQ(inside.events.size(), 1U);
  EXPECT_EQ(
      inside.events[0].message,
      "region 'x0' was ended and not begun by a process that does not say which; it lies inside what counts "
      "(and 199999 more like it)");
  run.marks.feed("end y\nend z\n", 950 * ms);
  EXPECT_EQ(find_regions(std::vector{run}, "").unpaired,
            "region 'y' was ended and not begun by a process that does not say which (and 1 more like it)");
}

TEST(Regions, StepsBeyondAMillionMarksAreToldAndWhatTheyLieInIsWhole) {
  MarkedRun run{0, 1000 * ms, RegionMarks(0)};
  run.marks.feed("begin train\n", 1);
  for (int i = 0; i < 600'000; ++i) run.marks.feed("begin step\nend step\n", 2);
  run.marks.feed("end train\nmetric samples 7\n", 900 * ms);
  const auto whole = find_regions(std::vector{run}, "");
  EXPECT_EQ(whole.name, "train");
  EXPECT_EQ(whole.lost, "");
  EXPECT_EQ(whole.unpaired, "");
  double samples = 0;
  for (const MetricRecord& metric : whole.metrics) samples += metric.value;
  EXPECT_EQ(samples, 7);
  EXPECT_THAT(messages(whole),
              ElementsAre("200000 marks of regions that do not count are more than are kept: of those "
                          "regions only the first ones have times; what counts is known whole"));
}

// A trial of 4 s at 100 W from a counter read every 100 ms.
class JudgeRegions : public testing::Test {
 protected:
  JudgeRegions() {
    trial_.child.end = ChildResult::End::exited;
    trial_.child.started = 1 * s;
    trial_.child.ended = 5 * s;
    input_.channels = channels_;
    input_.energy_channels = {0};
    for (int i = 0; i <= 60; ++i) trial_.readings.push_back(at(i * 100 * ms, 10.0 * i));
    trial_.runs = {{1 * s, 5 * s}};
  }
  std::vector<Channel> channels_{counter("package-0")};
  TrialRecord trial_;
  JudgeInput input_;
};

TEST_F(JudgeRegions, EnergyIsThatOfTheRegion) {
  input_.runs = {
      run_of({{"begin train", 2000}, {"end train", 4000}, {"metric samples 500", 4100}}, 1000, 5000)};
  input_.objective.per = "samples";
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_NEAR(*trial_.energy_j, 200, 1e-9);
  EXPECT_NEAR(*trial_.region_s, 2, 1e-9);
  EXPECT_EQ(*trial_.units, 500);
  EXPECT_NEAR(*trial_.objective, 0.4, 1e-12);
}

TEST_F(JudgeRegions, UnitsOfWhichOneCannotBeReadAreNotKnown) {
  input_.runs = {run_of({{"begin train", 2000},
                         {"end train", 4000},
                         {"metric samples 500", 4100},
                         {"metric samples nan", 4200},
                         {"metric loss nan", 4200}},
                        1000, 5000)};
  TrialRecord of_time = trial_;
  judge(of_time, input_);
  EXPECT_EQ(of_time.verdict, Verdict::ok) << of_time.verdict_text;
  input_.objective.per = "samples";
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::no_metric);
  EXPECT_FALSE(trial_.units);
}

TEST_F(JudgeRegions, WhatWasNotMarkedOrPrintedDoesNotCount) {
  input_.region = "train";
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::no_region);
  EXPECT_EQ(trial_.verdict_text, "the workload did not mark the region 'train'");
  for (const auto& event : trial_.events) EXPECT_NE(event.kind, "sensor_absent") << event.message;
  EXPECT_FALSE(trial_.objective);
  TrialRecord other = trial_;
  other.verdict = Verdict::ok;
  other.energies.clear();
  input_.region = "";
  input_.objective.per = "samples";
  judge(other, input_);
  EXPECT_EQ(other.verdict, Verdict::no_metric);
  EXPECT_EQ(other.verdict_text,
            "the workload told no 'samples', which the objective is per: it prints a line such as 'samples "
            "64000' and has 'metrics: [lines]', or marks it (dvfs_plan_metric)");
}

TEST_F(JudgeRegions, NoWorkThatIsToldIsNoneAndNotUnknown) {
  input_.region = "";
  input_.objective.per = "samples";
  trial_.metrics.push_back({});
  trial_.metrics.back().name = "samples";
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok) << trial_.verdict_text;
  EXPECT_EQ(trial_.units, 0.0);
  EXPECT_FALSE(trial_.objective);
}

TEST_F(JudgeRegions, ForeignLoadAndThrottlingAreVerdictsWithTheirFigures) {
  input_.foreign_limit = 0.2;
  trial_.conditions.foreign_cpu_s = 0.84;  // 0.2 x 4 s + 0.05 s of ticks
  TrialRecord fine = trial_;
  judge(fine, input_);
  EXPECT_EQ(fine.verdict, Verdict::ok);
  trial_.conditions.foreign_cpu_s = 2;
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::foreign_load);
  EXPECT_EQ(trial_.verdict_text,
            "other processes took 2.00 s of CPU time in 4.00 s (50 % of one CPU; up to 20 % counts)");
}

TEST_F(JudgeRegions, ASourceIsNotDisprovedByOneThatCannotTell) {
  channels_.push_back(gauge("package-0"));
  channels_[1].name = "meter";
  input_.channels = channels_;
  TrialRecord off = trial_;
  for (int i = 0; i <= 60; ++i) off.readings.push_back(at(i * 100 * ms, 130 + 0.1 * (i % 2), 1));
  // By a gauge alone, which samples now and then, no counter is excluded.
  TrialRecord by_counter = off;
  judge(by_counter, input_);
  EXPECT_EQ(by_counter.verdict, Verdict::ok);
  ASSERT_FALSE(by_counter.events.empty());
  EXPECT_EQ(by_counter.events[0].message,
            "meter and c:package-0 differ by +30.1 %: the counter is used, which sums what meter samples now "
            "and then");
  // A gauge that is used is, by a counter that resolves what counts as well.
  input_.energy_channels = {1};
  input_.models[1].update = Seconds{0.1};
  TrialRecord unknown = off;
  judge(unknown, input_);
  EXPECT_EQ(unknown.verdict, Verdict::ok);
  EXPECT_NEAR(*unknown.energy_j, 520, 1);
  EXPECT_FALSE(unknown.energy_half_width_j);
  EXPECT_FALSE(unknown.energy_systematic_j);
  ASSERT_EQ(unknown.events.size(), 2U);
  const std::string why =
      "meter is renewed every 100 ms, and over how long each value is a mean is not known: what a load that "
      "comes "
      "and goes in between makes of it cannot be stated";
  EXPECT_EQ(unknown.events[0].kind, "sensor_unresolved");
  EXPECT_EQ(unknown.events[0].message, why);
  EXPECT_EQ(unknown.events[1].message, "meter and c:package-0 differ by +30.1 %: " + why);
  // Nor where it is known to be shorter than what lies between two values.
  input_.models[1].window = Seconds{0.025};
  TrialRecord shorter = off;
  judge(shorter, input_);
  EXPECT_FALSE(shorter.energy_half_width_j);
  EXPECT_EQ(shorter.events.at(0).message,
            "meter is renewed every 100 ms, and each value is a mean over less than that: what a load that "
            "comes and "
            "goes in between makes of it cannot be stated");
  input_.models[1].window = Seconds{0.1};
  TrialRecord by_gauge = off;
  judge(by_gauge, input_);
  EXPECT_EQ(by_gauge.verdict, Verdict::sensors_disagree);
  EXPECT_EQ(by_gauge.verdict_text, "meter and c:package-0 differ by +30.1 %: one of them is wrong");
  // Not where it is a mean over longer than what counts.
  channels_[1].averages_over_s = 2;
  input_.channels = channels_;
  judge(off, input_);
  EXPECT_EQ(off.verdict, Verdict::ok);
  ASSERT_FALSE(off.events.empty());
  EXPECT_EQ(off.events[0].message,
            "meter and c:package-0 differ by +30.1 %: meter cannot tell stretches of 4.0 s apart, as it is a "
            "mean over 2.0 s");
  channels_[1].averages_over_s.reset();
  input_.channels = channels_;
  input_.energy_channels = {0};
  for (int i = 0; i <= 60; ++i) trial_.readings.push_back(at(i * 100 * ms, 108 + 0.1 * (i % 2), 1));
  judge(trial_, input_);
  EXPECT_EQ(trial_.verdict, Verdict::ok);
  ASSERT_FALSE(trial_.events.empty());
  EXPECT_EQ(trial_.events[0].kind, "sensors_disagree");
}

TEST_F(JudgeRegions, AShortRegionSaysWhatToDo) {
  input_.models[0].update = Seconds{0.1};
  trial_.readings.clear();
  // Read every 50 ms, renewed every 100 ms.
  for (int i = 0; i <= 120; ++i) trial_.readings.push_back(at(i * 50 * ms, 10.0 * (i / 2)));
  input_.runs = {run_of({{"begin r", 2030}, {"end r", 2830}}, 1000, 5000)};
  judge(trial_, input_);
  ASSERT_FALSE(trial_.events.empty());
  EXPECT_EQ(trial_.events[0].message,
            "8 fresh readings in 0.8 s: the sensor alone adds ±3.7 %; run it 8 times inside one region or "
            "lengthen it");
}

TEST_F(JudgeRegions, StepsTooShortForTheSensorHaveNoEnergy) {
  // 300 W for 30 ms, 100 W for 30 ms; a counter renewed every 100 ms and read every 50 ms cannot tell them
  // apart.
  const auto joules_at = [](double t) {
    const double turns = std::floor(t / 0.06), rest = t - 0.06 * turns;
    return turns * (0.03 * 300 + 0.03 * 100) + std::min(rest, 0.03) * 300 + std::max(0.0, rest - 0.03) * 100;
  };
  input_.models[0].update = Seconds{0.1};
  trial_.readings.clear();
  for (int i = 0; i <= 120; ++i) trial_.readings.push_back(at(i * 50 * ms, joules_at(0.1 * (i / 2))));
  MarkedRun run{1 * s, 5 * s, RegionMarks(0)};
  for (int i = 20; i < 80; ++i) {
    run.marks.feed("begin step\n", i * 60 * ms);
    run.marks.feed("end step\n", i * 60 * ms + 30 * ms);
  }
  input_.runs = {run};
  judge(trial_, input_);
  // What the rests drew, beside whole intervals of nothing but both, would be guessed.
  EXPECT_EQ(trial_.verdict, Verdict::sensor_gap);
  EXPECT_FALSE(trial_.energy_j);
  for (const RegionRecord& region : trial_.regions) EXPECT_FALSE(region.joules);
}

// The only region that counts is the trial: one energy, and one half-width, in both places. A load that began a moment before its mark included.
TEST_F(JudgeRegions, TheOnlyRegionIsKnownAsTheTrialIs) {
  input_.models[0].update = Seconds{0.1};
  trial_.readings.clear();
  const auto joules_at = [](double t) {
    return 20 * t + 130 * std::clamp(t - 1.8, 0.0, 2.2) + 60 * std::max(t - 4, 0.0);
  };
  for (int i = 0; i <= 120; ++i) trial_.readings.push_back(at(i * 50 * ms, joules_at(0.1 * (i / 2))));
  input_.runs = {run_of({{"begin r", 2030}, {"end r", 3630}}, 1000, 5000)};
  judge(trial_, input_);
  ASSERT_TRUE(trial_.energy_j && trial_.energy_half_width_j);
  const auto region = std::find_if(trial_.regions.begin(), trial_.regions.end(),
                                   [](const RegionRecord& one) { return one.name == "r"; });
  ASSERT_TRUE(region != trial_.regions.end() && region->joules && region->half_width_j);
  EXPECT_DOUBLE_EQ(*region->joules, *trial_.energy_j);
  EXPECT_DOUBLE_EQ(*region->half_width_j, *trial_.energy_half_width_j);
  EXPECT_GE(*region->half_width_j, *trial_.energy_systematic_j);
}

// What it took to the value that reached the target is the trial's energy, with the trial's half-width: of a load that began before its mark, too.
TEST_F(JudgeRegions, WhatItTookToATargetIsKnownAsTheTrialIs) {
  input_.models[0].update = Seconds{0.1};
  input_.objective.target = ConstraintSpec{"loss", {}, ConstraintSpec::Relation::at_most, 0.5, {}};
  for (const int early_ms : {0, 30, 70}) {
    TrialRecord trial = trial_;
    trial.readings.clear();
    const auto joules_at = [&](double t) { return 20 * t + 130 * std::max(t - 2 + early_ms / 1000.0, 0.0); };
    for (int i = 0; i <= 120; ++i) trial.readings.push_back(at(i * 50 * ms, joules_at(0.1 * (i / 2))));
    input_.runs = {
        run_of({{"begin r", 2000}, {"metric loss 0.9", 2800}, {"metric loss 0.4", 3600}, {"end r", 3630}},
               1000, 5000)};
    judge(trial, input_);
    ASSERT_TRUE(trial.energy_j && trial.energy_half_width_j) << early_ms;
    ASSERT_EQ(trial.metrics.size(), 2U);
    const MetricRecord &on_the_way = trial.metrics[0], &reached = trial.metrics[1];
    ASSERT_TRUE(on_the_way.half_width_j && reached.half_width_j) << early_ms;
    EXPECT_DOUBLE_EQ(*reached.joules, *trial.energy_j);
    EXPECT_DOUBLE_EQ(*reached.half_width_j, *trial.energy_half_width_j) << early_ms;
    EXPECT_LE(std::abs(*reached.joules - 150 * 1.6), *reached.half_width_j) << early_ms;
    EXPECT_LE(std::abs(*on_the_way.joules - 150 * 0.8), *on_the_way.half_width_j) << early_ms;
  }
}

// Two copies that were there from 1 s to 5 s.
std::vector<InstanceRecord> two_copies() {
  std::vector<InstanceRecord> both(2);
  for (int i = 1; i <= 2; ++i) {
    InstanceRecord& one = both[static_cast<std::size_t>(i - 1)];
    one.run = one.instance = i;
    one.started = 1 * s;
    one.ended = 5 * s;
  }
  return both;
}

// What two copies used while both ran: of an overlap shorter than two of the counter's values nothing is told, of a longer one with its half-width.
TEST_F(JudgeRegions, WhatAllUsedWhileTheyRanIsToldWhereTheSensorCanTellIt) {
  input_.models[0].update = Seconds{0.1};
  for (const int overlap_ms : {60, 900}) {
    TrialRecord trial = trial_;
    trial.readings.clear();
    // 100 W of one, 200 W of both; renewed every 100 ms.
    const auto joules_at = [&](double t) {
      return 100 * t + 100 * std::clamp(t - 2, 0.0, overlap_ms / 1000.0);
    };
    for (int i = 0; i <= 120; ++i) trial.readings.push_back(at(i * 50 * ms, joules_at(0.1 * (i / 2))));
    input_.runs = {run_of({{"begin r", 1030}, {"end r", 2000 + overlap_ms}}, 1000, 5000),
                   run_of({{"begin r", 2000}, {"end r", 3930}}, 1000, 5000)};
    trial.instances = two_copies();
    judge(trial, input_);
    ASSERT_TRUE(trial.all_running_s) << overlap_ms;
    EXPECT_NEAR(*trial.all_running_s, overlap_ms / 1000.0, 1e-9);
    EXPECT_EQ(trial.all_running_j.has_value(), overlap_ms == 900);
    EXPECT_EQ(trial.all_running_half_width_j.has_value(), overlap_ms == 900);
    if (trial.all_running_j) {
      EXPECT_LE(std::abs(*trial.all_running_j - 180), *trial.all_running_half_width_j);
      EXPECT_LT(*trial.all_running_half_width_j, 40);
    }
  }
}

// Each copy's load begins before its mark, as it may of a region: then the overlap's first interval has something of both before it.
TEST_F(JudgeRegions, WhatAllUsedWhileTheyRanHoldsLoadsThatBeginBeforeTheirMarks) {
  input_.models[0].update = Seconds{0.02};
  std::mt19937_64 random(7);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int held = 0;
  constexpr int trials = 200;
  for (int k = 0; k < trials; ++k) {
    TrialRecord trial = trial_;
    trial.readings.clear();
    const double begins[2] = {between(1.2, 1.6), between(3.3, 3.36)}, early = between(0, 0.008),
                 watts[2] = {between(2, 20), between(120, 250)};
    const auto joules_at = [&](double t) {
      return 20 * t + watts[0] * std::clamp(t - begins[0] + early, 0.0, 3.5 - begins[0] + early) +
             watts[1] * std::clamp(t - begins[1] + early, 0.0, 3.9 - begins[1] + early);
    };
    for (int i = 0; i <= 1200; ++i) trial.readings.push_back(at(i * 5 * ms, joules_at(0.02 * (i / 4))));
    input_.runs = {run_of({{"begin r", static_cast<int>(1000 * begins[0])}, {"end r", 3500}}, 1000, 5000),
                   run_of({{"begin r", static_cast<int>(1000 * begins[1])}, {"end r", 3900}}, 1000, 5000)};
    trial.instances = two_copies();
    judge(trial, input_);
    ASSERT_TRUE(trial.all_running_half_width_j);
    const double truth = (20 + watts[0] + watts[1]) * (3.5 - static_cast<int>(1000 * begins[1]) / 1000.0);
    held += std::abs(*trial.all_running_j - truth) <= *trial.all_running_half_width_j ? 1 : 0;
    EXPECT_LT(*trial.all_running_half_width_j, 0.08 * truth);
  }
  EXPECT_GE(held, 0.95 * trials) << held;
}

TEST(Objective, ByHand) {
  ObjectiveSpec objective;
  EXPECT_EQ(objective_value(objective, 50.0, 2), 50);
  objective.minimise = Objective::edp;
  EXPECT_EQ(objective_value(objective, 50.0, 2), 100);
  objective.minimise = Objective::ed2p;
  EXPECT_EQ(objective_value(objective, 50.0, 2), 200);
  EXPECT_FALSE(objective_value(objective, std::nullopt, 2));
  objective.minimise = Objective::time;
  EXPECT_EQ(objective_value(objective, std::nullopt, 2), 2);
  objective.minimise = Objective::cost;
  EXPECT_FALSE(objective_value(objective, 50.0, 2));
  objective.price = PriceSpec{0.1, 3, "EUR"};
  EXPECT_EQ(objective_value(objective, 50.0, 2), 11);
}

// ------------------------------------------------------------------ several at once

RegionRecord stretch(int run, Nanoseconds from, Nanoseconds to, bool counted = true) {
  return {"work", run, from * 1'000'000, to * 1'000'000, counted, {}, {}};
}

TrialRecord of_instances(int starts, int instances) {
  TrialRecord trial;
  for (int start = 0; start < starts; ++start) {
    for (int i = 1; i <= instances; ++i) {
      InstanceRecord one;
      one.run = start * instances + i;
      one.instance = i;
      trial.instances.push_back(one);
    }
  }
  return trial;
}

TEST(Several, AllRunWhereEachIsInItsOwn) {
  TrialRecord trial = of_instances(1, 3);
  Regions regions;
  regions.all = {stretch(1, 0, 50), stretch(2, 10, 20), stretch(3, 15, 60), stretch(2, 30, 45),
                 stretch(3, 5, 8, false)};
  judge_instances(trial, regions, {});
  EXPECT_DOUBLE_EQ(*trial.all_running_s, 0.020);  // 15-20 and 30-45
  EXPECT_DOUBLE_EQ(*trial.instances[0].region_s, 0.050);
  EXPECT_DOUBLE_EQ(*trial.instances[1].region_s, 0.025);
  EXPECT_DOUBLE_EQ(*trial.instances[2].region_s, 0.045);
}

TEST(Several, EachStartOfAllTogetherIsForItself) {
  TrialRecord trial = of_instances(2, 2);
  Regions regions;
  // The first of the second start must not be taken with the second of the first.
  regions.all = {stretch(1, 0, 10), stretch(2, 2, 12), stretch(3, 11, 30), stretch(4, 20, 28)};
  judge_instances(trial, regions, {});
  EXPECT_DOUBLE_EQ(*trial.all_running_s, 0.016);
}

TEST(Several, OneWhoseWorkloadMarksNothingRunsFromItsStartToItsEnd) {
  TrialRecord trial = of_instances(2, 2);
  for (const std::size_t background : {1, 3}) trial.instances[background].workload = "background";
  const auto lasts = [&](std::size_t i, Nanoseconds from, Nanoseconds to) {
    trial.instances[i].started = from * 1'000'000;
    trial.instances[i].ended = to * 1'000'000;
  };
  lasts(1, 0, 25);
  lasts(3, 55, 90);
  Regions regions;
  regions.all = {stretch(1, 10, 30), stretch(3, 50, 70)};
  judge_instances(trial, regions, {});
  EXPECT_DOUBLE_EQ(*trial.all_running_s, 0.030);  // 10-25 and 55-70
  EXPECT_EQ(trial.instances[1].region_s, std::nullopt) << "what it took by itself is not known";
}

TEST(Several, ACopyThatMarkedNothingBesideOneThatDidLeavesNoTimeInWhichAllRan) {
  TrialRecord trial = of_instances(1, 2);
  Regions regions;
  regions.all = {stretch(1, 0, 10)};
  judge_instances(trial, regions, {});
  EXPECT_DOUBLE_EQ(*trial.all_running_s, 0);
  EXPECT_EQ(trial.instances[1].region_s, std::nullopt);
}

TEST(Several, RandomStretchesAgainstAGridOfMilliseconds) {
  std::mt19937 random(20261123);
  for (int night = 0; night < 300; ++night) {
    const int instances = 2 + static_cast<int>(random() % 4), length = 60;
    TrialRecord trial = of_instances(1, instances);
    Regions regions;
    std::vector<std::vector<bool>> inside(static_cast<std::size_t>(instances),
                                          std::vector<bool>(length, false));
    for (int i = 1; i <= instances; ++i) {
      for (unsigned n = random() % 4 + 1; n > 0; --n) {
        const int from = static_cast<int>(random() % 50), to = from + 1 + static_cast<int>(random() % 9);
        regions.all.push_back(stretch(i, from, to));
        for (int t = from; t < to; ++t)
          inside[static_cast<std::size_t>(i - 1)][static_cast<std::size_t>(t)] = true;
      }
    }
    std::stable_sort(regions.all.begin(), regions.all.end(),
                     [](const RegionRecord& a, const RegionRecord& b) { return a.started < b.started; });
    judge_instances(trial, regions, {});
    int all = 0;
    for (std::size_t t = 0; t < length; ++t)
      all += std::all_of(inside.begin(), inside.end(), [&](const auto& one) { return one[t]; }) ? 1 : 0;
    EXPECT_NEAR(*trial.all_running_s, all / 1000.0, 1e-12) << night;
  }
}

TEST(Several, WhatCountsEndsWhereTheTargetIsReached) {
  Regions regions;
  regions.all = {stretch(1, 0, 10), stretch(1, 20, 40), stretch(1, 50, 60)};
  end_counting_at(regions, 30 * 1'000'000);
  std::vector<std::string> texts;
  for (const RegionRecord& one : regions.all)
    texts.push_back(
        fmt::format("{}-{}{}", one.started / 1'000'000, one.ended / 1'000'000, one.counted ? "" : " behind"));
  EXPECT_THAT(texts, ElementsAre("0-10", "20-30", "30-40 behind", "50-60 behind"));
}

}  // namespace
}  // namespace dvfs_plan
