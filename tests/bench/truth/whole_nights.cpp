#include "tests/bench/truth/whole_nights.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "results/compare/comparison.hpp"
#include "results/report/summary.hpp"
#include "results/trial/judge.hpp"
#include "tests/support/sensors.hpp"

namespace dvfs_plan::truth {
namespace {

struct SweptMachine {
  std::vector<double> time, energy;  // logarithms at each point; 0 is the reference
};

SweptMachine draw_machine(int points, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  SweptMachine machine;
  for (int p = 0; p < points; ++p) {
    machine.time.push_back(p == 0 ? 0 : 0.4 * uniform(random));
    machine.energy.push_back(p == 0 ? 0 : -0.2 + 0.3 * uniform(random));
  }
  return machine;
}

std::vector<TrialRow> run_night(const NightConditions& c, const SweptMachine& machine, double offset,
                                std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<PlanPoint> points(static_cast<std::size_t>(c.points));
  for (std::size_t p = 0; p < points.size(); ++p) {
    points[p].key = fmt::format("w p={}", p);
    points[p].scenario = "w";
    points[p].reference = p == 0;
  }
  std::vector<TrialRow> rows;
  int in_block = 0;
  for (const PlannedTrial& planned : schedule(points, c.blocks, {true, seed, true, false})) {
    const auto p = static_cast<std::size_t>(planned.point);
    in_block = rows.empty() || rows.back().block != planned.block ? 0 : in_block + 1;
    const double drift = c.drift * in_block / static_cast<double>(c.points);
    TrialRow row;
    row.id = static_cast<std::int64_t>(rows.size()) + 1;
    row.key = planned.key;
    row.workload = row.scenario = "w";
    row.point = points[p].key;
    row.is_reference = p == 0;
    row.role = planned.role;
    row.block = planned.block;
    row.position = planned.position;
    row.verdict = "ok";
    row.time_s = 10 * std::exp(machine.time[p] + c.scatter_of_time * normal(random));
    row.energy_j = 1000 * std::exp(machine.energy[p] + offset + drift + c.scatter_of_energy * normal(random));
    row.mean_power_w = *row.energy_j / *row.time_s;
    row.objective_value = row.energy_j;
    row.settings = {{"p", std::to_string(p), static_cast<double>(p)}};
    rows.push_back(row);
  }
  return rows;
}

Summary told(const NightConditions& c, const std::vector<TrialRow>& rows) {
  ExperimentRow experiment;
  experiment.name = "night";
  experiment.energy_source = "system";
  experiment.planned_trials = static_cast<int>(rows.size());
  experiment.points_of_scenario = {{"w", c.points}};
  experiment.axes = {{"p", "parameter"}};
  return summarise(experiment, rows);
}

std::size_t number_of(const std::string& point) {
  return std::stoul(point.substr(point.find('=') + 1));
}

}  // namespace

NightOutcome tell_a_night(const NightConditions& c, std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919);
  const SweptMachine machine = draw_machine(c.points, random);
  const Summary summary = told(c, run_night(c, machine, 0, seed));
  const ScenarioSummary& scenario = summary.scenarios.at(0);
  NightOutcome outcome;
  for (const PointSummary& point : scenario.points) {
    if (point.is_reference || !point.slowdown || !point.slowdown->low) continue;
    const double truth = std::expm1(machine.time[number_of(point.point)]);
    outcome.slowdown.add(*point.slowdown->low <= truth && truth <= *point.slowdown->high,
                         *point.slowdown->high - *point.slowdown->low);
  }
  for (const BlockDrift& block : scenario.drift) {
    ++outcome.blocks;
    outcome.flagged += block.flagged ? 1 : 0;
  }
  return outcome;
}

ComparedOutcome compare_nights(const NightConditions& c, double offset, double change, std::uint64_t seed) {
  std::mt19937_64 random(seed * 104729);
  const SweptMachine machine = draw_machine(c.points, random);
  SweptMachine later = machine;
  later.energy[1] += std::log1p(change);
  ComparedResult before, after;
  before.file = "before.sqlite";
  after.file = "after.sqlite";
  before.plan_hash = after.plan_hash = "the same";
  before.trials = run_night(c, machine, 0, seed * 2);
  after.trials = run_night(c, later, offset, seed * 2 + 1);
  before.summary = told(c, before.trials);
  after.summary = told(c, after.trials);
  const Comparison comparison = compare(before, after);
  ComparedOutcome outcome;
  for (const ComparedPoint& point : comparison.scenarios.at(0).points) {
    const bool changed = change != 0 && number_of(point.point) == 1;
    for (const ChangeOfPoint* one : {&point.energy, &point.time, &point.power}) {
      const bool mine = changed && one != &point.time;
      if (one->beyond_noise) (mine ? outcome.found : outcome.alarm) = true;
    }
    if (!point.energy.change || !point.energy.change->low) continue;
    const double truth = changed ? change : 0;
    outcome.energy.add(*point.energy.change->low <= truth && truth <= *point.energy.change->high,
                       *point.energy.change->high - *point.energy.change->low);
  }
  return outcome;
}

ClockOutcome tell_a_clock(double share_held_down, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  constexpr double asked = 3.0e9, below = 2.6e9, length = 10;
  const double from = uniform(random) * length * (1 - share_held_down), to = from + share_held_down * length;
  std::vector<Channel> channels{gauge("system"), gauge("policy0")};
  channels[0].averages_over_s = 0.02;
  channels[1].name = "cpufreq:policy0";
  channels[1].probe = "cpufreq";
  channels[1].unit = "Hz";
  TrialRecord trial;
  trial.child.end = ChildResult::End::exited;
  trial.child.started = s;
  trial.child.ended = s + nanoseconds(Seconds{length});
  trial.settings = {{0, "policy0", "3 GHz", "3 GHz", {}, {}, {}, 0}};
  for (double t = -0.05; t < length + 0.05; t += 0.02) {
    const double clock = t >= from && t < to ? below : asked;
    const Nanoseconds when = s + nanoseconds(Seconds{t});
    trial.readings.push_back(at(when, 100 + normal(random), 0));
    trial.readings.push_back(at(when, clock * (1 + 0.003 * normal(random)), 1));
  }
  JudgeInput input;
  input.channels = channels;
  input.energy_channels = {0};
  trial.settings[0].clock = ClockRule{.requested = asked,
                                      .tolerance = delivered_tolerance({2.2e9, below, asked}, false, asked),
                                      .busiest = 1.0};
  judge(trial, input);
  return {asked - share_held_down * (asked - below), trial.settings[0].delivered.value_or(0),
          trial.verdict == Verdict::ok};
}

}  // namespace dvfs_plan::truth
