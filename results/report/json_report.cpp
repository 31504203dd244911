// The report as JSON: what `--json` prints and the page is made from.
#include "results/report/json_report.hpp"
#include "results/report/question_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "results/report/amounts.hpp"
#include "results/report/cells.hpp"
#include "results/report/json_values.hpp"
#include "results/report/overview.hpp"
#include "results/report/saved_joules.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::optional<Estimate>& value) {
  if (!value) return nullptr;
  const auto known = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  return {{"mean", value->mean},
          {"median", value->median},
          {"n", value->n},
          {"standard_deviation", known(value->standard_deviation)},
          {"mad", known(value->mad)},
          {"half_width_95", known(value->half_width)},
          {"sensor_half_width_95", known(value->sensor_half_width)},
          {"systematic_half_width_95",
           known(value->sensor_half_width ? std::optional(value->systematic_half_width) : std::nullopt)}};
}

Json to_json(const std::optional<Change>& change) {
  if (!change) return nullptr;
  Json json{{"value", change->value}, {"pairs", change->pairs}};
  json["low_95"] = change->low ? Json(*change->low) : Json(nullptr);
  json["high_95"] = change->high ? Json(*change->high) : Json(nullptr);
  return json;
}

// null: that all constraints hold is not known, and that one does not is not either.
Json feasible_json(const PointSummary& point) {
  const auto any = [&](std::optional<bool> holds) {
    return std::any_of(point.constraints.begin(), point.constraints.end(),
                       [&](const ConstraintCheck& check) { return check.holds == holds; });
  };
  if (any(false)) return false;
  return any(std::nullopt) || (point.counted == 0 && !point.more_than) ? Json(nullptr) : Json(true);
}

Json settings_json(const std::vector<AxisSetting>& settings) {
  Json json = Json::object();
  for (const AxisSetting& setting : settings) json[setting.axis] = setting.text;
  return json;
}

// The same as numbers, SI units; null where it is a word.
Json values_json(const std::vector<AxisSetting>& settings) {
  Json json = Json::object();
  for (const AxisSetting& setting : settings) json[setting.axis] = or_null(setting.number);
  return json;
}

Json delivered_json(const PointSummary& point) {
  Json json = Json::object();
  for (const auto& [axis, instead] : point.delivered_instead)
    json[axis] = {{"low_hz", instead.low_hz},
                  {"high_hz", instead.high_hz},
                  {"trials", instead.trials},
                  {"of", instead.of}};
  return json;
}

Json point_json(const PointSummary& point) {
  Json json{
      {"point", point.point},
      {"called", settings_text(point)},
      {"workload", point.workload},
      {"settings", settings_json(point.settings)},
      {"values", values_json(point.settings)},
      {"delivered_instead", delivered_json(point)},
      {"power_cap_share", or_null(point.power_cap_share)},
      {"power_limit_w", or_null(point.power_limit_w)},
      {"reference", point.is_reference},
      {"trials", point.trials},
      {"counted", point.counted},
      {"not_counted", point.not_counted},
      {"energy_j", to_json(point.energy)},
      {"above_idle_j", to_json(point.above_idle)},
      {"energy_per_unit_j", to_json(point.energy_per_unit)},
      {"time_s", to_json(point.time)},
      {"mean_power_w", to_json(point.power)},
      {"objective", to_json(point.objective)},
      {"work_energy_j", to_json(point.work_energy)},
      {"work_time_s", to_json(point.work_time)},
      {"energy_level_j", or_null(point.energy_level)},
      {"time_level_s", or_null(point.time_level)},
      {"edp_js", to_json(point.edp)},
      {"ed2p_js2", to_json(point.ed2p)},
      {"saving", to_json(point.saving)},
      {"slowdown", to_json(point.slowdown)},
      {"gain", to_json(point.gain)},
      {"feasible", feasible_json(point)},
      {"not_told_apart_from_best",
       point.objective || point.not_told_apart ? Json(point.not_told_apart) : Json(nullptr)},
      {"on_pareto_front", point.work_energy && point.work_time ? Json(point.on_pareto_front) : Json(nullptr)},
      {"outliers", point.outliers}};
  json["metrics"] = Json::object();
  for (const auto& [name, metric] : point.metrics) {
    Json one = to_json(std::optional(metric.value));
    one["unit"] = metric.unit;
    one["told_in"] = metric.trials;
    if (metric.count_low) {
      one["count"] = metric.count;
      one["count_of"] = metric.count_of;
      one["count_low_95"] = *metric.count_low;
      one["count_high_95"] = *metric.count_high;
    }
    json["metrics"][name] = one;
  }
  if (!point.joules_of_boards.empty()) {
    for (const auto& [domain, joules] : point.joules_of_boards)
      json["boards_j"][domain] = to_json(std::optional(joules));
  }
  if (!point.instances.empty()) {
    json["all_running_share"] = to_json(point.all_running_share);
    for (const InstanceSummary& one : point.instances)
      json["instances"].push_back({{"name", one.name},
                                   {"workload", one.workload},
                                   {"time_s", to_json(one.time)},
                                   {"slowdown", to_json(one.slowdown)}});
  }
  if (point.censored > 0) {
    json["censored"] = point.censored;
    json["objective_more_than"] = or_null(point.more_than);
  }
  json["constraints"] = Json::array();
  for (const ConstraintCheck& check : point.constraints) {
    json["constraints"].push_back({{"constraint", check.text},
                                   {"name", check.name},
                                   {"value", or_null(check.value)},
                                   {"unit", check.unit.empty() ? Json(nullptr) : Json(check.unit)},
                                   {"holds", or_null(check.holds)},
                                   {"certain", or_null(check.certain)}});
    if (!check.why_not.empty()) json["constraints"].back()["why_not_known"] = check.why_not;
  }
  return json;
}

Json search_json(const SearchSummary& search) {
  Json json{{"method", search.rule.method},
            {"regret_asked_for", search.rule.regret},
            {"confidence", search.rule.confidence},
            {"at_most", or_null(search.rule.at_most)},
            {"best", or_null(search.best)},
            {"bound", search.best && std::isfinite(search.bound) ? Json(search.bound) : Json(nullptr)},
            {"constraints_hold", search.constraints_hold},
            {"settings", search.points.size()},
            {"settings_run", search.settings_run},
            {"settings_that_cannot_be_run", search.hopeless},
            {"trials", search.trials},
            {"next_best", or_null(search.next_best)},
            {"learnt_from_other_scenarios", search.shared},
            {"used_prior", search.used_prior},
            {"doubtful", search.doubtful}};
  if (!search.on_nodes.empty()) {
    json["on_nodes"] = Json::array();
    for (const auto& [node, own] : search.on_nodes)
      json["on_nodes"].push_back({{"node", node},
                                  {"best", own.best},
                                  {"bound", std::isfinite(own.bound) ? Json(own.bound) : Json(nullptr)}});
  }
  // Without repetitions nothing tells how trials scatter.
  const auto where_known = [&](double value) { return search.scatter_known ? Json(value) : Json(nullptr); };
  json["model"] = Json::array();
  for (const SearchPoint& point : search.points) {
    json["model"].push_back(
        {{"point", point.point},
         {"settings", settings_json(point.settings)},
         {"values", values_json(point.settings)},
         {"run", point.run},
         {"objective", point.objective.median},
         {"low_95", where_known(point.objective.low)},
         {"high_95", where_known(point.objective.high)},
         {"probability_best", where_known(point.objective.probability_best)},
         {"not_told_apart_from_best", search.scatter_known ? Json(point.not_told_apart) : Json(nullptr)}});
  }
  return json;
}

}  // namespace

nlohmann::ordered_json scenario_json(const ScenarioSummary& scenario) {
  Json one{{"scenario", scenario.scenario}};
  one["objective"] = to_string(scenario.objective.minimise);
  one["per"] = scenario.objective.per.empty() ? Json(nullptr) : Json(scenario.objective.per);
  const bool in_units = counts_units(scenario);
  one["per_one"] = in_units ? Json(unit_of_work(scenario)) : Json(nullptr);
  one["per_many"] = in_units ? Json(units_of_work(scenario)) : Json(nullptr);
  one["target"] = scenario.target.empty() ? Json(nullptr) : Json(scenario.target);
  one["constraints"] = Json::array();
  one["constraint_rules"] = Json::array();
  for (const ConstraintSpec& constraint : scenario.objective.constraints) {
    one["constraints"].push_back(constraint_text(constraint));
    one["constraint_rules"].push_back({{"name", constraint.name},
                                       {"relation", to_string(constraint.relation)},
                                       {"bound", constraint.limit}});
  }
  one["search"] = scenario.search ? search_json(*scenario.search) : Json(nullptr);
  const auto named = [&](const std::optional<std::size_t>& i) {
    return i ? Json(scenario.points[*i].point) : Json(nullptr);
  };
  one["best"] = named(scenario.best);
  one["best_settings"] =
      scenario.best ? settings_json(scenario.points[*scenario.best].settings) : Json(nullptr);
  one["best_delivered_instead"] =
      scenario.best ? delivered_json(scenario.points[*scenario.best]) : Json(nullptr);
  one["gain_of_best"] = to_json(scenario.gain_of_best);
  one["gain_corrected_for_choice"] = scenario.gain_corrected;
  one["best_chosen_among"] = scenario.chosen_among;
  one["how_sure"] = how_sure(scenario);
  one["question"] = question_text(scenario);
  one["gain_from_fresh_blocks"] = scenario.from_fresh_blocks;
  one["best_at_edge_of"] = scenario.best_at_edge_of;
  one["reference"] = named(scenario.reference);
  one["not_told_apart"] = Json::array();
  one["pareto_front"] = Json::array();
  for (const PointSummary& point : scenario.points) {
    if (point.not_told_apart) one["not_told_apart"].push_back(point.point);
    if (point.on_pareto_front) one["pareto_front"].push_back(point.point);
  }
  one["fastest_not_told_apart"] = named(scenario.fastest_not_told_apart);
  one["spread_known"] = scenario.spread_known;
  one["axis_effects"] = Json::array();
  for (const AxisEffect& effect : scenario.axis_effects)
    one["axis_effects"].push_back({{"axis", effect.axis},
                                   {"best", effect.best},
                                   {"reference", effect.reference},
                                   {"alone_point", named(effect.alone)},
                                   {"gain_alone", to_json(effect.gain_alone)},
                                   {"without_point", named(effect.without)},
                                   {"gain_on_top", to_json(effect.gain_on_top)},
                                   {"corrected_for_choice", effect.corrected}});
  one["best_edp"] = named(scenario.best_edp);
  one["best_ed2p"] = named(scenario.best_ed2p);
  one["at_slowdown"] = Json::array();
  for (const SlowdownOptimum& optimum : scenario.at_slowdown)
    one["at_slowdown"].push_back({{"limit", optimum.limit}, {"point", scenario.points[optimum.point].point}});
  one["by_slowdown"] = Json::array();
  for (const SlowdownOptimum& optimum : scenario.by_slowdown)
    one["by_slowdown"].push_back({{"from", optimum.limit}, {"point", scenario.points[optimum.point].point}});
  one["drift"] = Json::array();
  for (const BlockDrift& block : scenario.drift) {
    one["drift"].push_back({{"block", block.block},
                            {"change", or_null(block.change)},
                            {"flagged", block.flagged},
                            {"first_temperature_c", or_null(block.first_temperature_c)},
                            {"last_temperature_c", or_null(block.last_temperature_c)}});
  }
  one["reference_trials"] = Json::array();
  for (const ReferenceTrial& trial : scenario.reference_trials)
    one["reference_trials"].push_back({{"key", trial.key},
                                       {"node", trial.node.empty() ? Json(nullptr) : Json(trial.node)},
                                       {"block", trial.block},
                                       {"of_drift", trial.of_drift},
                                       {"change", trial.change}});
  one["metric_drift"] = Json::array();
  for (const MetricDrift& drift : scenario.metric_drift)
    one["metric_drift"].push_back(
        {{"metric", drift.metric}, {"change", to_json(std::optional(drift.change))}});
  one["drift_of_night"] = or_null(scenario.drift_of_night);
  if (scenario.nodes) {
    Json& nodes = one["nodes"] = Json::array();
    for (const NodeSummary& node : scenario.nodes->nodes) {
      Json json{{"node", node.node},
                {"blocks", node.blocks},
                {"trials", node.trials},
                {"best", or_null(node.best)},
                {"best_objective", to_json(node.best_value)},
                {"gain_of_best", to_json(node.gain_of_best)},
                {"agrees", node.not_known ? Json(nullptr) : Json(node.agrees)}};
      json["points"] = Json::array();
      for (const NodeSummary::Point& point : node.points)
        json["points"].push_back({{"point", point.point},
                                  {"work_energy_j", or_null(point.work_energy_j)},
                                  {"work_time_s", or_null(point.work_time_s)},
                                  {"mean_power_w", or_null(point.power_w)}});
      if (const auto& apart = node.against_others) {
        json["against_others"] = {{"value", apart->value},
                                  {"low_95", or_null(apart->low)},
                                  {"high_95", or_null(apart->high)},
                                  {"outlying", apart->outlying}};
      }
      nodes.push_back(std::move(json));
    }
    if (const auto& spread = scenario.nodes->spread_of_best) {
      one["spread_between_nodes"] = {{"deviation", spread->buried ? Json(nullptr) : Json(spread->deviation)},
                                     {"hidden_by_scatter", spread->buried},
                                     {"low_95", or_null(spread->low)},
                                     {"high_95", or_null(spread->high)}};
    }
  }
  one["regions"] = scenario.regions;
  one["trials"] = scenario.trials;
  one["counted"] = scenario.counted;
  one["not_counted"] = scenario.not_counted;
  for (const PointSummary& point : scenario.points) {
    Json json = point_json(point);
    if (counts_units(scenario)) json["throughput_per_s"] = to_json(throughput(point));
    json["saved_j"] = to_json(saved_joules(scenario, point));
    one["points"].push_back(std::move(json));
  }
  return one;
}

namespace {

Json trial_json(const TrialRow& trial) {
  Json applied = Json::array();
  for (const TrialRow::Applied& setting : trial.applied) {
    applied.push_back({{"axis", setting.axis},
                       {"target", setting.target},
                       {"requested", setting.requested},
                       {"applied", or_null(setting.applied)},
                       {"delivered", or_null(setting.delivered)},
                       {"delivered_low", or_null(setting.delivered_low)},
                       {"delivered_high", or_null(setting.delivered_high)},
                       {"as_requested", or_null(setting.as_requested)}});
  }
  return {{"trial", trial.id},
          {"settings", applied},
          {"key", trial.key},
          {"workload", trial.workload},
          {"scenario", trial.scenario},
          {"reference", trial.is_reference},
          {"started_at", trial.started_at},
          {"point", trial.point},
          {"node", trial.node.empty() ? Json(nullptr) : Json(trial.node)},
          {"left_out", trial.left_out.empty() ? Json(nullptr) : Json(trial.left_out)},
          {"block", trial.block},
          {"position", trial.position},
          {"outcome", trial.outcome},
          {"exit_code", or_null(trial.exit_code)},
          {"signal", or_null(trial.signal)},
          {"verdict", trial.verdict},
          {"verdict_text", trial.verdict_text},
          {"role", to_string(trial.role)},
          {"attempt", trial.attempt},
          {"confirms", trial.confirms},
          {"counts", trial.counts()},
          {"region", trial.region},
          {"runs", trial.runs},
          {"time_s", or_null(trial.time_s)},
          {"energy_j", or_null(trial.energy_j)},
          {"energy_half_width_j", or_null(trial.energy_half_width_j)},
          {"energy_systematic_j", or_null(trial.energy_systematic_j)},
          {"above_idle_j", or_null(trial.above_idle_j)},
          {"energy_per_unit_j", or_null(trial.energy_per_unit_j)},
          {"metrics", trial.metrics},
          {"all_running_s", or_null(trial.all_running_s)},
          {"all_running_j", or_null(trial.all_running_j)},
          {"all_running_half_width_j", or_null(trial.all_running_half_width_j)},
          {"temperature_c", or_null(trial.temperature_c)},
          {"objective", or_null(trial.objective_value)},
          {"mean_power_w", or_null(trial.mean_power_w)}};
}

Json machine_json(Store& store) {
  Json json = Json::object();
  for (const auto& [name, value] : store.machine_facts()) json[name] = value;
  return json;
}

// A view as a list of objects, its columns as keys.
Json rows_json(Store& store, const std::string& sql) {
  Json rows = Json::array();
  Statement s = store.database().prepare(sql);
  while (s.step()) {
    Json row = Json::object();
    for (int c = 0; c < s.columns(); ++c) {
      if (s.is_null(c))
        row[s.name(c)] = nullptr;
      else if (s.type(c) == Statement::Type::integer)
        row[s.name(c)] = s.integer(c);
      else if (s.type(c) == Statement::Type::real)
        row[s.name(c)] = s.real(c);
      else
        row[s.name(c)] = s.text(c);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// What had been used when the metric that there is a target for was at each value; of each trial some hundreds at most.
Json approach_json(Store& store) {
  constexpr int most = 300;
  return rows_json(
      store,
      fmt::format("SELECT trial, name, value, after_s, energy_j, energy_half_width_j FROM (SELECT m.*, "
                  "row_number() OVER (PARTITION BY trial ORDER BY after_s) AS place, "
                  "count(*) OVER (PARTITION BY trial) AS of FROM metrics m WHERE energy_j IS NOT NULL AND "
                  "trial IN (SELECT id FROM trial)) "
                  "WHERE place = of OR place % ((of + {0} - 1) / {0}) = 0 ORDER BY trial, after_s",
                  most));
}

Json half_width_json(const std::optional<Estimate>& value) {
  if (!value) return nullptr;
  return {{"value", value->mean}, {"half_width", or_null(value->half_width)}, {"blocks", value->n}};
}

Json against_meter_json(const AgainstMeter& against) {
  Json json{{"meter", against.meter}, {"sensors", Json::array()}, {"answers", Json::array()}};
  for (const MeterFit& fit : against.fits)
    json["sensors"].push_back({{"sensors", fit.sensors},
                               {"trials", fit.trials},
                               {"idle_windows", fit.idle_windows},
                               {"share_of_joules", half_width_json(fit.share)},
                               {"gain", half_width_json(fit.gain)},
                               {"offset_w", half_width_json(fit.offset_w)},
                               {"sensors_part_known", fit.own_parts_known},
                               {"furthest", fit.gain ? Json(fit.furthest) : Json(nullptr)}});
  for (const MeterAnswer& answer : against.answers) {
    Json settings = Json::object();
    for (const AxisSetting& setting : answer.by_sensors) settings[setting.axis] = setting.text;
    json["answers"].push_back(
        {{"scenario", answer.scenario},
         {"by_sensors", settings},
         {"same", answer.same},
         {"told_apart", answer.same || !answer.breaks.empty() ? Json(nullptr) : Json(answer.told_apart)},
         {"breaks", answer.breaks},
         {"gain_of_meters_best", to_json(answer.gain)}});
  }
  return json;
}

}  // namespace

Json report_json(Store& store, const Summary& summary, const std::vector<TrialRow>& trials) {
  const ExperimentRow& e = summary.experiment;
  Json json{{"experiment", e.name},
            {"objective", to_string(e.objective.minimise)},
            {"per", e.objective.per.empty() ? Json(nullptr) : Json(e.objective.per)},
            {"energy_source", or_null(e.energy_source)},
            {"description", e.description},
            {"created_at", e.created_at},
            {"tool_version", e.tool_version},
            {"planned_trials", summary.planned},
            {"finished_trials", summary.finished},
            {"not_counted", summary.not_counted},
            {"asked", summary.asked}};
  json["answer"] = answer_sentences(summary);
  json["answers"] = Json::array();  // the same, each with its scenario
  for (std::size_t i = 0; i < summary.scenarios.size(); ++i)
    json["answers"].push_back(
        {{"scenario", summary.scenarios[i].scenario}, {"sentence", json["answer"].at(i)}});
  json["unfinished"] = unfinished_sentence(summary);
  json["notes"] = further_sentences(summary);
  json["warnings"] = summary.warnings;
  json["noticed"] = Json::array();
  for (const NoticedRow& one : summary.noticed)
    json["noticed"].push_back(
        {{"trial", one.trial}, {"key", one.key}, {"kind", one.kind}, {"message", one.message}});
  json["sensors"] = summary.sensors;
  if (summary.against_meter) json["against_meter"] = against_meter_json(*summary.against_meter);
  json["constraints"] = Json::array();
  for (const ConstraintSpec& constraint : e.objective.constraints)
    json["constraints"].push_back(constraint_text(constraint));
  json["constraint_rules"] = Json::array();
  for (const ConstraintSpec& constraint : e.objective.constraints)
    json["constraint_rules"].push_back({{"name", constraint.name},
                                        {"relation", to_string(constraint.relation)},
                                        {"bound", constraint.limit}});
  json["axes"] = Json::array();
  for (const auto& [name, kind] : e.axes) json["axes"].push_back({{"name", name}, {"kind", kind}});
  json["scenarios"] = Json::array();
  json["trials"] = Json::array();
  for (const ScenarioSummary& scenario : summary.scenarios)
    json["scenarios"].push_back(scenario_json(scenario));
  for (const TrialRow& trial : trials) json["trials"].push_back(trial_json(trial));
  json["approach"] = approach_json(store);
  json["sensor_audit"] = rows_json(store, "SELECT * FROM sensors ORDER BY session, channel");
  json["sessions"] = rows_json(
      store, "SELECT started_at, ended_at, ended_how, tool_version, recheck FROM session ORDER BY id");
  json["rechecks"] = rows_json(store, "SELECT * FROM rechecks");
  json["machine"] = machine_json(store);
  json["nodes"] = rows_json(store, "SELECT node, blocks, trials, left_out FROM nodes ORDER BY node");
  json["node_facts"] = rows_json(store, "SELECT node, name, value FROM node_facts ORDER BY name, node");
  const auto file =
      rows_json(store, "SELECT source_file AS name, source_text AS text, seed, plan_hash FROM experiment");
  json["experiment_file"] = file.empty() ? Json(nullptr) : file.front();
  return json;
}

std::string json_report(Store& store, const Summary& summary, const std::vector<TrialRow>& trials) {
  return report_json(store, summary, trials).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_outputs(Store& store, Json& report) {
  std::map<std::int64_t, std::pair<std::string, std::string>> tails;
  Statement s =
      store.database().prepare("SELECT id, output_tail, error_tail FROM trial WHERE verdict <> 'ok'");
  // The last of it tells why; a page of a thousand failures must not hold a thousand logs.
  constexpr std::size_t most = 2000;
  const auto end_of = [](const std::string& text) {
    return text.size() > most ? text.substr(text.size() - most) : text;
  };
  while (s.step()) tails[s.integer(0)] = {end_of(s.text(1)), end_of(s.text(2))};
  for (Json& trial : report["trials"]) {
    const auto found = tails.find(trial["trial"].get<std::int64_t>());
    if (found == tails.end()) continue;
    trial["output_tail"] = found->second.first;
    trial["error_tail"] = found->second.second;
  }
}

}  // namespace dvfs_plan
