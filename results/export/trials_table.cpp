#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/export/table.hpp"

namespace dvfs_plan {
namespace {

using Type = Column::Type;

template <class T>
Cell cell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

// The view `trials`, but for what its trials printed.
struct View {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

Cell cell_of(const Statement& s, int column) {
  switch (s.type(column)) {
    case Statement::Type::integer:
      return s.integer(column);
    case Statement::Type::real:
      return s.real(column);
    case Statement::Type::null:
      return {};
    default:
      return s.text(column);
  }
}

// Columns that are computed have no declared type: what they hold tells it, and numbers that are never known
// are real.
Type type_of(const Statement& s, int column, const std::vector<std::vector<Cell>>& rows, std::size_t at) {
  const std::string declared = s.declared_type(column);
  if (!declared.empty())
    return declared == "TEXT" ? Type::text : declared == "INTEGER" ? Type::integer : Type::real;
  for (const auto& row : rows) {
    if (std::holds_alternative<std::int64_t>(row[at])) return Type::integer;
    if (std::holds_alternative<double>(row[at])) return Type::real;
    if (std::holds_alternative<std::string>(row[at])) return Type::text;
  }
  return Type::real;
}

View read_view(Store& store) {
  View view;
  Statement s = store.database().prepare("SELECT * FROM trials ORDER BY trial");
  std::vector<int> taken;
  for (int c = 0; c < s.columns(); ++c) {
    if (!s.name(c).ends_with("_tail")) taken.push_back(c);
  }
  while (s.step()) {
    auto& row = view.rows.emplace_back();
    for (const int c : taken) row.push_back(cell_of(s, c));
  }
  for (std::size_t i = 0; i < taken.size(); ++i)
    view.columns.push_back({s.name(taken[i]), type_of(s, taken[i], view.rows, i)});
  return view;
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
      : trials_(store.trials()), axes_(axis_columns(store.experiment(), trials_)), view_(read_view(store)) {
    // As the report has them: the last value, as the workload's final word; of several at once the mean of theirs, with the least and the
    // highest beside it.
    for (const TrialRow& trial : trials_) {
      for (const auto& [name, value] : trial.metrics) {
        const auto unit = trial.units_of_metrics.find(name);
        const std::string of =
            unit == trial.units_of_metrics.end() || unit->second.empty() ? "" : " " + unit->second;
        const auto note = [&](const std::string& which, double one) {
          const std::string column = "metric " + name + which + of;
          metrics_[trial.id][column] = one;
          metric_names_.insert(column);
        };
        note("", value);
        const auto extremes = trial.extremes_of_metrics.find(name);
        if (extremes == trial.extremes_of_metrics.end()) continue;
        note(" least", extremes->second.first);
        note(" highest", extremes->second.second);
      }
    }
    Statement d = store.database().prepare(
        "SELECT trial, axis, group_concat(DISTINCT applied), min(delivered), max(delivered) FROM settings "
        "GROUP BY trial, axis");
    while (d.step()) delivered_[{d.integer(0), d.text(1)}] = {d.text(2), d.maybe_real(3), d.maybe_real(4)};
  }

  void write(TableWriter& out) {
    out.head(head());
    for (std::size_t i = 0; i < trials_.size(); ++i) out.row(row(i));
    out.finish();
  }

 private:
  // What was set stands between which trial it was and how it went.
  static constexpr const char* last_before_axes = "started_at";

  // An axis may have a name that a column has already.
  std::string axis_title(const std::string& axis) const {
    const bool taken = std::any_of(view_.columns.begin(), view_.columns.end(),
                                   [&](const Column& column) { return column.name == axis; });
    return taken ? "axis " + axis : axis;
  }

  std::vector<Column> head() const {
    std::vector<Column> head;
    for (const Column& column : view_.columns) {
      head.push_back(column);
      if (column.name != last_before_axes) continue;
      for (const AxisColumn& axis : axes_) {
        head.push_back({axis_title(axis.name), axis.numeric ? Type::real : Type::text});
        if (!axis.knob) continue;
        head.push_back({axis.name + " applied", Type::text});
        head.push_back({axis.name + " delivered_min", Type::real});
        head.push_back({axis.name + " delivered_max", Type::real});
      }
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

  std::vector<Cell> row(std::size_t which) {
    const TrialRow& trial = trials_[which];
    std::vector<Cell> cells;
    for (std::size_t c = 0; c < view_.columns.size(); ++c) {
      cells.push_back(view_.rows[which][c]);
      if (view_.columns[c].name != last_before_axes) continue;
      for (const AxisColumn& axis : axes_) add_axis(cells, trial, axis);
    }
    const auto& mine = metrics_[trial.id];
    for (const std::string& name : metric_names_) {
      const auto found = mine.find(name);
      cells.push_back(cell(found == mine.end() ? std::nullopt : std::optional(found->second)));
    }
    return cells;
  }

  std::vector<TrialRow> trials_;
  std::vector<AxisColumn> axes_;
  View view_;
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
