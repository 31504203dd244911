#include "results/report.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  if (value->half_width && value->mean != 0)
    text += fmt::format(" ±{:.1f} %", 100 * *value->half_width / std::abs(value->mean));
  return text;
}

std::string cell(const std::optional<Change>& change) {
  if (!change) return "—";
  std::string text = fmt::format("{:.1f} %", 100 * change->value);
  if (change->low) text += fmt::format(" [{:.1f}, {:.1f}]", 100 * *change->low, 100 * *change->high);
  return text;
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
  for (const char* name : {"trials", "energy", "time", "mean power", "saving", "slowdown"})
    head.emplace_back(name);
  table.row(head);
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const PointSummary& point = scenario.points[i];
    const bool best = scenario.best == i;
    std::vector<std::string> cells{best ? "*" : " "};
    for (const std::string& axis : axes) {
      const auto found = std::find_if(point.settings.begin(), point.settings.end(),
                                      [&](const AxisSetting& s) { return s.axis == axis; });
      cells.push_back(found == point.settings.end() ? "—" : printable(found->text));
    }
    cells.push_back(point.counted == point.trials ? std::to_string(point.trials)
                                                  : fmt::format("{} of {}", point.counted, point.trials));
    cells.push_back(cell(point.energy, "J"));
    cells.push_back(cell(point.time, "s"));
    cells.push_back(cell(point.power, "W"));
    cells.push_back(point.is_reference ? "reference" : cell(point.saving));
    cells.push_back(point.is_reference ? "" : cell(point.slowdown));
    table.row(cells, best);
  }
  text += table.text(colour);
}

Json to_json(const std::optional<Estimate>& value) {
  if (!value) return nullptr;
  Json json{{"mean", value->mean}, {"n", value->n}};
  json["standard_deviation"] = value->standard_deviation ? Json(*value->standard_deviation) : Json(nullptr);
  json["half_width_95"] = value->half_width ? Json(*value->half_width) : Json(nullptr);
  return json;
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

Json point_json(const PointSummary& point) {
  return {{"point", point.point},
          {"settings", settings_json(point.settings)},
          {"reference", point.is_reference},
          {"trials", point.trials},
          {"counted", point.counted},
          {"not_counted", point.not_counted},
          {"energy_j", to_json(point.energy)},
          {"time_s", to_json(point.time)},
          {"mean_power_w", to_json(point.power)},
          {"objective", to_json(point.objective)},
          {"saving", to_json(point.saving)},
          {"slowdown", to_json(point.slowdown)}};
}

}  // namespace

std::string terminal_report(const Summary& summary, const std::vector<TrialRow>& trials, bool colour) {
  const ExperimentRow& e = summary.experiment;
  std::string text =
      fmt::format("{}: {} of {} trials, objective {}, energy of {}\n", printable(e.name), summary.finished,
                  e.planned_trials, to_string(e.objective),
                  e.energy_source ? printable(*e.energy_source) : "nothing (no energy sensor)");
  for (const ScenarioSummary& scenario : summary.scenarios) scenario_table(scenario, text, colour);
  if (!summary.scenarios.empty())
    text +=
        "\n* best. ± and [ ] are 95 % intervals (Student's t; savings and slowdowns paired within blocks). — "
        "is not known.\n";

  for (const std::string& warning : summary.warnings)
    text += fmt::format("\nwarning: {}\n", printable(warning));
  int not_counted = 0;
  for (const auto& [verdict, count] : summary.not_counted) not_counted += count;
  if (not_counted > 0) {
    text += fmt::format("\nNot counted: {} of {} trials.\n", not_counted, summary.finished);
    constexpr int most_lines = 12;
    int lines = 0;
    for (const TrialRow& trial : trials) {
      if (trial.verdict == "ok") continue;
      if (++lines > most_lines) {
        text += fmt::format("  ... and {} more; `dvfs-plan export` lists all\n", not_counted - most_lines);
        break;
      }
      text +=
          fmt::format("  {}: {}: {}\n", printable(trial.key), trial.verdict, printable(trial.verdict_text));
    }
  }
  text += "\n";
  for (const std::string& sentence : answer_sentences(summary)) text += printable(sentence) + "\n";
  if (summary.finished < e.planned_trials) {
    text += fmt::format("Unfinished: {} of {} trials are still to be run; this is what is known so far.\n",
                        e.planned_trials - summary.finished, e.planned_trials);
  }
  return text;
}

std::string json_report(const Summary& summary, const std::vector<TrialRow>& trials) {
  const ExperimentRow& e = summary.experiment;
  Json json{{"experiment", e.name},
            {"objective", to_string(e.objective)},
            {"energy_source", or_null(e.energy_source)},
            {"planned_trials", e.planned_trials},
            {"finished_trials", summary.finished},
            {"not_counted", summary.not_counted}};
  json["answer"] = answer_sentences(summary);
  json["warnings"] = summary.warnings;
  json["scenarios"] = Json::array();
  json["trials"] = Json::array();
  for (const ScenarioSummary& scenario : summary.scenarios) {
    Json one{{"scenario", scenario.scenario}};
    one["best"] = scenario.best ? Json(scenario.points[*scenario.best].point) : Json(nullptr);
    one["best_settings"] =
        scenario.best ? settings_json(scenario.points[*scenario.best].settings) : Json(nullptr);
    one["best_at_edge_of"] = scenario.best_at_edge_of;
    for (const PointSummary& point : scenario.points) one["points"].push_back(point_json(point));
    json["scenarios"].push_back(one);
  }
  for (const TrialRow& trial : trials) {
    Json applied = Json::array();
    for (const TrialRow::Applied& setting : trial.applied) {
      applied.push_back({{"axis", setting.axis},
                         {"target", setting.target},
                         {"requested", setting.requested},
                         {"applied", or_null(setting.applied)},
                         {"delivered", or_null(setting.delivered)}});
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
                              {"time_s", or_null(trial.time_s)},
                              {"energy_j", or_null(trial.energy_j)},
                              {"mean_power_w", or_null(trial.mean_power_w)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dvfs_plan
