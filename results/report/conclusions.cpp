#include "results/report/conclusions.hpp"

#include "results/report/question_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "results/report/report.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {
namespace {

// "gpu.core 1395 MHz in 2 trials, gpu.memory 2619 to 3201 MHz"; empty: as requested.
std::string delivered_text(const PointSummary& point) {
  constexpr double spread = 0.01;
  std::string text;
  for (const auto& [axis, one] : point.delivered_instead) {
    if (!text.empty()) text += ", ";
    text += axis + " ";
    text += one.high_hz - one.low_hz <= spread * one.high_hz
                ? fmt::format("{:.0f} MHz", (one.low_hz + one.high_hz) / 2e6)
                : fmt::format("{:.0f} to {:.0f} MHz", one.low_hz / 1e6, one.high_hz / 1e6);
    if (one.trials < one.of) text += fmt::format(" in {} trials", one.trials);
  }
  return text;
}

Conclusions::Point concluded(const PointSummary& point, bool per_unit) {
  Conclusions::Point row;
  row.key = point.point;
  row.trials = point.trials;
  row.counted = point.counted;
  row.delivered_instead = delivered_text(point);
  row.feasible = point.feasible;
  row.not_told_apart = point.not_told_apart;
  row.on_pareto_front = point.on_pareto_front;
  const auto quantity = [&](const char* name, const std::optional<Estimate>& estimate) {
    if (estimate && std::isfinite(estimate->mean))
      row.quantities.push_back(
          {name, estimate->mean, estimate->half_width, estimate->n, estimate->sensor_half_width});
  };
  quantity("energy_j", point.energy);
  quantity("above_idle_j", point.above_idle);
  quantity("time_s", point.time);
  quantity("mean_power_w", point.power);
  quantity("energy_per_unit_j", point.energy_per_unit);
  if (per_unit) quantity("time_per_unit_s", point.work_time);
  quantity("objective_value", point.objective);
  quantity("edp", point.edp);
  quantity("ed2p", point.ed2p);
  const auto change = [&](const char* name, const std::optional<Change>& one) {
    if (one && std::isfinite(one->value))
      row.changes.push_back({name, one->value, one->low, one->high, one->pairs});
  };
  change("saving", point.saving);
  change("slowdown", point.slowdown);
  change("gain", point.gain);
  for (const ConstraintCheck& check : point.constraints)
    row.constraints.push_back({check.value, check.holds, check.certain});
  return row;
}

Conclusions::Scenario concluded(const ScenarioSummary& scenario, bool per_unit) {
  Conclusions::Scenario row;
  const auto key = [&](const std::optional<std::size_t>& index) {
    return index ? std::optional(scenario.points[*index].point) : std::nullopt;
  };
  row.scenario = scenario.scenario;
  row.best = key(scenario.best);
  row.reference = key(scenario.reference);
  row.best_edp = key(scenario.best_edp);
  row.best_ed2p = key(scenario.best_ed2p);
  row.fastest_not_told_apart = key(scenario.fastest_not_told_apart);
  if (const auto& gain = scenario.gain_of_best)
    row.gain_of_best = Conclusions::Change{"gain", gain->value, gain->low, gain->high, gain->pairs};
  row.gain_corrected = scenario.gain_corrected;
  row.from_fresh_blocks = scenario.from_fresh_blocks;
  row.chosen_among = scenario.chosen_among;
  row.planned_points = scenario.planned_points;
  row.unknown_points = scenario.unknown_points;
  row.trials = scenario.trials;
  row.counted = scenario.counted;
  row.drift_of_night = scenario.drift_of_night;
  row.question = question_text(scenario);
  for (const PointSummary& point : scenario.points) row.points.push_back(concluded(point, per_unit));
  for (const BlockDrift& one : scenario.drift)
    row.drift.push_back({one.block, one.first_value, one.last_value, one.change, one.sensor_half_width,
                         one.first_temperature_c, one.last_temperature_c, one.flagged});
  return row;
}

}  // namespace

Conclusions conclusions_of(const Summary& summary) {
  Conclusions conclusions;
  for (const ScenarioSummary& scenario : summary.scenarios)
    conclusions.scenarios.push_back(concluded(scenario, counts_units(scenario)));
  conclusions.searches = search_answers(summary);
  return conclusions;
}

void conclude(Store& store) {
  store.write_conclusions(conclusions_of(summary_of(store)));
}

std::string conclude_for_reading(Store& store) {
  std::string damaged = store.damaged_text();
  // What was concluded of trials as they were before they were damaged is of others than a report counts.
  if (store.is_concluded() && damaged.empty()) return damaged;
  store.go_on_in_private_copy();
  conclude(store);
  return damaged;
}

}  // namespace dvfs_plan
