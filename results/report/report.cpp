#include "results/report/report.hpp"
#include "results/report/against_meter.hpp"
#include "results/report/question_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/amounts.hpp"
#include "results/report/asked.hpp"
#include "results/report/causes.hpp"
#include "results/report/cells.hpp"
#include "results/report/nodes.hpp"
#include "results/report/overview.hpp"
#include "results/report/side_by_side.hpp"
#include "results/report/sparklines.hpp"
#include "results/report/text_table.hpp"
#include "results/report/units_told.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

// "hold", "not slowdown <= 5 %".
std::string constraint_cell(const PointSummary& point) {
  std::string text;
  bool shown = true;  // those that hold, by their whole intervals
  for (const ConstraintCheck& check : point.constraints) {
    if (check.holds == true) {
      shown = shown && check.certain == true;
      continue;
    }
    if (!text.empty()) text += "; ";
    text += !check.holds       ? check.text + ": not known"
            : check.may_hold() ? "not shown: " + check.text
                               : "not " + check.text;
  }
  if (!text.empty()) return text;
  return shown ? "hold" : "hold by the mean alone";
}

// What is told of sensors was found before a session's first trial.
std::string refused_since(const std::map<std::string, int>& not_counted) {
  std::map<std::string, int> causes;
  int trials = 0;
  for (const auto& [verdict, count] : not_counted) {
    if (!verdict.starts_with("sensor_")) continue;
    trials += count;
    causes.emplace(verdict, count);
  }
  if (trials == 0) return {};
  return fmt::format(
      "  so it was before the first trial; {} since {} count for what a sensor told, or did not: {}\n",
      counted(trials, "trial"), trials == 1 ? "does not" : "do not", causes_text(causes));
}

void scenario_table(const ScenarioSummary& scenario, std::string& text, const TextLook& look) {
  text += fmt::format("\n{}\n", printable(scenario.scenario));
  TextTable table;
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
  const bool in_units = counts_units(scenario);
  if (per_unit) head.push_back("energy/" + printable(unit_of_work(scenario)));
  if (above_idle) head.emplace_back("above idle");
  head.emplace_back("time");
  if (in_units) {
    head.push_back("time/" + printable(unit_of_work(scenario)));
    head.push_back(printable(units_of_work(scenario)) + "/s");
  }
  for (const char* name : {"mean power", "saving", "slowdown"}) head.emplace_back(name);
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
    if (in_units) {
      cells.push_back(cell(point.work_time, "s"));
      cells.push_back(cell(throughput(point), ""));
    }
    cells.push_back(cell(point.power, "W"));
    cells.push_back(point.is_reference ? "reference" : cell(point.saving));
    cells.push_back(point.is_reference ? "" : cell(point.slowdown));
    if (!point.constraints.empty()) cells.push_back(constraint_cell(point));
    table.row(cells, best);
  }
  text += table.text(look);
}

// The model's curve with its band, beside what was run.
void search_table(const ScenarioSummary& scenario, std::string& text, const TextLook& look) {
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
  TextTable table;
  std::vector<std::string> head{" "};
  for (const AxisSetting& setting : shown.front()->settings) head.push_back(printable(setting.axis));
  for (const char* name : {"run", "model", "95 % band", "may be the best"}) head.emplace_back(name);
  table.row(head);
  const std::string unit = unit_of(scenario.objective);
  for (const SearchPoint* point : shown) {
    const bool best = point->point == scenario.search->best;
    std::vector<std::string> cells{best ? "*" : point->not_told_apart ? "~" : " "};
    for (const AxisSetting& setting : point->settings) cells.push_back(printable(setting.text));
    cells.emplace_back(point->run ? "yes" : "");
    cells.push_back(amount(point->objective.median, unit));
    const bool known = scenario.search->scatter_known;
    cells.push_back(known ? amounts_from_to(point->objective.low, point->objective.high, unit) : "—");
    cells.push_back(known ? fmt::format("{:.0f} %", 100 * point->objective.probability_best) : "—");
    table.row(cells, best);
  }
  text += fmt::format("\nWhat the model says of all {} settings{}:\n", scenario.search->points.size(),
                      shown.size() < scenario.search->points.size()
                          ? fmt::format("; the {} that matter most", shown.size())
                          : "");
  text += table.text(look);
}

// What a recheck was of: the best as it was then. "cpu.frequency = 1.8 GHz", "set.k = 1, which is not the best here".
std::string rechecked_setting(const Summary& summary, const std::string& scenario, const std::string& key) {
  for (const ScenarioSummary& one : summary.scenarios) {
    if (one.scenario != scenario) continue;
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      if (one.points[i].point != key) continue;
      return settings_text(one.points[i]) + (one.best == i ? "" : ", which is not the best here");
    }
  }
  return key + ", which the experiment has no more";
}

std::string question_of(const Summary& summary, const std::string& scenario) {
  for (const ScenarioSummary& one : summary.scenarios) {
    if (one.scenario == scenario) return question_text(one);
  }
  return {};
}

// "2026-12-24 w at cpu.frequency = 1.8 GHz: stands: 26.8 % [25.9, 27.7] less of the objective than the reference (27.1 % then)".
std::vector<std::string> rechecked_lines(Store& store, const Summary& summary) {
  std::vector<std::string> lines;
  Statement s = store.database().prepare(
      "SELECT substr(at, 1, 10), scenario, verdict, why, saving, saving_low, saving_high, saving_before, "
      "point, question FROM rechecks");
  while (s.step()) {
    const bool same = s.is_null(9) || s.text(9) == question_of(summary, s.text(1));
    std::string line = fmt::format(
        "{} {} at {}{}: {}", s.text(0), s.text(1), rechecked_setting(summary, s.text(1), s.text(8)),
        same ? "" : fmt::format(", asked then for {}, which is another question than here", s.text(9)),
        s.text(2) == "not_known" ? "not known yet" : s.text(2));
    if (const auto saving = s.maybe_real(4)) {
      line += fmt::format(": {:.1f} %", 100 * *saving);
      if (s.maybe_real(5)) line += fmt::format(" [{:.1f}, {:.1f}]", 100 * s.real(5), 100 * s.real(6));
      line += same ? " less of the objective than the reference" : " less of that than its reference";
      if (const auto then = s.maybe_real(7)) line += fmt::format(" ({:.1f} % then)", 100 * *then);
    }
    // Of one that stands what was found beside that: others that are better by its blocks.
    const std::string why = s.text(3);
    if (s.text(2) != "stands")
      line += "; " + why;
    else if (const auto beside = why.find("; "); beside != std::string::npos)
      line += why.substr(beside);
    lines.push_back(std::move(line));
  }
  return lines;
}

// Each cause at least once, then as many trials as fit.
std::string not_counted_lines(const std::vector<TrialRow>& trials) {
  constexpr std::size_t most_lines = 12;
  std::vector<const TrialRow*> firsts, others;
  std::set<std::string> causes;
  for (const TrialRow& trial : trials) {
    if (trial.verdict == "ok" || trial.censored() || trial.role == TrialRole::warm_up ||
        !trial.left_out.empty())
      continue;
    (causes.insert(trial.verdict).second ? firsts : others).push_back(&trial);
  }
  const std::size_t all = firsts.size() + others.size();
  if (firsts.size() < most_lines)
    others.resize(std::min(others.size(), most_lines - firsts.size()));
  else
    others.clear();
  firsts.insert(firsts.end(), others.begin(), others.end());
  std::stable_sort(firsts.begin(), firsts.end(),
                   [](const TrialRow* a, const TrialRow* b) { return a->id < b->id; });
  std::string text;
  for (const TrialRow* trial : firsts)
    text += fmt::format("  {}: {}: {}\n", printable(trial->key), printable(trial->verdict),
                        printable(trial->verdict_text));
  if (all > firsts.size())
    text += fmt::format("  ... and {} more; the page and `dvfs-plan export` list all\n", all - firsts.size());
  return text;
}

// What was noticed in trials, a line a kind: how often, and the first.
std::string noticed_lines(const std::vector<NoticedRow>& noticed) {
  struct Kind {
    const NoticedRow* first = nullptr;
    int times = 0;
  };
  std::map<std::string, Kind> kinds;
  std::vector<std::string> order;
  for (const NoticedRow& one : noticed) {
    Kind& kind = kinds[one.kind];
    if (kind.times++ == 0) {
      kind.first = &one;
      order.push_back(one.kind);
    }
  }
  if (order.empty()) return {};
  std::string text = "\nNoticed in trials:\n";
  for (const std::string& name : order) {
    const Kind& kind = kinds[name];
    text += fmt::format(
        "  {}: {}: {}{}\n", printable(name), printable(kind.first->key), printable(kind.first->message),
        kind.times == 1 ? "" : fmt::format(" (and {} more; the page lists all)", kind.times - 1));
  }
  return text;
}

}  // namespace

Summary summary_of(Store& store) {
  return summary_of(store, store.trials());
}

namespace {

Summary summary_of(Store& store, const ExperimentRow& experiment, const std::vector<PointRow>& points,
                   const std::vector<TrialRow>& trials) {
  Summary summary = summarise(
      experiment, trials, store.session_warnings(), store.sensor_lines(),
      experiment.search
          ? summarise_searches(experiment, store.history(Store::PlacesIn::points), points, store.prior())
          : Searches{});
  summary.noticed = store.noticed();
  summary.rechecked = rechecked_lines(store, summary);
  for (const auto& [node, why] : nodes_left_out(store))
    summary.warnings.push_back(fmt::format("{} is left out: {}", node, why));
  for (const std::string& file : programs_that_differ(store))
    summary.warnings.push_back(
        fmt::format("{} is not the same on all machines: what they say need not compare", file));
  for (std::string& sentence : told_in_several_units(summary, trials))
    summary.warnings.push_back(std::move(sentence));
  if (summary.experiment.energy_source == "system") {
    summary.against_meter = against_meter(summary, store.channels(), store.channel_energies(), trials);
    if (summary.against_meter) {
      for (std::string& line : fit_lines(*summary.against_meter)) summary.sensors.push_back(std::move(line));
    }
  }
  for (std::string& sentence : told_under_measured_names(summary))
    summary.warnings.push_back(std::move(sentence));
  // Of any role: a trial whose role was changed by hand is among none of those that are looked at.
  if (std::string damaged = store.damaged_text(); !damaged.empty())
    summary.warnings.push_back(std::move(damaged));
  return summary;
}

}  // namespace

Summary summary_of(Store& store, const std::vector<TrialRow>& trials) {
  return summary_of(store, store.experiment(), store.points(), trials);
}

Summary summary_of(Store& store, std::vector<TrialRow>& trials, const Question& question) {
  ExperimentRow experiment = store.experiment();
  std::vector<PointRow> points = store.points();
  auto asked = ask(question, experiment, points, trials);
  Summary summary = summary_of(store, experiment, points, trials);
  summary.asked = std::move(asked);
  return summary;
}

std::vector<std::string> best_so_far(const Store::Progress& progress) {
  std::vector<std::string> texts;
  for (const auto& one : progress.best) {
    std::string text = printable(one.point);
    if (one.gain && !one.reference.empty() && one.reference != one.point) {
      const bool better = *one.gain >= 0;
      // As the report says it: an interval that holds zero says all there is.
      if (one.low && one.high && !is_beyond_zero(one.low, one.high))
        text += fmt::format(", not shown to be better than {} (95 % interval {:.1f} to {:.1f} % better)",
                            printable(one.reference), 100 * *one.low, 100 * *one.high);
      else {
        text += fmt::format(", {:.1f} % {} than {}", 100 * std::abs(*one.gain), better ? "better" : "worse",
                            printable(one.reference));
        text += one.low && one.high
                    ? fmt::format(" ({:.1f} to {:.1f})", 100 * (better ? *one.low : -*one.high),
                                  100 * (better ? *one.high : -*one.low))
                    : " (no interval yet)";
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string terminal_report(const Summary& summary, const std::vector<TrialRow>& trials,
                            const TextLook& look) {
  const ExperimentRow& e = summary.experiment;
  std::string text = fmt::format(
      "{}: {}, objective {}, energy of {}\n", printable(e.name),
      summary.left > 0 ? fmt::format("{} of {}{}", summary.done, e.planned_at_most ? "at most " : "",
                                     counted(summary.planned, "trial"))
                       : counted(summary.attempts, "trial"),
      to_string(e.objective.minimise),
      e.energy_source ? printable(*e.energy_source) : "nothing (no energy sensor)");
  for (const std::string& line : summary.asked)
    text += fmt::format("asked of it here: {}\n", printable(line));
  text += overview_table(summary, look);
  for (const ScenarioSummary& scenario : summary.scenarios) {
    scenario_table(scenario, text, look);
    text += sparkline_table(scenario);
    text += axis_effects_table(scenario, look);
    search_table(scenario, text, look);
    text += beside_lines(scenario);
    text += node_lines(scenario, look);
  }
  if (!summary.scenarios.empty())
    text += fmt::format(
        "\n* best, ~ not told apart from it at the 5 % level. ± and [ ] are 95 % intervals (Student's t and "
        "the "
        "sensors' own part; savings and slowdowns {}). — is not known. What each assumes: ARCHITECTURE.md, "
        "\"What "
        "each interval stands for\".\n",
        e.search ? "by the model of all trials together"
        : std::any_of(summary.scenarios.begin(), summary.scenarios.end(),
                      [](const ScenarioSummary& s) { return s.nodes.has_value(); })
            ? "paired within nodes"
            : "paired within blocks");

  for (const std::string& warning : summary.warnings)
    text += fmt::format("\nwarning: {}\n", printable(warning));
  int not_counted = 0;
  for (const auto& [verdict, count] : summary.not_counted) not_counted += count;
  if (not_counted > 0) {
    text += fmt::format("\nNot counted: {} of {} trials.\n", not_counted, summary.attempts);
    text += not_counted_lines(trials);
  }
  text += noticed_lines(summary.noticed);
  if (!summary.sensors.empty()) {
    text += "\nSensors:\n";
    for (const std::string& line : summary.sensors) text += "  " + printable(line) + "\n";
    text += refused_since(summary.not_counted);
  }
  if (!summary.rechecked.empty()) text += "\nRechecked:\n";
  for (const std::string& line : summary.rechecked) text += "  " + printable(line) + "\n";
  const auto notes = further_sentences(summary);
  if (!notes.empty()) text += "\nNotes:\n";
  for (const std::string& note : notes) text += "  " + printable(note) + "\n";
  text += "\n";
  for (const std::string& sentence : answer_sentences(summary)) text += printable(sentence) + "\n";
  if (const std::string unfinished = unfinished_sentence(summary); !unfinished.empty())
    text += unfinished + "\n";
  return wrapped(text, look.columns);
}

}  // namespace dvfs_plan
