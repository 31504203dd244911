// Adaptive search: what it names, when it stops, what it does on surfaces that are no surfaces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "orchestrator/strategies/one_by_one.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/surface/plan_surface.hpp"
#include "tests/support/parse.hpp"

namespace dvfs_plan {
namespace {

using testing::Contains;
using testing::Each;
using testing::Lt;

struct Measured {
  double time = 1, energy = 1;
  bool counts = true, may_pass = false;
  std::map<std::string, double> other = {};
  std::map<std::string, std::string> units = {};
};
// At a value from 1 to the number of points, for a workload.
using Machine = std::function<Measured(double x, int workload)>;

// A board: P0 + c f V^2, V flat then rising; time a + b/f. Least energy near the middle.
Measured board(double x, double of, double memory = 0.3) {
  const double f = 0.3 + 0.7 * x / of, v = 1 + 1.2 * std::max(0.0, f - 0.6);
  const double time = memory + (1 - memory) / f, power = 60 + 140 * f * v * v;
  return {time, time * power};
}

class Night {
 public:
  Night(int points, const std::string& yaml, int workloads = 1) : points_(points) {
    std::string values, programs;
    for (int i = 1; i <= points; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
    for (int w = 0; w < workloads; ++w)
      programs += std::string(w > 0 ? ", " : "") + "{name: w" + std::to_string(w) + ", command: [/bin/true]}";
    Diagnostics diagnostics("n.yaml");
    const auto experiment = parse_experiment(
        "name: n\nworkloads: [" + programs + "]\naxes: {sysfs.f: [" + values +
            "]}\nsysfs: {f: {path: /sys/f, values: [" + values + "]}}\n" +
            (yaml.find("conditions:") == std::string::npos ? "conditions: {idle: none}\n" : "") + yaml,
        "n.yaml", diagnostics);
    EXPECT_TRUE(experiment) << diagnostics.text();
    ResolveWorld world;
    AxisOffer offer;
    for (int i = 1; i <= points; ++i) offer.values.push_back({std::to_string(i), static_cast<double>(i)});
    world.offers.offers["sysfs.f"] = offer;
    auto plan = resolve_plan(*experiment, world, diagnostics);
    EXPECT_TRUE(plan) << diagnostics.text();
    plan_ = std::move(*plan);
  }

  FinishedTrial measure(const PlannedTrial& trial, const Machine& machine) {
    const PlanPoint& point = plan_.points[static_cast<std::size_t>(trial.point)];
    const Measured m = machine(*point.values.front()->number, point.workload);
    const double noisy_time = m.time * std::exp(0.003 * normal_(random_));
    FinishedTrial done = as_planned(trial);
    done.slot_s = 10;
    done.may_pass = m.may_pass;
    done.counts = m.counts && counts_for_its_point(trial.role);
    if (!m.counts) return done;
    done.work_time_s = noisy_time;
    done.work_energy_j = m.energy / m.time * noisy_time * std::exp(0.01 * normal_(random_));
    done.objective = done.work_energy_j;
    done.other = m.other;
    done.units_of_other = m.units;
    return done;
  }

  // Runs to the end.
  void run(const Machine& machine, const std::vector<PriorShape>& shapes = {}) {
    const auto strategy = make_strategy({plan_, shapes});
    while (const PlannedTrial* trial = strategy->next(history_)) {
      ASSERT_LT(history_.trials().size(), 2000U) << "it does not end";
      ASSERT_FALSE(history_.contains(*trial)) << trial->key << " comes twice";
      history_.add(measure(*trial, machine));
      if (!is_idle(trial->role))
        ++of_point[*plan_.points[static_cast<std::size_t>(trial->point)].values.front()->number];
    }
  }

  int trials() const { return history_.workload_trials(); }
  std::vector<int> points_of(int workload) const {
    std::vector<int> points;
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      if (plan_.points[i].workload == workload) points.push_back(static_cast<int>(i));
    }
    return points;
  }
  OptimumModel model(const std::vector<PriorShape>& shapes = {}) const {
    return {surface_question(plan_), surface_trials(history_.trials(), plan_.experiment.objective.minimise),
            shapes};
  }
  // What would be named: its value of x, 0 for none.
  double named(int workload = 0) const {
    if (surface_trials(history_.trials(), plan_.experiment.objective.minimise).empty()) return 0;
    const auto optimum = model().optimum(points_of(workload), 0.95);
    return optimum ? *plan_.points[static_cast<std::size_t>(optimum->point)].values.front()->number : 0;
  }
  double bound(int workload = 0) const { return model().optimum(points_of(workload), 0.95)->regret_bound; }
  double regret(const Machine& machine, int workload = 0) const {
    double least = 1e300;
    for (int x = 1; x <= points_; ++x) least = std::min(least, machine(x, workload).energy);
    return machine(named(workload), workload).energy / least - 1;
  }

  Plan plan_;
  History history_;
  std::map<double, int> of_point;

 private:
  int points_;
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

const std::string adaptive = "search: adaptive\n";

TEST(Adaptive, FindsTheOptimumOfABoardInAFractionOfTheGrid) {
  const Machine machine = [](double x, int) { return board(x, 60); };
  Night night(60, "search: {stop: {regret: 2 %}}\n");
  night.run(machine);
  EXPECT_LT(night.trials(), 40);  // the full grid takes 180
  EXPECT_LE(night.bound(), 0.02);
  EXPECT_LE(night.regret(machine), night.bound());
}

TEST(Adaptive, TheSameHistoryGivesTheSameProposal) {
  const Machine machine = [](double x, int) { return board(x, 25); };
  Night whole(25, "search: {at most: 20, stop: {regret: 0.01 %}}\n");
  whole.run(machine);
  ASSERT_EQ(whole.trials(), 20);
  // Resumed after each trial by a program that knows only the file.
  History part;
  for (const FinishedTrial& done : whole.history_.trials()) {
    const auto fresh = make_strategy({whole.plan_});
    const PlannedTrial* next = fresh->next(part);
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(next->key, done.key);
    part.add(done);
  }
  EXPECT_EQ(make_strategy({whole.plan_})->next(part), nullptr);
}

TEST(Adaptive, WarmUpsAndIdleWindowsDoNotChangeWhatIsProposed) {
  const Machine machine = [](double x, int) { return board(x, 12); };
  Night night(12, "search: {at most: 8}\n");
  night.run(machine);
  History with_warm_ups;
  for (const FinishedTrial& done : night.history_.trials()) {
    EXPECT_EQ(make_strategy({night.plan_})->next(with_warm_ups)->key, done.key);
    FinishedTrial warm_up = done;
    warm_up.role = TrialRole::warm_up;
    warm_up.counts = false;
    warm_up.key += " warm-up 1";
    with_warm_ups.add(warm_up);
    with_warm_ups.add(done);
  }
}

TEST(Adaptive, AFlatSurfaceStopsEarlyWithASmallBound) {
  Night night(30, adaptive);
  night.run([](double, int) { return Measured{1, 50}; });
  EXPECT_LT(night.trials(), 80);  // the full grid takes 90
  EXPECT_LE(night.bound(), 0.01);
}

TEST(Adaptive, ItLooksAtEachTwentiethOfAnAxisAndFourTimesAtWhatItNames) {
  Night night(60, adaptive);
  night.run([](double x, int) { return board(x, 60); });
  std::set<int> twentieths;
  for (const auto& [x, runs] : night.of_point) twentieths.insert(static_cast<int>(x - 1) / 3);
  EXPECT_EQ(twentieths.size(), 20U);
  EXPECT_GE(night.of_point[night.named()], 4);
}

TEST(Adaptive, AStepBesideTheOptimumIsFound) {
  // Just before a rail goes up by 12 % lies the best setting, wherever that is.
  for (int last = 22; last <= 38; last += 4) {
    const Machine machine = [&](double x, int) {
      Measured m = board(x, 60);
      m.energy *= x > last ? 1.12 : 1;
      return m;
    };
    Night night(60, adaptive);
    night.run(machine);
    EXPECT_LE(night.regret(machine), night.bound() + 1e-12) << last;
    EXPECT_LT(night.trials(), 120) << last;  // the full grid takes 180
  }
}

TEST(Adaptive, OnePointIsRunAndNamed) {
  Night night(1, adaptive);
  night.run([](double, int) { return Measured{1, 50}; });
  EXPECT_EQ(night.named(), 1);
  EXPECT_LE(night.trials(), 4);
  EXPECT_NEAR(night.bound(), 0, 1e-12);
}

TEST(Adaptive, NothingIsNamedWhereNothingHoldsTheConstraints) {
  Night night(20, "search: {at most: 15}\nobjective: {minimise: energy, subject to: {power: \"< 10 W\"}}\n");
  night.run([](double x, int) { return board(x, 20); });
  EXPECT_EQ(night.named(), 0);
  EXPECT_LE(night.trials(), 8);  // and it does not go on looking
}

TEST(Adaptive, LimitsThatDoNotBindAreAPlateau) {
  // Power limits 1..24 of which those above 14 are never reached: time and power stay as they are.
  const Machine machine = [](double x, int) { return board(std::min(x, 14.0), 24); };
  Night night(24, adaptive);
  night.run(machine);
  EXPECT_LE(night.regret(machine), night.bound() + 1e-12);
  EXPECT_LE(night.bound(), 0.01);
  EXPECT_LT(night.trials(), 50);
}

TEST(Adaptive, AnOptimumAtTheEdgeIsFound) {
  const Machine low = [](double x, int) { return Measured{1, 10 * x}; };
  const Machine high = [](double x, int) { return Measured{1 / x, 10 / x}; };
  for (const auto& [machine, best] : {std::pair{low, 1.0}, std::pair{high, 16.0}}) {
    Night night(16, adaptive);
    night.run(machine);
    EXPECT_EQ(night.named(), best);
    EXPECT_LT(night.trials(), 24);  // each value once, the one named four times; the full grid takes 48
  }
}

TEST(Adaptive, APointThatFailsIsLeftAndTheRestGoesOn) {
  // The very best point is broken.
  const Machine machine = [](double x, int) {
    Measured m = board(x, 20);
    m.counts = x != 9;
    return m;
  };
  Night night(20, adaptive);
  night.run(machine);
  EXPECT_LE(night.of_point[9], 1);
  EXPECT_NE(night.named(), 9);
  double least = 1e300;
  for (int x = 1; x <= 20; ++x) least = std::min(least, x == 9 ? 1e300 : board(x, 20).energy);
  EXPECT_LE(board(night.named(), 20).energy / least - 1, 0.02);
}

TEST(Adaptive, ADisturbedTrialIsRunAgainAtOnceAndNotForEver) {
  int disturbed = 0;
  const Machine machine = [&](double x, int) {
    Measured m = board(x, 10);
    m.counts = !(x == 10 && disturbed++ < 3);
    m.may_pass = true;
    return m;
  };
  Night night(10, "search: {at most: 12}\n");
  night.run(machine);
  std::vector<std::string> keys;
  for (const FinishedTrial& t : night.history_.trials()) keys.push_back(t.key);
  EXPECT_THAT(keys, Contains("w0 sysfs.f=10 #1 first rerun 1"));
  EXPECT_LE(night.of_point[10], 5);
}

TEST(Adaptive, ADeadSensorEndsTheNightBeforeItIsWasted) {
  Night night(100, adaptive);
  night.run([](double, int) { return Measured{1, 1, false, false}; });
  EXPECT_LE(night.trials(), 50);
  EXPECT_GE(night.trials(), 8);
  EXPECT_EQ(night.named(), 0);
  for (const auto& [x, runs] : night.of_point) EXPECT_EQ(runs, 1) << x;
}

TEST(Adaptive, JaggedSurfacesWidenTheBound) {
  // Each setting has a scatter of its own that its repetitions do not show.
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> scatter;
  for (int i = 0; i <= 40; ++i) scatter.push_back(std::exp(0.06 * normal(random)));
  const Machine smooth = [](double x, int) { return board(x, 40); };
  const Machine jagged = [&](double x, int) {
    Measured m = board(x, 40);
    m.energy *= scatter[static_cast<std::size_t>(x)];
    return m;
  };
  Night a(40, "search: {at most: 16}\n"), b(40, "search: {at most: 16}\n");
  a.run(smooth);
  b.run(jagged);
  EXPECT_GT(b.bound(), 2 * a.bound());
  EXPECT_GT(b.bound(), 0.02);
  EXPECT_EQ(b.trials(), 16);
}

TEST(Adaptive, ConstraintsAreModelledNotOnlyChecked) {
  // The least energy lies at a clock that is too slow by far; the best that is allowed lies between.
  const Machine machine = [](double x, int) {
    Measured m = board(x, 40, 0.1);
    m.other = {{"accuracy", x < 5 ? 0.5 : 0.9}};
    return m;
  };
  Night night(40,
              "search: {stop: {regret: 2 %}}\nobjective: {minimise: energy, subject to: {slowdown: 15 %, "
              "accuracy: \">= 0.8\"}}\n");
  night.run(machine);
  const double reference = machine(40, 0).time;
  double least = 1e300;
  for (int x = 1; x <= 40; ++x) {
    if (machine(x, 0).time / reference - 1 <= 0.15) least = std::min(least, machine(x, 0).energy);
  }
  const Measured named = machine(night.named(), 0);
  EXPECT_LE(named.time / reference - 1, 0.15 + 0.01);
  EXPECT_LE(named.energy / least - 1, 0.03);
  EXPECT_LT(night.trials(), 40);
}

TEST(Adaptive, AReferenceThatBreaksAConstraintDoesNotMakeOthersLookGood) {
  // The fastest within 150 W; the reference is the fastest of all and draws 260 W.
  const Machine machine = [](double x, int) { return board(x, 30); };
  Night night(30, "search: {at most: 20}\nobjective: {minimise: time, subject to: {power: \"<= 150 W\"}}\n");
  night.run(machine);
  double fastest = 0;
  for (int x = 1; x <= 30; ++x) {
    const Measured m = machine(x, 0);
    if (m.energy / m.time <= 150) fastest = x;
  }
  EXPECT_NEAR(night.named(), fastest, 1);
  for (const auto& [x, runs] : night.of_point) EXPECT_LT(runs, 10) << x;
}

TEST(Adaptive, WhatIsNotKnownOfAConstraintDoesNotHold) {
  Night unknown(10,
                "search: {at most: 10}\nobjective: {minimise: energy, subject to: {latency: \"<= 5 ms\"}}\n");
  unknown.run([](double x, int) { return board(x, 10); });
  EXPECT_EQ(unknown.named(), 0);
  // At its limit everywhere, to the last digit.
  const Machine at_limit = [](double x, int) {
    Measured m = board(x, 10);
    m.other = {{"errors", 0}};
    return m;
  };
  Night exact(10, "search: {at most: 10}\nobjective: {minimise: energy, subject to: {errors: \"<= 0\"}}\n");
  exact.run(at_limit);
  EXPECT_NE(exact.named(), 0);
  EXPECT_EQ(exact.model().feasible(3), 1);
}

TEST(Adaptive, AConstraintIsComparedInTheUnitOfItsValues) {
  const Machine in_ms = [](double x, int) {
    Measured m = board(x, 10);
    m.other = {{"latency", 200}};
    m.units = {{"latency", "ms"}};
    return m;
  };
  for (const auto& [bound, feasible] :
       {std::pair{"<= 300 us", 0}, {"<= 0.3 s", 1}, {"<= 300 ms", 1}, {"<= 300 GiB", 0}}) {
    Night night(
        10, fmt::format(
                "search: {{at most: 10}}\nobjective: {{minimise: energy, subject to: {{latency: \"{}\"}}}}\n",
                bound));
    night.run(in_ms);
    EXPECT_EQ(night.model().feasible(3), feasible) << bound;
    EXPECT_EQ(night.named() != 0, feasible == 1) << bound;
  }
}

TEST(Adaptive, AMetricInSmallUnitsIsLearntAsWellAsAnyOther) {
  const Machine machine = [](double x, int) {
    Measured m = board(x, 20);
    m.other = {{"error", x < 12 ? 4e-7 : 1e-7}};
    return m;
  };
  Night night(20, "search: {at most: 16}\nobjective: {minimise: energy, subject to: {error: \"<= 2e-7\"}}\n");
  night.run(machine);
  EXPECT_EQ(night.named(), 12);
}

TEST(Adaptive, AWorkloadThatBreaksDuringTheNightEndsIt) {
  int runs = 0;
  Night night(40, "search: {stop: {regret: 0.001 %}}\n");
  night.run([&](double x, int) {
    Measured m = board(x, 40);
    m.counts = ++runs <= 6;
    return m;
  });
  EXPECT_LE(night.trials(), 6 + 8);
  EXPECT_NE(night.named(), 0);
}

TEST(Adaptive, AShortDisturbanceTakesNoPointOutForGood) {
  // Somebody else works on the machine from the fourth to the sixth trial; the best point is among those
  // disturbed.
  int runs = 0;
  const Machine machine = [&](double x, int) {
    Measured m = board(x, 12);
    ++runs;
    m.counts = runs < 4 || runs > 6;
    m.may_pass = true;
    return m;
  };
  Night night(12, "search: {at most: 30}\n");
  night.run(machine);
  EXPECT_LE(night.regret([](double x, int) { return board(x, 12); }), 0.01);
}

TEST(Adaptive, AReferenceThatWasDisturbedIsTriedAgainWhereSlowdownsNeedIt) {
  int of_reference = 0;
  const Machine machine = [&](double x, int) {
    Measured m = board(x, 20, 0.1);
    m.counts = x != 20 || ++of_reference > 2;
    m.may_pass = true;
    return m;
  };
  Night night(20, "search: {at most: 25}\nobjective: {minimise: energy, subject to: {slowdown: 20 %}}\n");
  night.run(machine);
  EXPECT_GE(of_reference, 3);
  EXPECT_NE(night.named(), 0);
}

TEST(Adaptive, ReferencesThatFailOnceDoNotEndASearchThatNeedsThem) {
  // At first, and twice in a row once it is known.
  for (const std::set<int>& failing : {std::set<int>{1}, {1, 2}, {3, 4}}) {
    int of_reference = 0;
    const Machine machine = [&](double x, int) {
      Measured m = board(x, 20, 0.1);
      if (x == 20) m.counts = !failing.contains(++of_reference);
      return m;
    };
    Night night(20,
                "search: {at most: 40, stop: {regret: 0.001 %}}\nobjective: {minimise: energy, subject to: "
                "{slowdown: 20 %}}\n");
    night.run(machine);
    EXPECT_GT(night.trials(), 20) << *failing.begin();
    ASSERT_NE(night.named(), 0) << *failing.begin();
    const double fastest = board(20, 20, 0.1).time;
    double least = 1e300;
    for (int x = 1; x <= 20; ++x) {
      if (board(x, 20, 0.1).time <= 1.2 * fastest) least = std::min(least, board(x, 20, 0.1).energy);
    }
    const Measured named = board(night.named(), 20, 0.1);
    EXPECT_LE(named.time / fastest, 1.21);
    EXPECT_LE(named.energy / least, 1.03);
  }
}

TEST(Adaptive, AReferenceThatAlwaysFailsEndsASearchThatNeedsIt) {
  Night night(20, "search: {at most: 40}\nobjective: {minimise: energy, subject to: {slowdown: 20 %}}\n");
  night.run([](double x, int) {
    Measured m = board(x, 20, 0.1);
    m.counts = x != 20;
    return m;
  });
  EXPECT_EQ(night.trials(), 3);
}

TEST(Adaptive, SettingsThatAllFailInOneHalfDoNotEndTheSearch) {
  // The lower half, where the energy would be least, is refused by the machine.
  const Machine machine = [](double x, int) {
    Measured m = board(x, 40);
    m.counts = x > 20;
    return m;
  };
  Night night(40, "search: {at most: 40}\n");
  night.run(machine);
  double least = 1e300;
  for (int x = 21; x <= 40; ++x) least = std::min(least, board(x, 40).energy);
  ASSERT_NE(night.named(), 0);
  EXPECT_LE(board(night.named(), 40).energy / least - 1, 0.02);
}

TEST(Adaptive, AMeterThatCountsBackwardsTellsNothing) {
  Night night(12, "search: {at most: 12}\n");
  night.run([](double, int) { return Measured{1, -50}; });
  EXPECT_EQ(night.named(), 0);
  EXPECT_LE(night.trials(), 8);
}

TEST(Adaptive, AtMostAndTheBudgetAreNeverOverdrawn) {
  const Machine machine = [](double x, int) { return board(x, 30); };
  Night most(30, "search: {at most: 9 trials, stop: {regret: 0.001 %}}\n");
  most.run(machine);
  EXPECT_EQ(most.trials(), 9);
  Night budget(30, "search: {stop: {regret: 0.001 %}}\nbudget: 7 trials\n");
  budget.run(machine);
  EXPECT_EQ(budget.trials(), 7);
  Night time(30, "search: {stop: {regret: 0.001 %}}\nbudget: 95 s\n");
  time.run(machine);
  EXPECT_EQ(time.trials(), 9);  // 10 s each
  Night one(30, "search: {at most: 1}\n");
  one.run(machine);
  EXPECT_EQ(one.trials(), 1);
}

TEST(Adaptive, WithoutAStopItRunsNoMoreThanTheFullGridWould) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(1, 2);
  std::vector<double> noise_only(7);
  for (double& v : noise_only) v = any(random);
  Night night(6, "repeat: 2\nsearch: {stop: {regret: 0.0001 %}}\n");
  night.run([&](double x, int) { return Measured{1, noise_only[static_cast<std::size_t>(x)]}; });
  EXPECT_LE(night.trials(), 12);
  EXPECT_EQ(night.of_point.size(), 6U);
}

// Mean over four workloads of what is named after eight trials each: all in one night, and each in a night of
// its own.
struct Learning {
  double regret_together = 0, regret_alone = 0, bound_together = 0, bound_alone = 0;
  int broken = 0;  // bounds that do not hold
};
Learning learn(const Machine& machine) {
  Learning result;
  Night together(30, "search: {at most: 8}\n", 4);
  together.run(machine);
  for (int w = 0; w < 4; ++w) {
    Night alone(30, "search: {at most: 8}\n");
    alone.run([&](double x, int) { return machine(x, w); });
    result.regret_together += together.regret(machine, w) / 4;
    result.bound_together += together.bound(w) / 4;
    result.broken += together.regret(machine, w) > together.bound(w) + 1e-12 ? 1 : 0;
    result.regret_alone += alone.regret([&](double x, int) { return machine(x, w); }) / 4;
    result.bound_alone += alone.bound() / 4;
  }
  return result;
}

TEST(Adaptive, WorkloadsThatAreAlikeLearnFromEachOther) {
  const Learning alike = learn([](double x, int w) {
    const Measured m = board(x, 30, 0.3 + 0.01 * w);
    return Measured{m.time * (1 + w), m.energy * (1 + w)};
  });
  EXPECT_LT(alike.bound_together, 0.8 * alike.bound_alone);
  EXPECT_LT(alike.regret_together, 0.01);
  EXPECT_EQ(alike.broken, 0);
}

TEST(Adaptive, WorkloadsThatAreOpposedDoNotMisleadEachOther) {
  const Learning opposed = learn([](double x, int w) {
    const double bent = 0.4 * std::pow((x - 15) / 15, 2), turn = w % 2 == 0 ? bent : -bent;
    const double wave = 0.1 * std::sin(x / 3 + 2 * w);
    return Measured{std::exp(turn + wave), 50 * std::exp(2 * turn + wave)};
  });
  EXPECT_LE(opposed.regret_together, opposed.regret_alone + 0.005);
  EXPECT_EQ(opposed.broken, 0);
}

std::vector<PriorShape> shapes_of(const std::vector<double>& memory, bool upside_down = false) {
  std::vector<PriorShape> shapes;
  const auto without_mean = [](std::vector<double> values) {
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (double& value : values) value -= mean;
    return values;
  };
  for (const double share : memory) {
    PriorShape shape;
    for (int p = 0; p < 30; ++p) {
      const Measured m = board(upside_down ? 30 - p : p + 1, 30, share);
      shape.log_time.push_back(std::log(m.time));
      shape.log_power.push_back(std::log(m.energy / m.time));
    }
    shapes.push_back({"earlier", without_mean(shape.log_time), without_mean(shape.log_power)});
  }
  return shapes;
}

TEST(Adaptive, EarlierResultsHelpAndAreDroppedWhereTheyMislead) {
  const Machine machine = [](double x, int) { return board(x, 30, 0.35); };
  const auto good = shapes_of({0.1, 0.2, 0.3, 0.4, 0.5}), bad = shapes_of({0.1, 0.2, 0.3, 0.4, 0.5}, true);
  Night warm(30, "search: {at most: 6}\n"), cold(30, "search: {at most: 6}\n"),
      misled(30, "search: {at most: 12}\n");
  warm.run(machine, good);
  cold.run(machine);
  misled.run(machine, bad);
  EXPECT_TRUE(warm.model(good).used_shapes(0));
  EXPECT_LT(warm.model(good).optimum(warm.points_of(0), 0.95)->regret_bound, cold.bound());
  EXPECT_FALSE(misled.model(bad).used_shapes(0));
  EXPECT_LE(misled.regret(machine), misled.bound() + 1e-12);
}

TEST(Adaptive, FourShapesAreTooFewToBeUsed) {
  const Machine machine = [](double x, int) { return board(x, 30, 0.35); };
  Night night(30, "search: {at most: 6}\n");
  night.run(machine);
  EXPECT_FALSE(night.model(shapes_of({0.1, 0.2, 0.3, 0.4})).used_shapes(0));
}

// Clocks x governors: words among which nothing lies between two others, each with a valley of its own.
TEST(Adaptive, WordsAreSurfacesOfTheirOwnOrShared) {
  for (const double apart : {0.0, 0.35}) {
    Plan plan;
    plan.experiment.conditions.idle = Seconds{0};
    plan.experiment.search.method = "adaptive";
    plan.experiment.search.regret = 0.02;
    PlanAxis clocks{"cpu.frequency", true, Dimension::frequency, {}},
        governors{"cpu.governor", true, Dimension::text, {}};
    for (int i = 1; i <= 20; ++i) clocks.values.push_back({std::to_string(i), i * 1e8});
    for (const char* name : {"ondemand", "performance", "powersave"})
      governors.values.push_back({name, std::nullopt});
    plan.axes = {clocks, governors};
    for (const AxisValue& clock : clocks.values) {
      for (const AxisValue& governor : governors.values)
        plan.points.push_back(
            {0, {clock, governor}, clock.text + " " + governor.text, "w", clock.text + governor.text});
    }
    plan.points.back().reference = true;
    const auto truth = [&](int point) {
      const auto& values = plan.points[static_cast<std::size_t>(point)].values;
      const double shift = values[1]->text == "ondemand"      ? 0
                           : values[1]->text == "performance" ? apart
                                                              : -apart;
      const Measured m = board(std::clamp(*values[0]->number / 1e8 + 20 * shift, 1.0, 24.0), 20);
      return Measured{m.time, m.energy * (1 + 0.1 * shift)};
    };
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    const auto strategy = make_strategy({plan});
    History history;
    while (const PlannedTrial* trial = strategy->next(history)) {
      ASSERT_LT(history.workload_trials(), 180);
      const Measured m = truth(trial->point);
      FinishedTrial done = as_planned(*trial);
      done.counts = true;
      done.work_time_s = m.time * std::exp(0.003 * normal(random));
      done.work_energy_j = done.objective = m.energy * std::exp(0.01 * normal(random));
      history.add(done);
    }
    std::vector<int> all(plan.points.size());
    std::iota(all.begin(), all.end(), 0);
    double least = 1e300;
    for (const int p : all) least = std::min(least, truth(p).energy);
    const OptimumModel model(surface_question(plan), surface_trials(history.trials(), Objective::energy));
    const auto optimum = model.optimum(all, 0.95);
    ASSERT_TRUE(optimum);
    EXPECT_LE(truth(optimum->point).energy / least - 1, optimum->regret_bound + 1e-12) << apart;
    EXPECT_LE(optimum->regret_bound, 0.02) << apart;
    EXPECT_LT(history.workload_trials(), 60) << apart;  // fewer than once each
  }
}

TEST(Adaptive, TheAnnouncementSaysWhatItWillDo) {
  Night night(20, "search: {stop: {regret: 0.5 %, confidence: 99 %}, at most: 30 trials}\n", 2);
  EXPECT_EQ(make_strategy({night.plan_})->announcement(History()),
            "adaptive search over 40 settings: until with 99 % confidence none is better by more than 0.5 %, "
            "at most "
            "60 trials");
  EXPECT_EQ(make_strategy({night.plan_})->remaining(History()), 60);
}

// What is saved is told against it. Where blocks need not begin with it, it is run once all the same, within what may be run.
TEST(Strategies, OneByOneASearchRunsItsReference) {
  for (const char* method : {"adaptive", "random", "golden"}) {
    for (int seed = 1; seed <= 20; ++seed) {
      for (const int most : {3, 8, 30}) {
        Night night(
            12,
            fmt::format("search: {{method: {}, at most: {} trials}}\nseed: {}\nreference: {{sysfs.f: 7}}\n"
                        "conditions: {{idle: none, references: false}}\n",
                        method, most, seed),
            2);
        night.run([](double x, int w) { return board(x, w == 0 ? 12 : 30); });
        for (int workload = 0; workload < 2; ++workload) {
          const auto runs = std::count_if(
              night.history_.trials().begin(), night.history_.trials().end(),
              [&](const FinishedTrial& trial) {
                const PlanPoint& point = night.plan_.points[static_cast<std::size_t>(trial.point)];
                return point.reference && point.workload == workload && counts_for_its_point(trial.role);
              });
          EXPECT_GE(runs, 1) << method << " seed " << seed << " at most " << most << " workload " << workload;
        }
        EXPECT_LE(night.trials(), 2 * most);
      }
    }
  }
}

TEST(RandomSearch, TakesEachSettingOnceBeforeAnyAgainAndAnotherOrderWithAnotherSeed) {
  const Machine machine = [](double x, int) { return board(x, 12); };
  std::vector<std::vector<double>> orders;
  for (const char* seed : {"1", "1", "2"}) {
    Night night(12, std::string("search: {method: random, at most: 18}\nseed: ") + seed +
                        "\nconditions: {idle: none, references: false}\n");
    night.run(machine);
    EXPECT_EQ(night.trials(), 18);
    std::vector<double> order;
    std::set<double> first;
    for (const FinishedTrial& trial : night.history_.trials()) {
      order.push_back(*night.plan_.points[static_cast<std::size_t>(trial.point)].values.front()->number);
      if (order.size() <= 12) first.insert(order.back());
    }
    EXPECT_EQ(first.size(), 12U);
    orders.push_back(order);
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
  EXPECT_FALSE(std::is_sorted(orders[0].begin(), orders[0].begin() + 12));
}

TEST(GoldenSection, FindsTheLeastOfAValleyInFewTrials) {
  const Machine machine = [](double x, int) { return board(x, 60); };
  Night night(60, "search: golden\nconditions: {idle: none, references: false}\n");
  night.run(machine);
  EXPECT_LE(night.trials(), 16);  // 2 + log(60) / log(1.618), and a few between
  EXPECT_GE(night.trials(), 8);
  EXPECT_LE(night.regret(machine), 0.02);
}

TEST(GoldenSection, PassesOverWhatFails) {
  const Machine machine = [](double x, int) {
    Measured m = board(x, 30);
    m.counts = x < 9 || x > 14;
    return m;
  };
  Night night(30, "search: golden\nconditions: {idle: none}\n");
  night.run(machine);
  EXPECT_GT(night.named(), 0);
  EXPECT_LT(night.trials(), 60);
}

TEST(Strategies, OneByOneAResumedNightGoesOnAsItWouldHave) {
  const Machine machine = [](double x, int) { return board(x, 25); };
  for (const char* method : {"random", "golden"}) {
    Night whole(25, std::string("search: {method: ") + method + ", at most: 15}\n");
    whole.run(machine);
    History part;
    for (const FinishedTrial& done : whole.history_.trials()) {
      const auto fresh = make_strategy({whole.plan_});
      const PlannedTrial* next = fresh->next(part);
      ASSERT_NE(next, nullptr);
      EXPECT_EQ(next->key, done.key) << method;
      part.add(done);
    }
    EXPECT_EQ(make_strategy({whole.plan_})->next(part), nullptr) << method;
  }
}

// The example of CONTRIBUTING.md: a strategy of one's own in one screen, which an experiment may then name.
class HighestFirst : public OneByOne {
 public:
  using OneByOne::OneByOne;
  std::string announcement(const History&) override { return "the highest settings first, each once"; }

 private:
  bool is_enough(std::size_t, const std::vector<int>& candidates, const History&) override {
    return not_run(candidates).empty();
  }
  int choose(std::size_t, const std::vector<int>& candidates, const History&) override {
    return not_run(candidates).back();
  }
};
const Registered<StrategyKind> highest_first({.name = "highest first",
                                              .place = 90,
                                              .what = "each setting once, from the highest down",
                                              .make =
                                                  [](StrategyRequest request) -> std::unique_ptr<Strategy> {
                                                return std::make_unique<HighestFirst>(request);
                                              }});

TEST(ExampleStrategy, IsNamedByAnExperimentAndRun) {
  const Machine machine = [](double x, int) { return board(x, 5); };
  Night night(5, "search: highest first\nconditions: {idle: none, references: false}\n");
  night.run(machine);
  std::vector<double> order;
  for (const FinishedTrial& trial : night.history_.trials())
    order.push_back(*night.plan_.points[static_cast<std::size_t>(trial.point)].values.front()->number);
  EXPECT_EQ(order, (std::vector<double>{5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace dvfs_plan
