// What SQL, JSON, the terminal and the summary say of one night is the same answer, on nights that are made
// up at random: unbalanced, constrained, with trials that do not count, per unit, confirmed, searched.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "experiments/plan/diagnostics.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/long_ones.hpp"
#include "results/report/report.hpp"
#include "results/store/parts.hpp"
#include "results/store/store.hpp"
#include "tests/support/parse.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::json;

struct NightShape {
  int clocks = 4, parameters = 1, blocks = 3;
  std::string objective;  // of the experiment file
  bool adaptive = false, per_unit = false;
  double excluded = 0, unknown_energy = 0, missing = 0, disturbed = 0;  // shares of trials
  double idle = 0;                                                      // of those that do no unit of work
  int machines = 1;               // each runs the plan, and the results are joined
  int most_runs = 1, copies = 1;  // of a trial; at once
};

class RandomNight {
 public:
  explicit RandomNight(std::uint64_t seed) : random_(seed), seed_(seed) {
    shape_.clocks = 1 + whole(6);
    shape_.parameters = 1 + whole(2);
    shape_.blocks = 1 + whole(5);
    shape_.per_unit = chance(0.3);
    shape_.adaptive = shape_.clocks > 1 && chance(0.05);  // a model is fitted: it takes longer
    for (double* share : {&shape_.excluded, &shape_.unknown_energy, &shape_.missing, &shape_.disturbed})
      *share = chance(0.5) ? 0 : 0.4 * unit_(random_);
    if (shape_.per_unit && chance(0.5)) shape_.idle = 0.4 * unit_(random_);
    if (!shape_.adaptive && chance(0.2)) shape_.machines = 2 + whole(2);
    if (!shape_.per_unit && chance(0.4)) {
      shape_.most_runs = 3;  // as with `at least`
      shape_.copies = 1 + whole(2);
    }
    const std::string minimise =
        std::vector<std::string>{"energy", "time", "edp", "ed2p"}[static_cast<std::size_t>(whole(4))];
    std::string rules;
    if (chance(0.4)) rules += fmt::format("slowdown: {} %", 5 * whole(12));
    if (chance(0.2)) rules += fmt::format("{}power: \"<= {} W\"", rules.empty() ? "" : ", ", 60 + whole(80));
    if (chance(0.2)) rules += fmt::format("{}accuracy: \">= 0.7\"", rules.empty() ? "" : ", ");
    shape_.objective = fmt::format("{{minimise: {}{}{}}}", minimise, shape_.per_unit ? ", per: samples" : "",
                                   rules.empty() ? "" : ", subject to: {" + rules + "}");
  }

  Plan plan() const {
    Diagnostics diagnostics("night.yaml");
    const auto experiment = parse_experiment(
        fmt::format("name: night\nworkloads: [{{name: w, command: [/bin/true{}], metrics: [lines]}}]\n"
                    "axes: {{cpu.frequency: all{}}}\n{}\nseed: {}\nconditions: {{idle: none, warm up: 0}}\n"
                    "objective: {}\n",
                    shape_.parameters > 1 ? ", \"{n}\"" : "", shape_.parameters > 1 ? ", n: [1, 2]" : "",
                    shape_.adaptive ? "search: {method: adaptive, at most: 12 trials}"
                                    : fmt::format("repeat: {}", shape_.blocks),
                    seed_, shape_.objective),
        "night.yaml", diagnostics);
    if (!experiment) throw std::runtime_error(diagnostics.text());
    ResolveWorld world;
    world.path = "/bin";
    AxisOffer offer;
    offer.dimension = Dimension::frequency;
    for (int i = 0; i < shape_.clocks; ++i) {
      const double ghz = 1 + 0.4 * i;
      offer.values.push_back({fmt::format("{:g} GHz", ghz), ghz * 1e9});
    }
    world.offers.offers["cpu.frequency"] = offer;
    auto plan = resolve_plan(*experiment, world, diagnostics);
    if (!plan) throw std::runtime_error(diagnostics.text());
    return std::move(*plan);
  }

  // An adaptive search plans no blocks: some points, as one might have chosen them.
  std::vector<PlannedTrial> trials(const Plan& plan) {
    if (!shape_.adaptive) return plan.trials;
    std::vector<PlannedTrial> trials;
    const int points = static_cast<int>(plan.points.size());
    for (int i = 0; i < 10; ++i) {
      const int point = i < points ? i : whole(points);
      const bool reference = plan.points[static_cast<std::size_t>(point)].reference;
      const TrialRole role = reference ? TrialRole::reference_first : TrialRole::point;
      trials.push_back(
          planned_trial(plan.points[static_cast<std::size_t>(point)], {point, 1, role, i + 1}, i + 1));
    }
    return trials;
  }

  int machines() const { return shape_.machines; }

  void run(Store& store, const Plan& plan) {
    machine_ = 1 + 0.2 * unit_(random_);
    int number = 0;
    for (const PlannedTrial& planned : trials(plan)) {
      if (chance(shape_.missing)) continue;
      TrialRecord trial = measured(plan, planned, ++number);
      store.write_trial(trial);
      if (trial.verdict != Verdict::foreign_load || chance(0.3)) continue;
      PlannedTrial again = planned;
      again.attempt = 2;
      again.key = trial_key(plan.points[static_cast<std::size_t>(planned.point)], again);
      TrialRecord rerun = measured(plan, again, ++number);
      store.write_trial(rerun);
    }
  }

 private:
  TrialRecord measured(const Plan& plan, const PlannedTrial& planned, int number) {
    const auto& values = plan.points[static_cast<std::size_t>(planned.point)].values;
    const double ghz = *values.front()->number / 1e9;
    const double level =
        machine_ * (1 + 0.1 * planned.block);  // blocks differ: what is unbalanced needs it taken out
    // In steps, so that some points are equal.
    const auto scatter = [&] { return 1 + 0.01 * whole(3); };
    TrialRecord t;
    static_cast<PlannedTrial&>(t) = planned;
    t.position = number;
    t.started_at = "2026-01-01T00:00:00.000Z";
    t.child.end = ChildResult::End::exited;
    t.child.started = number * 10 * s;
    const int runs = 1 + whole(shape_.most_runs);
    const double seconds = runs * level * scatter() * 2 / ghz;
    t.child.ended = t.child.started + nanoseconds(Seconds{seconds});
    t.runs.assign(static_cast<std::size_t>(runs * shape_.copies), {t.child.started, t.child.ended});
    for (int run = 1; shape_.copies > 1 && run <= runs * shape_.copies; ++run) {
      InstanceRecord one;
      one.run = run;
      one.instance = 1 + (run - 1) % shape_.copies;
      one.workload = "w";
      t.instances.push_back(one);
    }
    if (shape_.copies > 1) t.units = runs * shape_.copies;  // that do the same work
    t.regions = {{"", 1, t.child.started, t.child.ended, true, {}}};
    t.region_s = seconds;
    t.verdict = chance(shape_.disturbed)  ? Verdict::foreign_load
                : chance(shape_.excluded) ? Verdict::sensor_gap
                                          : Verdict::ok;
    const double watts = (30 + 12 * ghz * ghz) * scatter();
    if (!chance(shape_.unknown_energy)) {
      t.energy_j = watts * seconds;
      t.energy_half_width_j = 0.01 * *t.energy_j;
      t.energy_systematic_j = 0.005 * *t.energy_j;
    }
    t.fresh_readings = 20;
    if (shape_.per_unit) t.units = chance(shape_.idle) ? 0 : 100.0 * (1 + whole(2));
    t.metrics = {{"samples", t.units.value_or(1), ""}, {"accuracy", 0.6 + 0.05 * whole(5), ""}};
    const bool useless = t.units == 0.0;
    const double share = useless ? 1 : 1 / t.units.value_or(runs);
    const auto& objective = plan.experiment.objective.minimise;
    const double e = t.energy_j.value_or(0) * share, d = seconds * share;
    if (useless)
      t.objective = std::nullopt;
    else if (objective == Objective::time)
      t.objective = d;
    else if (t.energy_j)
      t.objective = objective == Objective::energy ? e : objective == Objective::edp ? e * d : e * d * d;
    t.conditions.temperature_c = 40 + whole(5);
    if (chance(0.1)) {
      SettingRecord setting{0, "policy0", "1 GHz", "1 GHz", 9e8, 9e8, 9e8, 5, false, {}};
      t.settings.push_back(setting);
    }
    return t;
  }

  int whole(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  bool chance(double p) { return unit_(random_) < p; }

  std::mt19937_64 random_;
  std::uint64_t seed_;
  std::uniform_real_distribution<double> unit_{0, 1};
  NightShape shape_;
  double machine_ = 1;  // how much longer all takes on this one
};

std::optional<double> mean_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->mean) : std::nullopt;
}
std::optional<double> half_of(const std::optional<Estimate>& estimate) {
  return estimate ? estimate->half_width : std::nullopt;
}
std::optional<double> number(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

void expect_points(Store& store, const ScenarioSummary& scenario, const Json& json) {
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const PointSummary& point = scenario.points[i];
    const Json& told = json["points"][i];
    Statement view = store.database().prepare(
        "SELECT trials, counted, energy_j, energy_half_width_j, time_s, time_half_width_s, mean_power_w, "
        "objective_value, "
        "objective_half_width, edp, ed2p, saving, saving_low, saving_high, slowdown, slowdown_high, "
        "gain_low, feasible, "
        "not_told_apart, on_pareto_front, energy_per_unit_j FROM points WHERE point = ?");
    view.bind(point.point);
    ASSERT_TRUE(view.step()) << point.point;
    EXPECT_EQ(view.integer(0), point.trials);
    EXPECT_EQ(view.integer(1), point.counted);
    EXPECT_EQ(told["counted"], point.counted);
    const std::pair<int, std::optional<double>> all[] = {
        {2, mean_of(point.energy)},
        {3, half_of(point.energy)},
        {4, mean_of(point.time)},
        {5, half_of(point.time)},
        {6, mean_of(point.power)},
        {7, mean_of(point.objective)},
        {8, half_of(point.objective)},
        {9, mean_of(point.edp)},
        {10, mean_of(point.ed2p)},
        {11, point.saving ? std::optional(point.saving->value) : std::nullopt},
        {12, point.saving ? point.saving->low : std::nullopt},
        {13, point.saving ? point.saving->high : std::nullopt},
        {14, point.slowdown ? std::optional(point.slowdown->value) : std::nullopt},
        {15, point.slowdown ? point.slowdown->high : std::nullopt},
        {16, point.gain ? point.gain->low : std::nullopt},
        {20, mean_of(point.energy_per_unit)}};
    for (const auto& [column, value] : all)
      EXPECT_EQ(view.maybe_real(column), value) << point.point << " " << column;
    const auto known = [&](int column) {
      return view.is_null(column) ? Json(nullptr) : Json(view.integer(column) != 0);
    };
    EXPECT_EQ(known(17), told["feasible"]) << point.point;
    EXPECT_EQ(known(18), told["not_told_apart_from_best"]) << point.point;
    EXPECT_EQ(known(19), told["on_pareto_front"]) << point.point;
    if (!view.is_null(17)) {
      EXPECT_EQ(view.integer(17) != 0, point.feasible);
    }
    // Of what nothing is known, JSON knows neither.
    if (point.objective)
      EXPECT_EQ(told["not_told_apart_from_best"], point.not_told_apart);
    else
      EXPECT_TRUE(told["not_told_apart_from_best"].is_null());
    const auto of = [&](const char* what, const char* part) {
      return told[what].is_null() ? std::nullopt : number(told[what][part]);
    };
    EXPECT_EQ(of("energy_j", "mean"), view.maybe_real(2));
    EXPECT_EQ(of("saving", "low_95"), view.maybe_real(12));
    EXPECT_FALSE(view.step());
  }
}

void expect_constraints(Store& store, const ScenarioSummary& scenario) {
  for (const PointSummary& point : scenario.points) {
    for (const ConstraintCheck& check : point.constraints) {
      Statement rule = store.database().prepare(
          "SELECT value, holds, certain FROM point_constraints WHERE point = ? AND text = ?");
      rule.bind(point.point).bind(check.text);
      ASSERT_TRUE(rule.step());
      EXPECT_EQ(rule.maybe_real(0), check.value);
      EXPECT_EQ(rule.maybe_integer(1),
                check.holds ? std::optional<std::int64_t>(*check.holds) : std::nullopt);
      EXPECT_EQ(rule.maybe_integer(2),
                check.certain ? std::optional<std::int64_t>(*check.certain) : std::nullopt);
    }
  }
}

void expect_drift(Store& store, const ScenarioSummary& scenario) {
  Statement drift =
      store.database().prepare("SELECT block, change, flagged FROM drift WHERE scenario = ? ORDER BY block");
  drift.bind(scenario.scenario);
  for (const BlockDrift& one : scenario.drift) {
    ASSERT_TRUE(drift.step());
    EXPECT_EQ(drift.integer(0), one.block);
    EXPECT_EQ(drift.maybe_real(1), one.change);
    EXPECT_EQ(drift.integer(2) != 0, one.flagged);
  }
  EXPECT_FALSE(drift.step());
}

void expect_answer(Store& store, const ScenarioSummary& scenario, const Json& json,
                   const std::string& terminal) {
  Statement best = store.database().prepare(
      "SELECT point, gain, gain_low, gain_high, chosen_among, energy_j FROM best WHERE scenario = ?");
  best.bind(scenario.scenario);
  const bool named = best.step();
  ASSERT_EQ(named, scenario.best.has_value());
  ASSERT_EQ(json["best"].is_null(), !named);
  const std::string sentence = scenario.scenario + ": the least ";
  EXPECT_EQ(terminal.find(sentence) != std::string::npos, named) << terminal;
  if (!named) return;
  const PointSummary& point = scenario.points[*scenario.best];
  EXPECT_EQ(best.text(0), point.point);
  EXPECT_EQ(json["best"], point.point);
  EXPECT_NE(terminal.find(settings_text(point), terminal.find(sentence)), std::string::npos);
  const auto& gain = scenario.gain_of_best;
  EXPECT_EQ(best.maybe_real(1), gain ? std::optional(gain->value) : std::nullopt);
  EXPECT_EQ(best.maybe_real(2), gain ? gain->low : std::nullopt);
  EXPECT_EQ(best.maybe_real(3), gain ? gain->high : std::nullopt);
  EXPECT_EQ(best.integer(4), scenario.chosen_among);
  const Json& told = json["gain_of_best"];
  EXPECT_EQ(told.is_null() ? std::nullopt : number(told["value"]), best.maybe_real(1));
  EXPECT_EQ(told.is_null() ? std::nullopt : number(told["low_95"]), best.maybe_real(2));
  // The sentence says the same, rounded.
  const std::string less =
      gain && gain->low && *gain->low > 0 ? fmt::format("{:.1f} % less", 100 * gain->value) : "";
  EXPECT_NE(terminal.find(less, terminal.find(sentence)), std::string::npos);
  EXPECT_EQ(best.maybe_real(5), mean_of(point.energy));
}

// By nothing but the rows: where all points have counted in the same blocks, nothing is to be kept and no
// model speaks, the best is the one with the least mean.
void expect_least_mean(Store& store, const ScenarioSummary& scenario) {
  if (!scenario.balanced || scenario.search || !store.experiment().objective.constraints.empty()) return;
  // Rows alone do not tell that a setting's trials were chosen by their length: of them the report counts none, or no energy.
  const std::vector<TrialRow> trials = store.trials();
  LongOnes long_ones(trials);
  if (std::any_of(trials.begin(), trials.end(),
                  [&](const TrialRow& trial) { return long_ones.of(trial) != &trial; }))
    return;
  // Per unit of work, or run, it is what all trials used by what they did.
  const ObjectiveSpec& objective = scenario.objective;
  Statement most = store.database().prepare("SELECT max(runs) FROM trials WHERE counts AND scenario = ?");
  most.bind(scenario.scenario);
  const bool by_work = !objective.per.empty() || (most.step() && most.integer(0) > 1);
  std::string mean = "avg(objective_value)";
  if (scenario.nodes && by_work) return;
  if (by_work) {
    if (objective.minimise != Objective::energy && objective.minimise != Objective::time) return;
    const char* const used = objective.minimise == Objective::energy ? "energy_j" : "time_s";
    mean = fmt::format("sum({0} * runs) / sum({1}) FILTER (WHERE {0} IS NOT NULL)", used,
                       objective.per.empty() ? "coalesce(units, runs)" : "units");
  }
  // A machine's trials are no repetitions of a machine of its type: the mean is of theirs.
  Statement least = store.database().prepare(fmt::format(
      "SELECT avg(mean) AS all_machines FROM (SELECT point, {} AS mean FROM trials WHERE counts AND scenario "
      "= ? GROUP BY point, node HAVING mean IS NOT NULL) GROUP BY point ORDER BY all_machines LIMIT 1",
      mean));
  least.bind(scenario.scenario);
  ASSERT_EQ(least.step(), scenario.best.has_value());
  if (!scenario.best) return;
  EXPECT_NEAR(scenario.points[*scenario.best].objective->mean, least.real(0), 1e-9 * least.real(0));
}

// A slowdown is the mean, over the blocks that a point shares with the reference, of what view block_times says; of several machines the
// mean of theirs (where a machine lacks trials, by its levels).
void expect_slowdowns(Store& store, const ScenarioSummary& scenario) {
  if (scenario.nodes && !scenario.balanced) return;
  Statement lacking = store.database().prepare(
      "SELECT 1 FROM (SELECT point, count(*) AS trials FROM trials WHERE counts AND scenario = ? GROUP BY "
      "point, "
      "block) GROUP BY point HAVING min(trials) < max(trials)");
  lacking.bind(scenario.scenario);
  if (scenario.nodes && lacking.step()) return;
  Statement paired = store.database().prepare(
      "SELECT exp(avg(ratio)) - 1, sum(blocks) FROM ("
      "SELECT avg(mine.log_time - other.log_time) AS ratio, count(*) AS blocks FROM block_times mine "
      "JOIN block_times other ON other.scenario = mine.scenario AND other.block = mine.block AND "
      "other.is_reference JOIN (SELECT DISTINCT block, node FROM trials) USING (block) "
      "WHERE mine.point = ? GROUP BY node)");
  for (const PointSummary& point : scenario.points) {
    if (point.is_reference || !point.slowdown || scenario.search) continue;
    paired.reset();
    paired.bind(point.point);
    ASSERT_TRUE(paired.step());
    EXPECT_NEAR(paired.real(0), point.slowdown->value, 1e-9) << point.point;
    EXPECT_GT(paired.integer(1), 0);
  }
}

class OneAnswer : public testing::Test {
 protected:
  Store create(const Plan& plan) {
    const std::string path = folder_ / fmt::format("night{}.sqlite", ++nights_);
    Store store =
        Store::create(path, plan, {gauge()}, {"system", "test", "2026-01-01T00:00:00Z", {{"host", "h"}}}, {});
    store.database().execute("PRAGMA synchronous = OFF");
    store.begin_session(nights_, "boot", "test", "now");  // who made a file is known by its process
    return store;
  }
  // Of one machine, or joined of several.
  Store result_of(RandomNight& night, const Plan& plan) {
    Store store = create(plan);
    if (night.machines() == 1) {
      night.run(store, plan);
      return store;
    }
    PartTaker taker(store);
    for (int i = 0; i < night.machines(); ++i) {
      Store own = create(plan);
      night.run(own, plan);
      own.end_session("done", "later", {});
      taker.take_result(own, fmt::format("n{}", i));
    }
    taker.settle();
    return store;
  }
  TemporaryFolder folder_;
  int nights_ = 0;
};

TEST_F(OneAnswer, IsGivenBySqlJsonAndTheTerminalOnRandomNights) {
  const char* thorough = std::getenv("DVFS_PLAN_LONG");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int many = 100;
#else
  constexpr int many = 3000;
#endif
  const int nights = thorough != nullptr && *thorough != '\0' ? many : 100;
  int named = 0, unnamed = 0, unbalanced = 0, constrained = 0, searched = 0, joined = 0;
  for (int seed = 1; seed <= nights && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomNight night(static_cast<std::uint64_t>(seed));
    const Plan plan = night.plan();
    Store store = result_of(night, plan);
    EXPECT_FALSE(store.is_concluded());
    conclude(store);
    EXPECT_TRUE(store.is_concluded());
    const auto trials = store.trials();
    const Summary summary = summary_of(store);
    const std::string terminal = terminal_report(summary, trials, {});
    const Json json = Json::parse(json_report(store, summary, trials));
    for (std::size_t i = 0; i < summary.scenarios.size(); ++i) {
      const ScenarioSummary& scenario = summary.scenarios[i];
      expect_points(store, scenario, json["scenarios"][i]);
      expect_constraints(store, scenario);
      expect_drift(store, scenario);
      expect_answer(store, scenario, json["scenarios"][i], terminal);
      expect_least_mean(store, scenario);
      expect_slowdowns(store, scenario);
      ++(scenario.best ? named : unnamed);
      unbalanced += scenario.balanced ? 0 : 1;
      searched += scenario.search ? 1 : 0;
      joined += scenario.nodes ? 1 : 0;
      constrained += summary.experiment.objective.constraints.empty() ? 0 : 1;
    }
  }
  // All kinds occurred.
  for (const int kind : {named, unnamed, unbalanced, constrained, searched, joined})
    EXPECT_GT(kind, nights / 100);
}

// Two engines once gave two answers: SQL averaged what the report first levelled.
TEST_F(OneAnswer, OfAPointWhoseDearBlockDoesNotCount) {
  Diagnostics diagnostics("x.yaml");
  const auto parsed = parse_experiment(
      "name: night\nworkloads: [{name: w, command: [/bin/true]}]\naxes: {cpu.frequency: all}\nrepeat: 2\n"
      "conditions: {idle: none, references: no, warm up: 0}\n",
      "x.yaml", diagnostics);
  ASSERT_TRUE(parsed) << diagnostics.text();
  ResolveWorld world;
  world.path = "/bin";
  world.offers.offers["cpu.frequency"] = {Dimension::frequency, {{"1 GHz", 1e9}, {"2 GHz", 2e9}}, {}};
  const Plan plan = *resolve_plan(*parsed, world, diagnostics);
  Store store = create(plan);
  int number = 0;
  for (const auto& [point, block, joules, verdict] : {std::tuple{0, 1, 100.0, Verdict::ok},
                                                      {1, 1, 105.0, Verdict::ok},
                                                      {0, 2, 120.0, Verdict::ok},
                                                      {1, 2, 126.0, Verdict::sensor_gap}}) {
    TrialRecord t;
    t.key = fmt::format("{} #{}", plan.points[static_cast<std::size_t>(point)].key, block);
    t.point = point;
    t.block = block;
    t.position = ++number;
    t.started_at = "2026-01-01T00:00:00.000Z";
    t.child.end = ChildResult::End::exited;
    t.child.started = number * s;
    t.child.ended = (number + 1) * s;
    t.runs = {{t.child.started, t.child.ended}};
    t.region_s = 1;
    t.energy_j = t.objective = joules;
    t.verdict = verdict;
    store.write_trial(t);
  }
  conclude(store);
  const Summary summary = summary_of(store);
  const auto& scenario = summary.scenarios.at(0);
  ASSERT_TRUE(scenario.best);
  EXPECT_EQ(scenario.points[*scenario.best].point, "w cpu.frequency=1 GHz");
  Statement best = store.database().prepare("SELECT point FROM best");
  ASSERT_TRUE(best.step());
  EXPECT_EQ(best.text(0), "w cpu.frequency=1 GHz");
}

TEST_F(OneAnswer, OfAnUnfinishedNightIsMarkedAsSuch) {
  RandomNight night(3);
  const Plan plan = night.plan();
  Store store = create(plan);
  night.run(store, plan);
  conclude(store);
  const auto concluded = [&] {
    Statement s = store.database().prepare("SELECT concluded FROM experiments");
    return s.step() && s.integer(0) == 1;
  };
  EXPECT_TRUE(concluded());
  store.database().execute("DELETE FROM conclusion");
  EXPECT_FALSE(concluded());
}

}  // namespace
}  // namespace dvfs_plan
