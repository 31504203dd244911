#include "results/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

// Columns a text takes on a terminal: one a code point is enough for what reports print.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

class Table {
 public:
  void row(std::vector<std::string> cells, bool strong = false) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
    rows_.push_back({std::move(cells), strong});
  }

  std::string text(bool colour) const {
    std::string text;
    for (const Row& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        line += row.cells[i] + std::string(widths_[i] - width_of(row.cells[i]) + (i == 0 ? 1 : 3), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += (colour && row.strong ? "\x1b[1m" + line + "\x1b[0m" : line) + "\n";
    }
    return text;
  }

 private:
  struct Row {
    std::vector<std::string> cells;
    bool strong;
  };
  std::vector<Row> rows_;
  std::vector<std::size_t> widths_;
};

// "52.8 J ±0.3 %"; a dash for what is not known.
std::string cell(const std::optional<Estimate>& value, std::string_view unit) {
  if (!value) return "—";
  std::string text = fmt::format("{:#.4g} {}", value->mean, unit);
  if (!value->half_width) return text;
  // Of a value near zero a share says nothing.
  if (*value->half_width < std::abs(value->mean))
    text += fmt::format(" ±{:.1f} %", 100 * *value->half_width / std::abs(value->mean));
  else
    text += fmt::format(" ±{:.2g} {}", *value->half_width, unit);
  return text;
}

std::string cell(const std::optional<Change>& change) {
  if (!change) return "—";
  std::string text = fmt::format("{:.1f} %", 100 * change->value);
  if (change->low) text += fmt::format(" [{:.1f}, {:.1f}]", 100 * *change->low, 100 * *change->high);
  return text;
}

// "holds", "slowdown <= 5 %: 8.1 %".
std::string constraint_cell(const PointSummary& point) {
  std::string text;
  for (const ConstraintCheck& check : point.constraints) {
    if (check.holds == true) continue;
    if (!text.empty()) text += "; ";
    text += check.holds ? "not " + check.text : check.text + ": not known";
  }
  return text.empty() ? "hold" : text;
}

void scenario_table(const ScenarioSummary& scenario, std::string& text, bool colour) {
  text += fmt::format("\n{}\n", printable(scenario.scenario));
  Table table;
  std::vector<std::string> head{" "};
  std::vector<std::string> axes;
  for (const PointSummary& point : scenario.points) {
    for (const AxisSetting& setting : point.settings) {
      const bool in_name = scenario.scenario.find(" " + setting.axis + "=") != std::string::npos;
      if (!in_name && std::find(axes.begin(), axes.end(), setting.axis) == axes.end())
        axes.push_back(setting.axis);
    }
  }
  for (const std::string& axis : axes) head.push_back(printable(axis));
  const auto any = [&](auto condition) {
    return std::any_of(scenario.points.begin(), scenario.points.end(), condition);
  };
  const bool above_idle = any([](const PointSummary& p) { return p.above_idle.has_value(); });
  const bool per_unit = any([](const PointSummary& p) { return p.energy_per_unit.has_value(); });
  for (const char* name : {"trials", "energy"}) head.emplace_back(name);
  if (per_unit) head.emplace_back("energy/unit");
  if (above_idle) head.emplace_back("above idle");
  for (const char* name : {"time", "mean power", "saving", "slowdown"}) head.emplace_back(name);
  if (any([](const PointSummary& p) { return !p.constraints.empty(); })) head.emplace_back("constraints");
  table.row(head);
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const PointSummary& point = scenario.points[i];
    const bool best = scenario.best == i;
    std::vector<std::string> cells{best ? "*" : point.not_told_apart ? "~" : " "};
    for (const std::string& axis : axes) {
      const auto found = std::find_if(point.settings.begin(), point.settings.end(),
                                      [&](const AxisSetting& s) { return s.axis == axis; });
      cells.push_back(found == point.settings.end() ? "—" : printable(setting_value_text(point, *found)));
    }
    cells.push_back(point.counted == point.trials ? std::to_string(point.trials)
                                                  : fmt::format("{} of {}", point.counted, point.trials));
    cells.push_back(cell(point.energy, "J"));
    if (per_unit) cells.push_back(cell(point.energy_per_unit, "J"));
    if (above_idle) cells.push_back(cell(point.above_idle, "J"));
    cells.push_back(cell(point.time, "s"));
    cells.push_back(cell(point.power, "W"));
    cells.push_back(point.is_reference ? "reference" : cell(point.saving));
    cells.push_back(point.is_reference ? "" : cell(point.slowdown));
    if (!point.constraints.empty()) cells.push_back(constraint_cell(point));
    table.row(cells, best);
  }
  text += table.text(colour);
}

// The model's curve with its band, beside what was run.
void search_table(const ScenarioSummary& scenario, Objective objective, std::string& text, bool colour) {
  if (!scenario.search || scenario.search->points.size() < 2) return;
  constexpr std::size_t most_rows = 40;
  std::vector<const SearchPoint*> shown;
  for (const SearchPoint& point : scenario.search->points) shown.push_back(&point);
  if (shown.size() > most_rows) {
    const auto matters = [&](const SearchPoint* p) {
      return p->run || p->point == scenario.search->best ? 2.0 : p->objective.probability_best;
    };
    std::stable_sort(shown.begin(), shown.end(),
                     [&](const SearchPoint* a, const SearchPoint* b) { return matters(a) > matters(b); });
    shown.resize(most_rows);
    std::stable_sort(shown.begin(), shown.end(),
                     [](const SearchPoint* a, const SearchPoint* b) { return a < b; });
  }
  Table table;
  std::vector<std::string> head{" "};
  for (const AxisSetting& setting : shown.front()->settings) head.push_back(printable(setting.axis));
  for (const char* name : {"run", "model", "95 % band", "may be the best"}) head.emplace_back(name);
  table.row(head);
  const std::string_view unit = objective == Objective::energy ? " J"
                                : objective == Objective::time ? " s"
                                                               : "";
  for (const SearchPoint* point : shown) {
    const bool best = point->point == scenario.search->best;
    std::vector<std::string> cells{best ? "*" : point->not_told_apart ? "~" : " "};
    for (const AxisSetting& setting : point->settings) cells.push_back(printable(setting.text));
    cells.emplace_back(point->run ? "yes" : "");
    cells.push_back(fmt::format("{:#.4g}{}", point->objective.median, unit));
    cells.push_back(fmt::format("[{:#.4g}, {:#.4g}]", point->objective.low, point->objective.high));
    cells.push_back(fmt::format("{:.0f} %", 100 * point->objective.probability_best));
    table.row(cells, best);
  }
  text += fmt::format("\nWhat the model says of all {} settings{}:\n", scenario.search->points.size(),
                      shown.size() < scenario.search->points.size()
                          ? fmt::format("; the {} that matter most", shown.size())
                          : "");
  text += table.text(colour);
}

Json to_json(const std::optional<Estimate>& value) {
  if (!value) return nullptr;
  const auto known = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  return {{"mean", value->mean},
          {"median", value->median},
          {"n", value->n},
          {"standard_deviation", known(value->standard_deviation)},
          {"mad", known(value->mad)},
          {"half_width_95", known(value->half_width)},
          {"sensor_half_width_95", known(value->sensor_half_width)}};
}

Json to_json(const std::optional<Change>& change) {
  if (!change) return nullptr;
  Json json{{"value", change->value}, {"pairs", change->pairs}};
  json["low_95"] = change->low ? Json(*change->low) : Json(nullptr);
  json["high_95"] = change->high ? Json(*change->high) : Json(nullptr);
  return json;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json settings_json(const std::vector<AxisSetting>& settings) {
  Json json = Json::object();
  for (const AxisSetting& setting : settings) json[setting.axis] = setting.text;
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
  Json json{{"point", point.point},
            {"settings", settings_json(point.settings)},
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
            {"edp_js", to_json(point.edp)},
            {"ed2p_js2", to_json(point.ed2p)},
            {"saving", to_json(point.saving)},
            {"slowdown", to_json(point.slowdown)},
            {"gain", to_json(point.gain)},
            {"feasible", point.feasible},
            {"not_told_apart_from_best", point.not_told_apart},
            {"on_pareto_front", point.on_pareto_front},
            {"outliers", point.outliers}};
  json["constraints"] = Json::array();
  for (const ConstraintCheck& check : point.constraints) {
    json["constraints"].push_back({{"constraint", check.text},
                                   {"value", or_null(check.value)},
                                   {"holds", or_null(check.holds)},
                                   {"certain", or_null(check.certain)}});
  }
  return json;
}

Json search_json(const SearchSummary& search) {
  Json json{{"method", "adaptive"},
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
            {"doubtful", search.doubtful},
            {"model", Json::array()}};
  for (const SearchPoint& point : search.points) {
    json["model"].push_back({{"point", point.point},
                             {"settings", settings_json(point.settings)},
                             {"run", point.run},
                             {"objective", point.objective.median},
                             {"low_95", point.objective.low},
                             {"high_95", point.objective.high},
                             {"probability_best", point.objective.probability_best},
                             {"not_told_apart_from_best", point.not_told_apart}});
  }
  return json;
}

Json scenario_json(const ScenarioSummary& scenario) {
  Json one{{"scenario", scenario.scenario}};
  one["search"] = scenario.search ? search_json(*scenario.search) : Json(nullptr);
  const auto named = [&](const std::optional<std::size_t>& i) {
    return i ? Json(scenario.points[*i].point) : Json(nullptr);
  };
  one["best"] = named(scenario.best);
  one["best_settings"] =
      scenario.best ? settings_json(scenario.points[*scenario.best].settings) : Json(nullptr);
  one["best_delivered_instead"] =
      scenario.best ? delivered_json(scenario.points[*scenario.best]) : Json(nullptr);
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
  one["best_edp"] = named(scenario.best_edp);
  one["best_ed2p"] = named(scenario.best_ed2p);
  one["at_slowdown"] = Json::array();
  for (const SlowdownOptimum& optimum : scenario.at_slowdown)
    one["at_slowdown"].push_back({{"limit", optimum.limit}, {"point", scenario.points[optimum.point].point}});
  one["drift"] = Json::array();
  for (const BlockDrift& block : scenario.drift) {
    one["drift"].push_back({{"block", block.block},
                            {"change", or_null(block.change)},
                            {"flagged", block.flagged},
                            {"first_temperature_c", or_null(block.first_temperature_c)},
                            {"last_temperature_c", or_null(block.last_temperature_c)}});
  }
  one["drift_of_night"] = or_null(scenario.drift_of_night);
  one["regions"] = scenario.regions;
  one["trials"] = scenario.trials;
  one["counted"] = scenario.counted;
  one["not_counted"] = scenario.not_counted;
  for (const PointSummary& point : scenario.points) one["points"].push_back(point_json(point));
  return one;
}

}  // namespace

Summary summary_of(Store& store) {
  const ExperimentRow experiment = store.experiment();
  const auto trials = store.trials();
  return summarise(experiment, trials, store.session_warnings(), store.sensor_lines(),
                   summarise_searches(experiment, store.history(), store.points(), store.prior()));
}

std::string terminal_report(const Summary& summary, const std::vector<TrialRow>& trials, bool colour) {
  const ExperimentRow& e = summary.experiment;
  std::string text =
      fmt::format("{}: {} trials, objective {}, energy of {}\n", printable(e.name),
                  summary.left > 0 ? fmt::format("{} of {}", summary.finished, e.planned_trials)
                                   : std::to_string(summary.finished),
                  to_string(e.objective.minimise),
                  e.energy_source ? printable(*e.energy_source) : "nothing (no energy sensor)");
  for (const ScenarioSummary& scenario : summary.scenarios) {
    scenario_table(scenario, text, colour);
    search_table(scenario, e.objective.minimise, text, colour);
  }
  if (!summary.scenarios.empty())
    text += fmt::format(
        "\n* best, ~ not told apart from it at the 5 % level. ± and [ ] are 95 % intervals (Student's t and "
        "the "
        "sensors' own part; savings and slowdowns {}). — is not known.\n",
        e.search ? "by the model of all trials together" : "paired within blocks");

  for (const std::string& warning : summary.warnings)
    text += fmt::format("\nwarning: {}\n", printable(warning));
  int not_counted = 0;
  for (const auto& [verdict, count] : summary.not_counted) not_counted += count;
  if (not_counted > 0) {
    text += fmt::format("\nNot counted: {} of {} trials.\n", not_counted, summary.finished);
    constexpr int most_lines = 12;
    int lines = 0;
    for (const TrialRow& trial : trials) {
      if (trial.verdict == "ok" || trial.role == TrialRole::warm_up) continue;
      if (++lines > most_lines) {
        text += fmt::format("  ... and {} more; `dvfs-plan export` lists all\n", not_counted - most_lines);
        break;
      }
      text +=
          fmt::format("  {}: {}: {}\n", printable(trial.key), trial.verdict, printable(trial.verdict_text));
    }
  }
  if (!summary.sensors.empty()) {
    text += "\nSensors:\n";
    for (const std::string& line : summary.sensors) text += "  " + printable(line) + "\n";
  }
  const auto notes = further_sentences(summary);
  if (!notes.empty()) text += "\nBeside it:\n";
  for (const std::string& note : notes) text += "  " + printable(note) + "\n";
  text += "\n";
  for (const std::string& sentence : answer_sentences(summary)) text += printable(sentence) + "\n";
  if (e.search && summary.left > 0) {
    text += "Unfinished: the same command goes on with the search; this is what is known so far.\n";
  } else if (summary.left > 0) {
    text +=
        e.last_session_ended == "done"
            ? fmt::format("The budget ended the run: {} of {} planned trials were not run.\n", summary.left,
                          e.planned_trials)
            : fmt::format("Unfinished: {} of {} trials are still to be run; this is what is known so far.\n",
                          summary.left, e.planned_trials);
  }
  return text;
}

std::string json_report(const Summary& summary, const std::vector<TrialRow>& trials) {
  const ExperimentRow& e = summary.experiment;
  Json json{{"experiment", e.name},
            {"objective", to_string(e.objective.minimise)},
            {"per", e.objective.per.empty() ? Json(nullptr) : Json(e.objective.per)},
            {"energy_source", or_null(e.energy_source)},
            {"planned_trials", e.planned_trials},
            {"finished_trials", summary.finished},
            {"not_counted", summary.not_counted}};
  json["answer"] = answer_sentences(summary);
  json["notes"] = further_sentences(summary);
  json["warnings"] = summary.warnings;
  json["sensors"] = summary.sensors;
  json["constraints"] = Json::array();
  for (const ConstraintSpec& constraint : e.objective.constraints)
    json["constraints"].push_back(constraint_text(constraint));
  json["scenarios"] = Json::array();
  json["trials"] = Json::array();
  for (const ScenarioSummary& scenario : summary.scenarios)
    json["scenarios"].push_back(scenario_json(scenario));
  for (const TrialRow& trial : trials) {
    Json applied = Json::array();
    for (const TrialRow::Applied& setting : trial.applied) {
      applied.push_back({{"axis", setting.axis},
                         {"target", setting.target},
                         {"requested", setting.requested},
                         {"applied", or_null(setting.applied)},
                         {"delivered", or_null(setting.delivered)},
                         {"as_requested", or_null(setting.as_requested)}});
    }
    json["trials"].push_back({{"settings", applied},
                              {"key", trial.key},
                              {"point", trial.point},
                              {"block", trial.block},
                              {"position", trial.position},
                              {"outcome", trial.outcome},
                              {"exit_code", or_null(trial.exit_code)},
                              {"signal", or_null(trial.signal)},
                              {"verdict", trial.verdict},
                              {"verdict_text", trial.verdict_text},
                              {"role", to_string(trial.role)},
                              {"attempt", trial.attempt},
                              {"counts", trial.counts()},
                              {"region", trial.region},
                              {"runs", trial.runs},
                              {"time_s", or_null(trial.time_s)},
                              {"energy_j", or_null(trial.energy_j)},
                              {"energy_half_width_j", or_null(trial.energy_half_width_j)},
                              {"above_idle_j", or_null(trial.above_idle_j)},
                              {"energy_per_unit_j", or_null(trial.energy_per_unit_j)},
                              {"temperature_c", or_null(trial.temperature_c)},
                              {"objective", or_null(trial.objective_value)},
                              {"mean_power_w", or_null(trial.mean_power_w)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dvfs_plan
