#include "orchestrator/replay/landscape.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "experiments/plan/question.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {
namespace {

struct Column {
  const char* name;
  const char* axis;  // of settings; nullptr: not one
  Dimension dimension;
  double unit;  // of a number, in SI
};
constexpr Column setting_columns[] = {{"core_mhz", "core", Dimension::frequency, 1e6},
                                      {"mem_mhz", "memory", Dimension::frequency, 1e6},
                                      {"power_limit_w", "power_limit", Dimension::power, 1}};

struct Table {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::vector<std::size_t> lines;  // of the file: where each row ends
  std::size_t line = 1;
};

Table read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw Error(ExitCode::bad_experiment, fmt::format("'{}' cannot be read", printable(path)),
                "name a table of recorded settings; `dvfs-plan replay --help` says its columns");
  std::ostringstream text;
  text << file.rdbuf();
  std::string bytes = text.str();
  // Spreadsheets put a byte order mark in front of UTF-8; what they write as UTF-16 is no such table.
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"))
    throw Error(ExitCode::bad_experiment, fmt::format("{}:1: the table is UTF-16", printable(path)),
                "save it as CSV in UTF-8");
  Table table;
  csv_parser parser;
  csv_init(&parser, CSV_APPEND_NULL);
  const auto field = [](void* value, std::size_t length, void* into) {
    static_cast<Table*>(into)->row.emplace_back(static_cast<const char*>(value), length);
  };
  const auto end = [](int, void* into) {
    auto* t = static_cast<Table*>(into);
    t->rows.push_back(std::move(t->row));
    t->row.clear();
    t->lines.push_back(t->line);
  };
  // Line by line: blank ones make no row, and a field in quotes may be of several.
  for (std::size_t at = 0; at < bytes.size(); ++table.line) {
    std::size_t next = std::min(bytes.find_first_of("\r\n", at), bytes.size() - 1) + 1;
    if (bytes[next - 1] == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
    csv_parse(&parser, bytes.data() + at, next - at, field, end, &table);
    at = next;
  }
  table.line -= table.line > 1 ? 1 : 0;  // a last one without its end
  csv_fini(&parser, field, end, &table);
  csv_free(&parser);
  return table;
}

std::optional<double> number(const std::string& text) {
  const std::string_view t = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
  if (t.empty() || error != std::errc() || end != t.data() + t.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

using Setting = std::vector<std::optional<double>>;  // one a setting column

struct Group {
  std::map<Setting, std::vector<Landscape::Record>> records;
  // Where each repeat stands: by its number or, without one, by its figures.
  std::map<std::pair<Setting, std::string>, std::size_t> rows;
};

constexpr const char* all_columns =
    "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts";

class Reader {
 public:
  Reader(const std::string& path, std::vector<std::string>& notes)
      : path_(path), notes_(notes), table_(read_table(path)) {}

  std::vector<Landscape> read() {
    if (table_.rows.empty()) fail(1, "is empty", "its first line names the columns");
    read_head(table_.rows.front());
    for (std::size_t r = 1; r < table_.rows.size(); ++r) add(r);
    std::vector<Landscape> landscapes;
    for (const auto& [name, group] : groups_) {
      refuse_mixed_units(name.second, group);
      auto one = landscape(name.first, name.second, group);
      if (!one.plan.points.empty()) landscapes.push_back(std::move(one));
    }
    if (landscapes.empty()) fail(1, "has no row with seconds and joules", "nothing can be played on it");
    return landscapes;
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& what, const std::string& next) const {
    throw Error(ExitCode::bad_experiment, fmt::format("{}:{}: the table {}", printable(path_), line, what),
                next);
  }

  std::size_t line_of(std::size_t row) const { return table_.lines[row]; }

  const std::string* at(std::size_t row, const std::string& column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= table_.rows[row].size()) return nullptr;
    return &table_.rows[row][found->second];
  }

  std::optional<double> value(std::size_t row, const std::string& column) const {
    const std::string* text = at(row, column);
    if (text == nullptr || trim(*text).empty()) return std::nullopt;
    const auto known = number(*text);
    if (!known)
      fail(line_of(row),
           fmt::format("holds '{}' in column '{}', which is no number", printable(*text), column),
           "leave a field empty where nothing is known");
    return known;
  }

  void read_head(const std::vector<std::string>& head) {
    if (head.size() == 1 && head.front().find(';') != std::string::npos)
      fail(1, "has semicolons between its columns", "write commas between fields and points in decimals");
    std::vector<std::string> known;
    for (const auto& part : std::views::split(std::string_view(all_columns), ','))
      known.emplace_back(part.begin(), part.end());
    for (std::size_t c = 0; c < head.size(); ++c) {
      const std::string name(trim(head[c]));
      // A misspelt axis would be no axis, and its settings repeats of one.
      if (std::find(known.begin(), known.end(), name) == known.end())
        fail(1,
             fmt::format("has a column '{}', which is not one of its kind{}", printable(name),
                         did_you_mean(name, known)),
             fmt::format("rename or delete it; the columns are {}", all_columns));
      if (!columns_.emplace(name, c).second)
        fail(1, fmt::format("has the column '{}' twice", name), "delete one of them");
    }
    for (const char* needed : {"device", "workload", "seconds", "joules"}) {
      if (!columns_.contains(needed))
        fail(1, fmt::format("has no column '{}'", needed),
             fmt::format("the first line must hold {}", all_columns));
    }
  }

  void add(std::size_t row) {
    const auto& fields = table_.rows[row];
    if (std::all_of(fields.begin(), fields.end(), [](const std::string& f) { return trim(f).empty(); }))
      return;
    if (fields.size() != columns_.size())
      fail(line_of(row),
           fmt::format("has {} fields where the first line names {}", fields.size(), columns_.size()),
           "write points in decimals, and quote a name that holds a comma");
    const std::string *device = at(row, "device"), *workload = at(row, "workload");
    const auto seconds = value(row, "seconds"), joules = value(row, "joules"),
               watts = value(row, "avg_watts");
    constexpr double largest = 1e15;
    for (const auto& [name, v] : {std::pair{"seconds", seconds}, std::pair{"joules", joules}}) {
      if (v && (*v < 0 || (*v > 0 && (*v > largest || *v < 1 / largest))))
        fail(line_of(row), fmt::format("holds {:g} in column '{}'", *v, name),
             "such a value is no measurement; mend or delete the row");
    }
    if (!seconds || !joules || *seconds <= 0 || *joules <= 0) {
      notes_.push_back(fmt::format("{}:{}: left out: no time or no energy", printable(path_), line_of(row)));
      return;
    }
    Setting setting;
    for (const Column& column : setting_columns) {
      setting.push_back(value(row, column.name));
      if (setting.back() && (*setting.back() <= 0 || *setting.back() > 1e9))
        fail(line_of(row), fmt::format("holds {:g} in column '{}'", *setting.back(), column.name),
             "a clock or power limit is above 0, and at most 1e9");
    }
    // Rounding and separate meters make some per cent; a unit makes a thousand.
    constexpr double units_differ = 3;
    if (watts && *watts > 0 && std::abs(std::log(*joules / *seconds / *watts)) > std::log(units_differ))
      fail(line_of(row),
           fmt::format("says {:g} W on average, but {:g} J in {:g} s are {:g} W", *watts, *joules, *seconds,
                       *joules / *seconds),
           "write seconds, joules and watts");
    Group& group = groups_[{*device, *workload}];
    const std::string* repeat = at(row, "repeat");
    const std::string which = repeat != nullptr ? std::string(trim(*repeat)) : "";
    const auto [first, is_new] = group.rows.emplace(
        std::pair{setting, which.empty() ? fmt::format("{} {}", *seconds, *joules) : which}, line_of(row));
    if (!is_new)
      fail(line_of(row),
           fmt::format("says again what line {} says of this setting{}", first->second,
                       which.empty() ? "" : fmt::format(" and repeat {}", printable(which))),
           "number the repeats in the column 'repeat', or delete the row");
    group.records[setting].push_back({*seconds, *joules});
  }

  // Within a workload too: a row in mJ among rows in J would be the best by far.
  void refuse_mixed_units(const std::string& workload, const Group& group) const {
    constexpr double widest = 300;  // clusters of phones from 0.06 to 1.6 W, boards from 40 to 700 W
    double least = INFINITY, most = 0;
    for (const auto& [setting, records] : group.records) {
      for (const auto& record : records) {
        least = std::min(least, record.joules / record.seconds);
        most = std::max(most, record.joules / record.seconds);
      }
    }
    if (most > widest * least)
      fail(1,
           fmt::format("has power from {:g} to {:g} W for '{}': the units of its rows differ", least, most,
                       printable(workload)),
           "write seconds and joules in every row");
    for (std::size_t c = 0; c < std::size(setting_columns); ++c) {
      double low = INFINITY, high = 0;
      for (const auto& [setting, records] : group.records) {
        if (!setting[c]) continue;
        low = std::min(low, *setting[c]);
        high = std::max(high, *setting[c]);
      }
      if (high > widest * low)
        fail(1,
             fmt::format("has {:g} to {:g} in column '{}' for '{}': the units of its rows differ", low, high,
                         setting_columns[c].name, printable(workload)),
             "write MHz for clocks and W for limits in every row");
    }
  }

  Landscape landscape(const std::string& device, const std::string& workload, const Group& group) const {
    Landscape result;
    result.device = device;
    result.workload = workload;
    Plan& plan = result.plan;
    plan.experiment.conditions.idle = Seconds{0};
    std::vector<std::size_t> used, alike;  // columns with several values, and with one
    for (std::size_t c = 0; c < std::size(setting_columns); ++c) {
      std::set<double> numbers;
      for (const auto& [setting, records] : group.records) {
        if (setting[c]) numbers.insert(*setting[c]);
      }
      if (numbers.size() == 1) alike.push_back(c);
      if (numbers.size() < 2) continue;
      used.push_back(c);
      PlanAxis axis{setting_columns[c].axis, true, setting_columns[c].dimension, {}};
      for (const double n : numbers)
        axis.values.push_back(
            {format_quantity(n * setting_columns[c].unit, axis.dimension), n * setting_columns[c].unit});
      plan.axes.push_back(axis);
    }
    for (const auto& [setting, records] : group.records) {
      PlanPoint point;
      bool whole =
          std::all_of(alike.begin(), alike.end(), [&](std::size_t c) { return setting[c].has_value(); });
      for (std::size_t a = 0; a < used.size(); ++a) {
        const auto& n = setting[used[a]];
        whole = whole && n.has_value();
        if (!n) continue;
        const double si = *n * setting_columns[used[a]].unit;
        point.values.push_back(AxisValue{format_quantity(si, plan.axes[a].dimension), si});
        point.key += fmt::format("{}{}={}", point.key.empty() ? "" : " ", plan.axes[a].name,
                                 point.values.back()->text);
      }
      if (!whole) {
        notes_.push_back(fmt::format("{}: left out: a row of '{}' says some of its settings and not others",
                                     printable(path_), printable(workload)));
        continue;
      }
      point.scenario = workload;
      point.operating_point = point.key;
      plan.points.push_back(point);
      result.records.push_back(records);
    }
    if (plan.points.empty()) return result;
    // As without a `reference` in the experiment: the highest of every axis, the first axis first.
    std::size_t reference = 0;
    for (std::size_t i = 1; i < plan.points.size(); ++i) {
      for (std::size_t a = 0; a < plan.axes.size(); ++a) {
        const double mine = *plan.points[i].values[a]->number,
                     other = *plan.points[reference].values[a]->number;
        if (mine == other) continue;
        if (mine > other) reference = i;
        break;
      }
    }
    plan.points[reference].reference = true;
    return result;
  }

  std::string path_;
  std::vector<std::string>& notes_;
  Table table_;
  std::map<std::string, std::size_t> columns_;
  std::map<std::pair<std::string, std::string>, Group> groups_;
};

double mean_of(const std::vector<Landscape::Record>& records, double Landscape::Record::*what) {
  double sum = 0;
  for (const auto& record : records) sum += record.*what;
  return sum / static_cast<double>(records.size());
}

}  // namespace

double Landscape::seconds(int point) const {
  return mean_of(records[static_cast<std::size_t>(point)], &Record::seconds);
}

double Landscape::joules(int point) const {
  return mean_of(records[static_cast<std::size_t>(point)], &Record::joules);
}

double Landscape::objective(int point) const {
  // Of each repeat, as a night does: the mean of products is not the product of means.
  double sum = 0;
  const auto& all = records[static_cast<std::size_t>(point)];
  for (const Record& record : all)
    sum += *objective_value(plan.experiment.objective, record.joules, record.seconds);
  return sum / static_cast<double>(all.size());
}

bool Landscape::holds_constraints(int point) const {
  for (const ConstraintSpec& constraint : plan.experiment.objective.constraints) {
    double value = seconds(point);
    if (constraint.name == "energy") value = joules(point);
    if (constraint.name == "power") value = joules(point) / seconds(point);
    if (constraint.name == "slowdown") {
      const auto reference = std::find_if(plan.points.begin(), plan.points.end(),
                                          [](const PlanPoint& p) { return p.reference; });
      value = value / seconds(static_cast<int>(reference - plan.points.begin())) - 1;
    }
    if (!holds(constraint.relation, value, constraint.limit)) return false;
  }
  return true;
}

int Landscape::constrained_best() const {
  int best = -1;
  for (int p = 0; p < static_cast<int>(records.size()); ++p) {
    if (holds_constraints(p) && (best < 0 || objective(p) < objective(best))) best = p;
  }
  return best;
}

int Landscape::best() const {
  int best = 0;
  for (int p = 1; p < static_cast<int>(records.size()); ++p) {
    if (objective(p) < objective(best)) best = p;
  }
  return best;
}

ObjectiveSpec objective_of_tables(const std::string& text) {
  constexpr const char* hint =
      "write it as in an experiment: edp, or '{minimise: energy, subject to: {slowdown: 5 %}}'";
  const ObjectiveSpec objective = parse_objective_words(text, "--objective", hint);
  const auto refuse = [](const std::string& why) {
    throw Error(ExitCode::bad_experiment, "--objective: " + why, hint);
  };
  if (!objective.per.empty() || !objective.across.empty() || objective.energy_of)
    refuse("a table tells neither units of work nor domains: leave out 'per', 'across' and 'of'");
  for (const ConstraintSpec& constraint : objective.constraints) {
    if (constraint.name != "slowdown" && constraint.name != "power" && constraint.name != "time" &&
        constraint.name != "energy")
      refuse(fmt::format("a table has no metric '{}': slowdown, power, time and energy can be constrained",
                         printable(constraint.name)));
  }
  return objective;
}

std::vector<Landscape> read_landscapes(const std::string& path, std::vector<std::string>& notes) {
  return Reader(path, notes).read();
}

}  // namespace dvfs_plan
