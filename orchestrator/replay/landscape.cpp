#include "orchestrator/replay/landscape.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"

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
};

Table read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw Error(ExitCode::bad_experiment, fmt::format("'{}' cannot be read", printable(path)),
                "name a table of recorded settings; `dvfs-plan replay --help` says its columns");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string bytes = text.str();
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
  };
  csv_parse(&parser, bytes.data(), bytes.size(), field, end, &table);
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
};

class Reader {
 public:
  Reader(const std::string& path, std::vector<std::string>& notes)
      : path_(path), notes_(notes), table_(read_table(path)) {}

  std::vector<Landscape> read() {
    if (table_.rows.empty()) fail(1, "is empty", "its first line names the columns");
    const auto& head = table_.rows.front();
    for (std::size_t c = 0; c < head.size(); ++c) columns_[std::string(trim(head[c]))] = c;
    for (const char* needed : {"device", "workload", "seconds", "joules"}) {
      if (!columns_.contains(needed))
        fail(1, fmt::format("has no column '{}'", needed),
             "the first line must hold "
             "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts");
    }
    for (std::size_t r = 1; r < table_.rows.size(); ++r) add(r);
    std::vector<Landscape> landscapes;
    for (const auto& [name, group] : groups_) {
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
      fail(row + 1, fmt::format("holds '{}' in column '{}', which is no number", printable(*text), column),
           "leave a field empty where nothing is known");
    return known;
  }

  void add(std::size_t row) {
    const std::string *device = at(row, "device"), *workload = at(row, "workload");
    if (device == nullptr || workload == nullptr) return;
    const auto seconds = value(row, "seconds"), joules = value(row, "joules");
    constexpr double largest = 1e15;
    for (const auto& [name, v] : {std::pair{"seconds", seconds}, std::pair{"joules", joules}}) {
      if (v && *v > 0 && (*v > largest || *v < 1 / largest))
        fail(row + 1, fmt::format("holds {:g} in column '{}'", *v, name),
             "such a value is no measurement; mend or delete the row");
    }
    if (!seconds || !joules || *seconds <= 0 || *joules <= 0) {
      notes_.push_back(fmt::format("{}:{}: left out: no time or no energy", printable(path_), row + 1));
      return;
    }
    Setting setting;
    for (const Column& column : setting_columns) {
      setting.push_back(value(row, column.name));
      if (setting.back() && (*setting.back() <= 0 || *setting.back() > 1e9))
        fail(row + 1, fmt::format("holds {:g} in column '{}'", *setting.back(), column.name),
             "a clock or power limit is above 0");
    }
    groups_[{*device, *workload}].records[setting].push_back({*seconds, *joules});
  }

  Landscape landscape(const std::string& device, const std::string& workload, const Group& group) const {
    Landscape result;
    result.device = device;
    result.workload = workload;
    Plan& plan = result.plan;
    plan.experiment.conditions.idle = Seconds{0};
    std::vector<std::size_t> used;
    for (std::size_t c = 0; c < std::size(setting_columns); ++c) {
      std::set<double> numbers;
      for (const auto& [setting, records] : group.records) {
        if (setting[c]) numbers.insert(*setting[c]);
      }
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
      bool whole = true;
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

int Landscape::best() const {
  int best = 0;
  for (int p = 1; p < static_cast<int>(records.size()); ++p) {
    if (joules(p) < joules(best)) best = p;
  }
  return best;
}

std::vector<Landscape> read_landscapes(const std::string& path, std::vector<std::string>& notes) {
  return Reader(path, notes).read();
}

}  // namespace dvfs_plan
