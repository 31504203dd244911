#include <fmt/format.h>

#include <set>

#include "results/export/table.hpp"

namespace dvfs_plan {
namespace {

using Type = Column::Type;

template <class T>
Cell cell(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::int64_t>(*value);
  else
    return *value;
}

// What a knob's targets read back as and delivered. Delivered values of several targets: the least and the
// most, for a mean would hide one that was not delivered.
struct Delivered {
  std::string applied;
  std::optional<double> least, most;
};

struct AxisColumn {
  std::string name;
  bool knob, numeric;
};

// An axis whose values are all plain numbers is a column of numbers; so is a knob, in SI units.
std::vector<AxisColumn> axis_columns(const ExperimentRow& experiment, const std::vector<TrialRow>& trials) {
  std::vector<AxisColumn> columns;
  for (const auto& [axis, kind] : experiment.axes) {
    AxisColumn column{axis, kind == "knob", true};
    for (const TrialRow& trial : trials) {
      for (const AxisSetting& setting : trial.settings) {
        if (setting.axis != axis) continue;
        const bool plain =
            setting.number && (column.knob || fmt::format("{}", *setting.number) == setting.text);
        column.numeric = column.numeric && plain;
      }
    }
    columns.push_back(column);
  }
  return columns;
}

class TrialsTable {
 public:
  explicit TrialsTable(Store& store)
      : trials_(store.trials()), axes_(axis_columns(store.experiment(), trials_)) {
    // A metric printed more than once: the last value, as the workload's final word.
    Statement s =
        store.database().prepare("SELECT trial_id, name, unit, value FROM metric ORDER BY trial_id, ordinal");
    while (s.step()) {
      const std::string name = "metric " + s.text(1) + (s.text(2).empty() ? "" : " " + s.text(2));
      metrics_[s.integer(0)][name] = s.real(3);
      metric_names_.insert(name);
    }
    Statement d = store.database().prepare(
        "SELECT trial, axis, group_concat(DISTINCT applied), min(delivered), max(delivered) FROM settings "
        "GROUP BY trial, axis");
    while (d.step()) delivered_[{d.integer(0), d.text(1)}] = {d.text(2), d.maybe_real(3), d.maybe_real(4)};
  }

  void write(TableWriter& out) {
    out.head(head());
    for (const TrialRow& trial : trials_) out.row(row(trial));
    out.finish();
  }

 private:
  // An axis may have a name that a column has already.
  static std::string axis_title(const std::string& axis) {
    static const std::set<std::string> taken{
        "trial",        "key",       "workload",     "scenario",      "role",
        "attempt",      "confirms",  "block",        "position",      "started_at",
        "outcome",      "exit_code", "signal",       "verdict",       "verdict_text",
        "region",       "runs",      "time_s",       "energy_j",      "energy_half_width_j",
        "above_idle_j", "units",     "mean_power_w", "temperature_c", "objective_value"};
    return taken.contains(axis) ? "axis " + axis : axis;
  }

  std::vector<Column> head() const {
    std::vector<Column> head{{"trial", Type::integer},    {"key", Type::text},
                             {"workload", Type::text},    {"scenario", Type::text},
                             {"role", Type::text},        {"attempt", Type::integer},
                             {"confirms", Type::integer}, {"block", Type::integer},
                             {"position", Type::integer}, {"started_at", Type::text}};
    for (const AxisColumn& axis : axes_) {
      head.push_back({axis_title(axis.name), axis.numeric ? Type::real : Type::text});
      if (!axis.knob) continue;
      head.push_back({axis.name + " applied", Type::text});
      head.push_back({axis.name + " delivered_min", Type::real});
      head.push_back({axis.name + " delivered_max", Type::real});
    }
    for (const char* name : {"outcome", "exit_code", "signal", "verdict", "verdict_text", "region", "runs",
                             "time_s", "energy_j", "energy_half_width_j", "above_idle_j", "units",
                             "mean_power_w", "temperature_c", "objective_value"}) {
      const std::string_view n(name);
      const bool text =
          n == "outcome" || n == "signal" || n == "verdict" || n == "verdict_text" || n == "region";
      head.push_back({name, text                              ? Type::text
                            : n == "exit_code" || n == "runs" ? Type::integer
                                                              : Type::real});
    }
    for (const std::string& name : metric_names_) head.push_back({name, Type::real});
    return head;
  }

  void add_axis(std::vector<Cell>& cells, const TrialRow& trial, const AxisColumn& axis) {
    Cell value;
    for (const AxisSetting& setting : trial.settings) {
      if (setting.axis == axis.name)
        value = axis.numeric ? cell(setting.number) : cell(std::optional(setting.text));
    }
    cells.push_back(value);
    if (!axis.knob) return;
    const auto known = delivered_.find({trial.id, axis.name});
    const Delivered none{}, &d = known == delivered_.end() ? none : known->second;
    cells.push_back(cell(d.applied.empty() ? std::nullopt : std::optional(d.applied)));
    cells.push_back(cell(d.least));
    cells.push_back(cell(d.most));
  }

  std::vector<Cell> row(const TrialRow& trial) {
    std::vector<Cell> cells{trial.id,
                            trial.key,
                            trial.workload,
                            trial.scenario,
                            std::string(to_string(trial.role)),
                            std::int64_t{trial.attempt},
                            std::int64_t{trial.confirms ? 1 : 0},
                            std::int64_t{trial.block},
                            std::int64_t{trial.position},
                            trial.started_at};
    for (const AxisColumn& axis : axes_) add_axis(cells, trial, axis);
    for (const Cell& value :
         {Cell(trial.outcome), cell(trial.exit_code), cell(trial.signal), Cell(trial.verdict),
          Cell(trial.verdict_text), Cell(trial.region), Cell(std::int64_t{trial.runs}), cell(trial.time_s),
          cell(trial.energy_j), cell(trial.energy_half_width_j), cell(trial.above_idle_j), cell(trial.units),
          cell(trial.mean_power_w), cell(trial.temperature_c), cell(trial.objective_value)})
      cells.push_back(value);
    const auto& mine = metrics_[trial.id];
    for (const std::string& name : metric_names_) {
      const auto found = mine.find(name);
      cells.push_back(cell(found == mine.end() ? std::nullopt : std::optional(found->second)));
    }
    return cells;
  }

  std::vector<TrialRow> trials_;
  std::vector<AxisColumn> axes_;
  std::map<std::int64_t, std::map<std::string, double>> metrics_;
  std::set<std::string> metric_names_;
  std::map<std::pair<std::int64_t, std::string>, Delivered> delivered_;
};

}  // namespace

void write_trials_table(Store& store, TableWriter& out) {
  TrialsTable(store).write(out);
}

std::vector<std::string> write_readings_table(Store& store, TableWriter& out) {
  out.head({{"trial", Type::integer},
            {"channel", Type::text},
            {"unit", Type::text},
            {"time_ns", Type::integer},
            {"value", Type::real},
            {"absence", Type::text}});
  const auto channels = store.channels();
  std::vector<std::string> left_out;
  Statement trials =
      store.database().prepare("SELECT DISTINCT trial_id FROM reading_values ORDER BY trial_id");
  while (trials.step()) {
    const std::int64_t trial = trials.integer(0);
    std::vector<ChannelTrace> traces;
    try {
      traces = store.traces(trial);
    } catch (const DamagedReadings& damaged) {
      left_out.push_back(damaged.what());
    }
    for (const ChannelTrace& one : traces) {
      const Channel& channel = channels.at(one.channel);
      for (std::size_t i = 0; i < one.trace.values.size(); ++i) {
        const bool known = one.trace.has_value(i);
        const auto value = known ? std::optional(one.trace.values[i]) : std::nullopt;
        const auto absence =
            known ? std::nullopt : std::optional(std::string(to_string(one.trace.absences[i])));
        out.row({trial, channel.name, channel.unit, one.trace.times_ns[i], cell(value), cell(absence)});
      }
    }
  }
  out.finish();
  return left_out;
}

}  // namespace dvfs_plan
