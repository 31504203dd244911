#include <fmt/format.h>
#include "results/store/conclusions.hpp"
#include "results/store/digest.hpp"

#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

// Those of rechecks are apart.
constexpr const char* trials_of_the_night =
    "SELECT count(*) FROM trial WHERE session_id IN (SELECT id FROM session WHERE NOT recheck)";

constexpr const char* id_of_point = "(SELECT id FROM point WHERE key = ?)";

std::optional<int> flag(const std::optional<bool>& value) {
  return value ? std::optional(*value ? 1 : 0) : std::nullopt;
}

void write_points(Database& database, const Conclusions::Scenario& scenario) {
  const std::string id = id_of_point;
  Statement point = database.prepare(
      "INSERT INTO point_answer (point_id, trials, counted, delivered_instead, feasible, not_told_apart, "
      "on_pareto_front) VALUES (" +
      id + ",?,?,?,?,?,?)");
  Statement quantity = database.prepare(
      "INSERT INTO point_quantity (point_id, quantity, mean, half_width, n, sensor_half_width) VALUES (" +
      id + ",?,?,?,?,?)");
  Statement change = database.prepare(
      "INSERT INTO point_change (point_id, change, value, low, high, pairs) VALUES (" + id + ",?,?,?,?,?)");
  Statement constraint = database.prepare(
      "INSERT INTO constraint_answer (point_id, constraint_id, value, holds, certain) VALUES (" + id +
      ",(SELECT r.id FROM constraint_rule r, point p JOIN workload w ON w.id = p.workload_id WHERE p.key = ? "
      "AND "
      "(r.workload_id = w.id OR (r.workload_id IS NULL AND w.objective IS NULL)) ORDER BY r.id LIMIT 1 "
      "OFFSET ?),?,?,?)");
  for (const Conclusions::Point& one : scenario.points) {
    point.bind(one.key)
        .bind(one.trials)
        .bind(one.counted)
        .bind(one.delivered_instead.empty() ? std::nullopt : std::optional(one.delivered_instead))
        .bind(one.feasible ? 1 : 0)
        .bind(one.not_told_apart ? 1 : 0)
        .bind(one.on_pareto_front ? 1 : 0)
        .run();
    for (const Conclusions::Quantity& q : one.quantities)
      quantity.bind(one.key)
          .bind(q.name)
          .bind(q.mean)
          .bind(q.half_width)
          .bind(q.n)
          .bind(q.sensor_half_width)
          .run();
    for (const Conclusions::Change& c : one.changes)
      change.bind(one.key).bind(c.of).bind(c.value).bind(c.low).bind(c.high).bind(c.pairs).run();
    for (std::size_t i = 0; i < one.constraints.size(); ++i) {
      const Conclusions::Constraint& c = one.constraints[i];
      constraint.bind(one.key)
          .bind(one.key)
          .bind(static_cast<int>(i))
          .bind(c.value)
          .bind(flag(c.holds))
          .bind(flag(c.certain))
          .run();
    }
  }
}

void write_scenario(Database& database, const Conclusions::Scenario& scenario) {
  const std::string id = id_of_point;
  const auto gain = scenario.gain_of_best;
  database
      .prepare(
          "INSERT INTO answer (scenario, best_point_id, reference_point_id, best_edp_point_id, "
          "best_ed2p_point_id, fastest_point_id, gain, gain_low, gain_high, gain_corrected, "
          "gain_from_fresh_blocks, "
          "chosen_among, planned_points, unknown_points, trials, counted, drift_of_night, question) VALUES "
          "(?," +
          id + "," + id + "," + id + "," + id + "," + id + ",?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(scenario.scenario)
      .bind(scenario.best)
      .bind(scenario.reference)
      .bind(scenario.best_edp)
      .bind(scenario.best_ed2p)
      .bind(scenario.fastest_not_told_apart)
      .bind(gain ? std::optional(gain->value) : std::nullopt)
      .bind(gain ? gain->low : std::nullopt)
      .bind(gain ? gain->high : std::nullopt)
      .bind(gain ? std::optional(scenario.gain_corrected ? 1 : 0) : std::nullopt)
      .bind(gain ? std::optional(scenario.from_fresh_blocks ? 1 : 0) : std::nullopt)
      .bind(scenario.chosen_among)
      .bind(scenario.planned_points)
      .bind(scenario.unknown_points)
      .bind(scenario.trials)
      .bind(scenario.counted)
      .bind(scenario.drift_of_night)
      .bind(scenario.question)
      .run();
  Statement drift = database.prepare(
      "INSERT INTO block_drift (scenario, block, first_value, last_value, change, sensor_half_width, "
      "flagged, "
      "first_temperature_c, last_temperature_c) VALUES (?,?,?,?,?,?,?,?,?)");
  for (const Conclusions::Drift& one : scenario.drift)
    drift.bind(scenario.scenario)
        .bind(one.block)
        .bind(one.first_value)
        .bind(one.last_value)
        .bind(one.change)
        .bind(one.sensor_half_width)
        .bind(one.change ? std::optional(one.flagged ? 1 : 0) : std::nullopt)
        .bind(one.first_temperature_c)
        .bind(one.last_temperature_c)
        .run();
  write_points(database, scenario);
}

void write_searches(Database& database, const std::vector<SearchAnswer>& searches) {
  const std::string id = id_of_point;
  Statement answer = database.prepare(
      "INSERT INTO search_answer (scenario, best_point_id, bound, settings, settings_run, trials, "
      "of_all_trials) "
      "VALUES (?," +
      id + ",?,?,?,?,(" + trials_of_the_night + "))");
  Statement model = database.prepare(
      "INSERT INTO search_model (point_id, objective, low_95, high_95, probability_best) VALUES (" + id +
      ",?,?,?,?)");
  for (const SearchAnswer& one : searches) {
    answer.bind(one.scenario)
        .bind(one.best)
        .bind(one.bound)
        .bind(one.settings)
        .bind(one.settings_run)
        .bind(one.trials)
        .run();
    for (const SearchAnswer::Point& point : one.points)
      model.bind(point.point)
          .bind(point.objective)
          .bind(point.low)
          .bind(point.high)
          .bind(point.probability_best)
          .run();
  }
}

}  // namespace

void Store::put_conclusions(const Conclusions& conclusions) {
  for (const char* table : {"conclusion", "answer", "point_answer", "point_quantity", "point_change",
                            "constraint_answer", "block_drift", "search_model", "search_answer"})
    database_.execute(std::string("DELETE FROM ") + table);
  for (const Conclusions::Scenario& scenario : conclusions.scenarios) write_scenario(database_, scenario);
  write_searches(database_, conclusions.searches);
  database_.execute(
      fmt::format("INSERT INTO conclusion (id, of_all_trials) VALUES (1, ({}))", trials_of_the_night));
  seal_conclusions(database_);
}

void Store::write_conclusions(const Conclusions& conclusions) {
  Transaction transaction(database_);
  put_conclusions(conclusions);
  transaction.commit();
  into_copy([&](Store& copy) { copy.write_conclusions(conclusions); });
  remember_file();
}

bool Store::is_concluded() {
  Statement s =
      database_.prepare(fmt::format("SELECT of_all_trials = ({}) FROM conclusion", trials_of_the_night));
  return s.step() && s.integer(0) != 0 && conclusions_are_whole(database_);
}

}  // namespace dvfs_plan
