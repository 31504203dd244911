#include "results/report/sparklines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "results/report/amounts.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t most_lines = 8, most_values = 60;

std::string numeric_axis_with_most_values(const ScenarioSummary& scenario) {
  std::map<std::string, std::set<double>> values;
  std::set<std::string> words;
  for (const PointSummary& point : scenario.points) {
    for (const AxisSetting& setting : point.settings) {
      if (setting.number)
        values[setting.axis].insert(*setting.number);
      else
        words.insert(setting.axis);
    }
  }
  std::string most;
  for (const auto& [axis, numbers] : values) {
    if (!words.contains(axis) && numbers.size() >= 3 &&
        (most.empty() || numbers.size() > values[most].size()))
      most = axis;
  }
  return most;
}

std::optional<double> mean_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->mean) : std::nullopt;
}

struct Line {
  std::vector<const PointSummary*> points;
  bool best = false;
};

}  // namespace

std::string sparkline(const std::vector<std::optional<double>>& values) {
  static constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::optional<double> least, most;
  for (const auto& value : values) {
    if (!value) continue;
    least = std::min(least.value_or(*value), *value);
    most = std::max(most.value_or(*value), *value);
  }
  if (!least || *least == *most) return {};
  std::string line;
  for (const auto& value : values) {
    if (!value) {
      line += "·";
      continue;
    }
    const double share = (*value - *least) / (*most - *least);
    line += heights[std::min<std::size_t>(7, static_cast<std::size_t>(share * 8))];
  }
  return line;
}

std::string sparkline_table(const ScenarioSummary& scenario) {
  const std::string axis = numeric_axis_with_most_values(scenario);
  if (axis.empty()) return {};
  std::map<std::string, Line> lines;
  std::vector<std::string> order;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const PointSummary& point = scenario.points[i];
    std::vector<std::string> others;
    for (const AxisSetting& setting : point.settings) {
      const bool in_name = scenario.scenario.find(" " + setting.axis + "=") != std::string::npos;
      if (setting.axis != axis && !in_name) others.push_back(setting.axis + " = " + setting.text);
    }
    const std::string group = join(others, ", ");
    if (!lines.contains(group)) order.push_back(group);
    lines[group].points.push_back(&point);
    lines[group].best = lines[group].best || scenario.best == i;
  }
  std::stable_partition(order.begin(), order.end(),
                        [&](const std::string& group) { return lines[group].best; });
  const std::size_t all = order.size();
  const auto setting = [&](const PointSummary& point) {
    for (const AxisSetting& s : point.settings) {
      if (s.axis == axis) return printable(setting_value_text(point, s));
    }
    return std::string();
  };
  // Where something is left out lines may begin and end at different values.
  const auto range = [&](const std::string& group) {
    const auto& points = lines[group].points;
    return fmt::format(", from {} to {}", setting(*points.front()), setting(*points.back()));
  };
  std::erase_if(order, [&](const std::string& group) {
    const auto& points = lines[group].points;
    return points.size() < 3 || points.size() > most_values;
  });
  if (order.empty()) return {};
  if (order.size() > most_lines) order.resize(most_lines);
  const bool one_range = std::all_of(order.begin(), order.end(), [&](const std::string& group) {
    return range(group) == range(order.front());
  });
  TextTable table;
  for (const std::string& group : order) {
    const auto& points = lines[group].points;
    const auto row = [&](const char* name, const char* unit, auto of) {
      std::vector<std::optional<double>> values;
      double least = 0, most = 0;
      bool first = true;
      for (const PointSummary* point : points) {
        const std::optional<double> value = of(*point);
        values.push_back(value);
        if (!value) continue;
        least = first ? *value : std::min(least, *value);
        most = first ? *value : std::max(most, *value);
        first = false;
      }
      const std::string line = sparkline(values);
      if (!line.empty())
        table.row({" ", name, line, amounts_from_to(least, most, unit),
                   printable(group) + (one_range ? "" : range(group))});
    };
    row("energy", "J",
        [](const PointSummary& p) { return p.energy_level ? p.energy_level : mean_of(p.work_energy); });
    if (all == 1) {
      row("time", "s",
          [](const PointSummary& p) { return p.time_level ? p.time_level : mean_of(p.work_time); });
      if (scenario.balanced) row("power", "W", [](const PointSummary& p) { return mean_of(p.power); });
    }
  }
  const std::string text = table.text({});
  if (text.empty()) return {};
  return fmt::format(
      "\nOver {}{}{}{}:\n{}", printable(axis), one_range ? range(order.front()) : "",
      scenario.balanced ? "" : ", with the blocks' level taken out",
      all > order.size() ? fmt::format("; {} of {} settings of the others", order.size(), all) : "", text);
}

}  // namespace dvfs_plan
