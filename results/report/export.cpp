#include "results/report/export.hpp"

#include <fmt/format.h>

#include <ostream>
#include <set>

#include "base/units.hpp"

namespace dvfs_plan {
namespace {

void write_row(std::ostream& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) out << (i == 0 ? "" : ",") << cells[i];
  out << "\r\n";
}

template <class T>
std::string number(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string{};
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field(text);
  const bool formula = !field.empty() &&
                       std::string_view("=+-@\t\r").find(field[0]) != std::string_view::npos &&
                       !parse_number(field);
  if (formula) field.insert(field.begin(), '\'');
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void export_trials_csv(Store& store, std::ostream& out) {
  const ExperimentRow experiment = store.experiment();
  std::map<std::int64_t, std::map<std::string, double>> metrics;
  std::set<std::string> metric_names;
  Statement s =
      store.database().prepare("SELECT trial_id, name, unit, value FROM metric ORDER BY trial_id, ordinal");
  while (s.step()) {
    // A metric printed more than once: the last value, as the workload's final word.
    const std::string name = "metric " + s.text(1) + (s.text(2).empty() ? "" : " " + s.text(2));
    metrics[s.integer(0)][name] = s.real(3);
    metric_names.insert(name);
  }
  // Delivered values by axis: the mean over targets would hide one that was not delivered, so the extremes.
  std::map<std::pair<std::int64_t, std::string>, std::pair<std::string, std::string>> settings;
  Statement d = store.database().prepare(
      "SELECT trial, axis, group_concat(DISTINCT applied), min(delivered), max(delivered) FROM settings "
      "GROUP BY trial, axis");
  while (d.step()) {
    std::string delivered = number(d.maybe_real(3));
    if (d.maybe_real(3) && d.real(3) != d.real(4)) delivered += ".." + number(d.maybe_real(4));
    settings[{d.integer(0), d.text(1)}] = {d.text(2), delivered};
  }

  std::vector<std::string> head{"trial",   "key",   "workload", "scenario",  "role",
                                "attempt", "block", "position", "started_at"};
  for (const auto& [axis, kind] : experiment.axes) {
    head.push_back(csv_field(axis));
    if (kind != "knob") continue;
    head.push_back(csv_field(axis + " applied"));
    head.push_back(csv_field(axis + " delivered"));
  }
  for (const char* name :
       {"outcome", "exit_code", "signal", "verdict", "verdict_text", "region", "runs", "time_s", "energy_j",
        "energy_half_width_j", "above_idle_j", "units", "mean_power_w", "temperature_c", "objective_value"})
    head.emplace_back(name);
  for (const std::string& name : metric_names) head.push_back(csv_field(name));
  write_row(out, head);

  for (const TrialRow& trial : store.trials()) {
    std::vector<std::string> cells{std::to_string(trial.id),
                                   csv_field(trial.key),
                                   csv_field(trial.workload),
                                   csv_field(trial.scenario),
                                   std::string(to_string(trial.role)),
                                   std::to_string(trial.attempt),
                                   std::to_string(trial.block),
                                   std::to_string(trial.position),
                                   trial.started_at};
    for (const auto& [axis, kind] : experiment.axes) {
      std::string value;
      for (const AxisSetting& setting : trial.settings) {
        if (setting.axis == axis)
          value = setting.number && kind == "knob" ? fmt::format("{}", *setting.number) : setting.text;
      }
      cells.push_back(csv_field(value));
      if (kind != "knob") continue;
      const auto& [applied, delivered] = settings[{trial.id, axis}];
      cells.push_back(csv_field(applied));
      cells.push_back(csv_field(delivered));
    }
    for (const std::string& cell :
         {trial.outcome, number(trial.exit_code), trial.signal.value_or(""), trial.verdict,
          csv_field(trial.verdict_text), csv_field(trial.region), std::to_string(trial.runs),
          number(trial.time_s), number(trial.energy_j), number(trial.energy_half_width_j),
          number(trial.above_idle_j), number(trial.units), number(trial.mean_power_w),
          number(trial.temperature_c), number(trial.objective_value)}) {
      cells.push_back(cell);
    }
    for (const std::string& name : metric_names) {
      const auto& mine = metrics[trial.id];
      const auto found = mine.find(name);
      cells.push_back(found == mine.end() ? std::string{} : fmt::format("{}", found->second));
    }
    write_row(out, cells);
  }
}

void export_readings_csv(Store& store, std::ostream& out) {
  write_row(out, {"trial", "channel", "unit", "time_ns", "value", "absence"});
  Statement s = store.database().prepare(
      "SELECT trial, channel, unit, time_ns, value, absence FROM readings ORDER BY trial, channel, time_ns");
  while (s.step()) {
    write_row(out, {std::to_string(s.integer(0)), csv_field(s.text(1)), csv_field(s.text(2)),
                    std::to_string(s.integer(3)), number(s.maybe_real(4)), s.text(5)});
  }
}

}  // namespace dvfs_plan
