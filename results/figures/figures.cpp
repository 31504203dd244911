#include "results/figures/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/amounts.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {
namespace {

// What is drawn of a quantity: its mean with its 95 % half-width; where not all points count in the same blocks, and their means do not
// compare, what is left with the blocks' level taken out, of which there is none.
struct Drawn {
  double value = 0;
  std::optional<double> half;

  Drawn(const Estimate& mean, const std::optional<double>& level)
      : value(level.value_or(mean.mean)), half(level ? std::nullopt : mean.half_width) {}
  // What is not known is not drawn: gnuplot leaves out rows with NaN.
  std::string half_width() const { return half ? fmt::format("{:.9g}", *half) : "NaN"; }
};

bool levelled(const ScenarioSummary& scenario) {
  return std::any_of(scenario.points.begin(), scenario.points.end(),
                     [](const PointSummary& p) { return p.energy_level || p.time_level; });
}

constexpr const char* without_blocks = "with the blocks' level taken out";

// In single quotes gnuplot expands nothing: no escapes, no variables, no `commands`.
std::string gnuplot_quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : printable(text)) {
    safe += c;
    if (c == '\'') safe += '\'';
  }
  return safe + "'";
}

std::string preamble(const std::string& file, FigureFormat format, const std::string& title) {
  const std::string terminal =
      format == FigureFormat::svg
          ? "set terminal svg size 900,560 dynamic noenhanced font 'sans,14' background 'white'"
          : "set terminal pngcairo size 1350,840 noenhanced font 'sans,16' background 'white'";
  return fmt::format(
      "{}\nset encoding utf8\nset output {}\nset title {}\nset grid lc rgb '#d9d9d9'\nset key outside bottom "
      "center horizontal\n"
      "set style line 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.8\nset style line 2 lc rgb '#e69f00' lw 2 pt 5 ps "
      "0.8\n"
      "set style line 3 lc rgb '#009e73' lw 2 pt 9 ps 0.9\nset style line 4 lc rgb '#cc79a7' lw 2 pt 11 ps "
      "0.9\n"
      "set style line 5 lc rgb '#d55e00' lw 2 pt 13 ps 0.9\nset style line 6 lc rgb '#56b4e9' lw 2 pt 6 ps "
      "0.9\n",
      terminal, gnuplot_quoted(file), gnuplot_quoted(title));
}

// The unit an axis is written in: "MHz" of "1980 MHz", and what a number of it is worth.
struct AxisUnit {
  std::string name;
  double factor = 1;
};

AxisUnit unit_of(const std::string& axis, const std::vector<PointSummary>& points) {
  AxisUnit unit;
  double largest = 0;
  for (const PointSummary& point : points) {
    for (const AxisSetting& setting : point.settings) {
      if (setting.axis != axis || !setting.number || *setting.number <= largest) continue;
      const auto space = setting.text.find(' ');
      const auto number = parse_number(setting.text.substr(0, space));
      if (space == std::string::npos || !number || *number == 0) continue;
      largest = *setting.number;
      unit = {setting.text.substr(space + 1), *setting.number / *number};
    }
  }
  return unit;
}

const AxisSetting* setting_of(const PointSummary& point, const std::string& axis) {
  const auto found = std::find_if(point.settings.begin(), point.settings.end(),
                                  [&](const AxisSetting& s) { return s.axis == axis; });
  return found == point.settings.end() ? nullptr : &*found;
}

// The first axis that takes several values; numbers are preferred.
std::optional<std::string> main_axis(const std::vector<PointSummary>& points) {
  std::map<std::string, std::set<std::string>> texts;
  std::map<std::string, bool> numeric;
  std::vector<std::string> order;
  for (const PointSummary& point : points) {
    for (const AxisSetting& setting : point.settings) {
      if (texts[setting.axis].empty()) order.push_back(setting.axis);
      texts[setting.axis].insert(setting.text);
      const auto [known, is_new] = numeric.try_emplace(setting.axis, true);
      known->second = known->second && setting.number.has_value();
    }
  }
  for (const std::string& axis : order) {
    if (texts[axis].size() > 1 && numeric[axis]) return axis;
  }
  return std::nullopt;
}

// A point is drawn where the hardware was, not where it was asked to be.
double clock_that_ran(const PointSummary& point, const AxisSetting& setting) {
  const auto instead = point.delivered_instead.find(setting.axis);
  return instead == point.delivered_instead.end() ? *setting.number
                                                  : (instead->second.low_hz + instead->second.high_hz) / 2;
}

std::string others(const PointSummary& point, const std::string& axis, const std::set<std::string>& varying) {
  std::vector<std::string> texts;
  for (const AxisSetting& setting : point.settings) {
    if (setting.axis != axis && varying.contains(setting.axis))
      texts.push_back(setting.axis + " = " + setting.text);
  }
  return join(texts, ", ");
}

std::set<std::string> varying_axes(const std::vector<PointSummary>& points) {
  std::map<std::string, std::set<std::string>> texts;
  for (const PointSummary& point : points) {
    for (const AxisSetting& setting : point.settings) texts[setting.axis].insert(setting.text);
  }
  std::set<std::string> varying;
  for (const auto& [axis, values] : texts) {
    if (values.size() > 1) varying.insert(axis);
  }
  return varying;
}

std::string per_text(const ScenarioSummary& scenario) {
  return counts_units(scenario) ? " per " + unit_of_work(scenario) : "";
}

constexpr const char* star = "pt 3 ps 2.2 lw 2 lc rgb '#d55e00'";

std::optional<std::string> settings_script(const ScenarioSummary& scenario, const std::string& file,
                                           FigureFormat format) {
  const auto axis = main_axis(scenario.points);
  if (!axis) return std::nullopt;
  const AxisUnit unit = unit_of(*axis, scenario.points);
  const auto varying = varying_axes(scenario.points);
  std::map<std::string, std::string> lines;  // by the other settings: rows of x, energy, half-width
  std::vector<std::string> order;
  std::string best;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const PointSummary& point = scenario.points[i];
    const AxisSetting* setting = setting_of(point, *axis);
    if (setting == nullptr || !point.work_energy) continue;
    const std::string group = others(point, *axis, varying);
    if (!lines.contains(group)) order.push_back(group);
    const Drawn energy(*point.work_energy, point.energy_level);
    const std::string row = fmt::format("{:.9g} {:.9g} {}\n", clock_that_ran(point, *setting) / unit.factor,
                                        energy.value, energy.half_width());
    lines[group] += row;
    if (scenario.best == i) best = row;
  }
  if (lines.empty()) return std::nullopt;
  std::string script = preamble(file, format, scenario.scenario);
  script += fmt::format(
      "set xlabel {}\nset ylabel {}\n",
      gnuplot_quoted(unit.name.empty() ? *axis : fmt::format("{} ({})", *axis, unit.name)),
      gnuplot_quoted(fmt::format("energy{} (J), {}", per_text(scenario),
                                 levelled(scenario) ? without_blocks : "95 % intervals where known")));
  std::vector<std::string> plots;
  for (std::size_t g = 0; g < order.size(); ++g) {
    script += fmt::format("$line{} << END\n{}END\n", g, lines[order[g]]);
    const std::size_t style = g % 6 + 1;
    plots.push_back(
        fmt::format("$line{0} using 1:2 with linespoints ls {1} title {2}, $line{0} using 1:2:3 with "
                    "yerrorbars ls {1} notitle",
                    g, style, gnuplot_quoted(order[g].empty() ? "energy" : order[g])));
  }
  if (!best.empty()) {
    script += fmt::format("$best << END\n{}END\n", best);
    plots.push_back(fmt::format("$best using 1:2 with points {} title 'best'", star));
  }
  return script + "plot " + join(plots, ", \\\n     ") + "\n";
}

std::optional<std::string> trade_off_script(const ScenarioSummary& scenario, const std::string& file,
                                            FigureFormat format) {
  std::string all, best, reference;
  std::vector<std::pair<double, std::string>> front;
  int known = 0;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const PointSummary& point = scenario.points[i];
    if (!point.work_energy || !point.work_time) continue;
    ++known;
    const Drawn time(*point.work_time, point.time_level), energy(*point.work_energy, point.energy_level);
    const std::string row = fmt::format("{:.9g} {:.9g} {} {}\n", time.value, energy.value, time.half_width(),
                                        energy.half_width());
    all += row;
    if (scenario.best == i) best = row;
    if (point.is_reference) reference = row;
    if (point.on_pareto_front) front.emplace_back(time.value, row);
  }
  if (known < 2) return std::nullopt;
  std::sort(front.begin(), front.end());
  std::string script = preamble(file, format, scenario.scenario);
  script += fmt::format(
      "set xlabel {}\nset ylabel {}\nset offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04\n",
      gnuplot_quoted(fmt::format("time{} (s)", per_text(scenario))),
      gnuplot_quoted(fmt::format("energy{} (J)", per_text(scenario))));
  std::string on_front;
  for (const auto& [time, row] : front) on_front += row;
  script += fmt::format("$all << END\n{}END\n$front << END\n{}END\n", all, on_front);
  std::vector<std::string> plots{
      "$front using 1:2 with lines lw 2 lc rgb '#e69f00' title 'Pareto front'",
      fmt::format("$all using 1:2 with points lc rgb '#56b4e9' pt 7 ps 0.6 title {}",
                  gnuplot_quoted(fmt::format(
                      "settings, {}", levelled(scenario) ? without_blocks : "95 % intervals where known"))),
      "$all using 1:2:3:4 with xyerrorbars lc rgb '#56b4e9' pt 7 ps 0.6 notitle"};
  for (const auto& [name, rows, style] :
       {std::tuple{"reference", reference, "pt 5 ps 1.6 lc rgb '#0072b2'"}, std::tuple{"best", best, star}}) {
    if (rows.empty()) continue;
    script += fmt::format("${} << END\n{}END\n", name, rows);
    plots.push_back(fmt::format("${0} using 1:2 with points {1} title '{0}'", name, style));
  }
  return script + "plot " + join(plots, ", \\\n     ") + "\n";
}

}  // namespace

std::vector<Figure> figures(const Summary& summary, const std::string& prefix, FigureFormat format) {
  std::vector<Figure> all;
  const char* ending = format == FigureFormat::svg ? "svg" : "png";
  for (std::size_t i = 0; i < summary.scenarios.size(); ++i) {
    const ScenarioSummary& scenario = summary.scenarios[i];
    const std::string number = summary.scenarios.size() > 1 ? fmt::format("-{}", i + 1) : "";
    const std::string settings = fmt::format("{}{}-settings.{}", prefix, number, ending),
                      trade_off = fmt::format("{}{}-trade-off.{}", prefix, number, ending);
    if (auto script = settings_script(scenario, settings, format)) all.push_back({settings, *script});
    if (auto script = trade_off_script(scenario, trade_off, format)) all.push_back({trade_off, *script});
  }
  return all;
}

}  // namespace dvfs_plan
