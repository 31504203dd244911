// The comparison on the terminal and in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "results/compare/comparison.hpp"
#include "results/report/amounts.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {
namespace {

std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

std::string cell(const ChangeOfPoint& one) {
  if (!one.change) return "—";
  std::string text = signed_percent(one.change->value);
  if (one.change->low)
    text += fmt::format(" [{:+.1f}, {:+.1f}]", 100 * *one.change->low, 100 * *one.change->high);
  return text + (one.beyond_noise ? " !" : "");
}

std::string mean_cell(const std::optional<Estimate>& value, std::string_view unit) {
  return value ? amount(value->mean, unit) : "—";
}

std::string share_cell(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "—";
}

std::string with_interval(const Change& change) {
  std::string text = signed_percent(change.value);
  if (change.low)
    text += fmt::format(" (95 % interval {:+.1f} to {:+.1f} %)", 100 * *change.low, 100 * *change.high);
  return text;
}

std::string changed(const ComparedScenario& scenario, ChangeOfPoint ComparedPoint::*quantity,
                    const std::string& name, bool of_levels) {
  std::vector<const ComparedPoint*> more, less;
  int judged = 0;
  bool known = false;
  for (const ComparedPoint& point : scenario.points) {
    const ChangeOfPoint& one = point.*quantity;
    known = known || one.change;
    judged += one.change && one.change->low ? 1 : 0;
    if (one.beyond_noise) (one.change->value > 0 ? more : less).push_back(&point);
  }
  if (!known) return fmt::format("how {} changed is known of no setting", name);
  if (judged == 0)
    return fmt::format("of {} nothing can be said: {}", name,
                       of_levels ? "no setting counts in two nights of each side"
                                 : "no setting counts beside the reference in blocks enough of both sides");
  if (more.empty() && less.empty())
    return fmt::format("{} changed at none of the {} that could be judged", name, judged);
  const auto extreme = [&](const std::vector<const ComparedPoint*>& points) {
    const ComparedPoint* most =
        *std::max_element(points.begin(), points.end(), [&](const auto* a, const auto* b) {
          return std::abs((a->*quantity).change->value) < std::abs((b->*quantity).change->value);
        });
    return fmt::format("most at {}, {}", most->called, with_interval(*(most->*quantity).change));
  };
  std::vector<std::string> parts;
  if (!more.empty()) parts.push_back(fmt::format("rose at {} ({})", more.size(), extreme(more)));
  if (!less.empty()) parts.push_back(fmt::format("fell at {} ({})", less.size(), extreme(less)));
  return fmt::format("{} {}, of the {} that could be judged", name, join(parts, " and "), judged);
}

std::string best_text(const ComparedScenario& scenario) {
  const auto called = [&](const std::string& key) {
    for (const ComparedPoint& point : scenario.points) {
      if (point.point == key) return point.called;
    }
    return key;
  };
  if (!scenario.best_before || !scenario.best_after) return " A best point is not known in both.";
  if (scenario.best_before == scenario.best_after)
    return fmt::format(" The best is the same: {}.", called(*scenario.best_before));
  std::string text =
      fmt::format(" The best was {} and is {}", called(*scenario.best_before), called(*scenario.best_after));
  if (!scenario.old_best_known) return text + "; after, too little is known of the former best.";
  if (!scenario.old_best_feasible)
    return text + (scenario.old_best_held
                       ? "; after, the former best no longer holds the constraints."
                       : "; the former best does not hold the constraints that are asked for after.");
  if (scenario.old_best_not_told_apart) return text + "; after, the two cannot be told apart.";
  if (scenario.cost_of_old_best)
    text += fmt::format("; after, the former best's objective is {} against the new one",
                        with_interval(*scenario.cost_of_old_best));
  return text + ".";
}

// "the reference", or what it is in its place where the two have different ones.
std::string base_text(const ComparedScenario& scenario) {
  const bool same = std::all_of(scenario.points.begin(), scenario.points.end(), [](const ComparedPoint& one) {
    return one.before.is_reference == one.after.is_reference;
  });
  return same || scenario.base_called.empty() ? "the reference" : scenario.base_called;
}

// " per sample"; nothing where energy and time are of a run.
std::string per_unit(const ComparedScenario& scenario) {
  return scenario.per.empty() ? std::string() : " per " + scenario.per;
}

std::string sentence(const ComparedScenario& scenario, bool energies_compare, bool of_levels) {
  std::vector<std::string> what, all;
  bool of_some = false;
  const std::string per = per_unit(scenario);
  if (energies_compare) what.push_back(changed(scenario, &ComparedPoint::energy, "energy" + per, of_levels));
  what.push_back(changed(scenario, &ComparedPoint::time, "time" + per, of_levels));
  std::string text =
      fmt::format("{}: {} in both. {} (beyond the noise, 5 % for all points together) {}.", scenario.scenario,
                  counted(static_cast<int>(scenario.points.size()), "point") +
                      (scenario.points.size() == 1 ? " is" : " are"),
                  of_levels ? "As nights differ among themselves"
                            : "Against " + base_text(scenario) + " of its own night",
                  join(what, ", and "));
  const auto average = [&](const ChangeOfPoint& of, const char* quantity) {
    if (!of.change) return;
    std::string change = fmt::format("{}{} changed by {}", quantity, per, with_interval(*of.change));
    if (of.change->pairs < static_cast<int>(scenario.points.size())) {
      change += fmt::format(" ({} of these points alone {} trials that count in both)", of.change->pairs,
                            of.change->pairs == 1 ? "has" : "have");
      of_some = true;
    }
    all.push_back(std::move(change));
  };
  average(scenario.all_energy, "energy");
  average(scenario.all_time, "time");
  if (!all.empty())
    text += fmt::format(
        " On average{} {}{}.", of_some ? "" : " over all points", join(all, ", "),
        of_levels ? " (no interval: each point's own is in the table)"
                  : " (no interval: what shifts a whole night is not known from two; `compare A1 A2 -- "
                    "B1 B2` judges it from several)");
  return energies_compare ? text + best_text(scenario) : text;
}

}  // namespace

std::vector<std::string> comparison_sentences(const Comparison& comparison) {
  std::vector<std::string> sentences;
  for (const ComparedScenario& scenario : comparison.scenarios)
    sentences.push_back(sentence(scenario, comparison.energies_compare, comparison.of_levels));
  return sentences;
}

std::string terminal_comparison(const Comparison& comparison, const TextLook& look) {
  std::string text = fmt::format("before: {}\nafter:  {}\n", printable(comparison.name_before),
                                 printable(comparison.name_after));
  if (!comparison.same_plan) text += "note: the plans differ; what is in both is compared\n";
  for (const std::string& warning : comparison.warnings)
    text += fmt::format("warning: {}\n", printable(warning));
  for (const ComparedScenario& scenario : comparison.scenarios) {
    text += fmt::format("\n{}\n", printable(scenario.scenario));
    TextTable table;
    const bool levels = comparison.of_levels;
    const std::string per = printable(per_unit(scenario));
    table.row({" ", "setting", fmt::format("energy{} before", per), "after",
               levels ? "change" : "against " + printable(base_text(scenario)),
               fmt::format("time{}: {}", per, levels ? "change" : "likewise"),
               levels ? "mean power: change" : "mean power: likewise", "saving before", "after"});
    for (const ComparedPoint& point : scenario.points) {
      const bool before = scenario.best_before == point.point, after = scenario.best_after == point.point;
      table.row({before && after ? "*"
                 : before        ? "<"
                 : after         ? ">"
                                 : " ",
                 printable(point.called), mean_cell(point.before.work_energy, "J"),
                 mean_cell(point.after.work_energy, "J"), cell(point.energy), cell(point.time),
                 cell(point.power), point.before.is_reference ? "reference" : share_cell(point.saving_before),
                 !point.after.is_reference   ? share_cell(point.saving_after)
                 : point.before.is_reference ? ""
                                             : "reference"},
                before || after);
    }
    text += table.text(look);
    const auto missing = [&](const std::vector<std::string>& keys, const char* where) {
      if (!keys.empty()) text += fmt::format("only {}: {}\n", where, printable(join(keys, ", ")));
    };
    missing(scenario.only_before, "before");
    missing(scenario.only_after, "after");
  }
  if (!comparison.scenarios.empty())
    text += fmt::format(
        "\n* best in both, < best before, > best after. [ ] are 95 % intervals of one point ({}, and the "
        "sensors' own part); ! is beyond the noise at 5 % for all points together. — is not known.\n",
        comparison.of_levels
            ? "by how nights differ"
            : "change of its ratio to the reference, or to what the table names in its place, "
              "of its own night, by each night's scatter, pooled over its points");
  const auto unknown = [](const PointSummary& point) {
    return point.energy && !point.energy->sensor_half_width;
  };
  const bool any_unknown = std::any_of(
      comparison.scenarios.begin(), comparison.scenarios.end(), [&](const ComparedScenario& scenario) {
        return std::any_of(scenario.points.begin(), scenario.points.end(), [&](const ComparedPoint& point) {
          return unknown(point.before) || unknown(point.after);
        });
      });
  if (any_unknown)
    text +=
        "What the sensors may add to some of these energies is not known: an error that is the same in all "
        "trials of a "
        "night is not in their intervals.\n";
  if (!comparison.machine.empty()) {
    text += "\nWhat differs between the two machines as they were:\n";
    TextTable table;
    for (const Difference& d : comparison.machine)
      table.row({" ", printable(d.what), d.before.empty() ? "—" : printable(d.before),
                 d.after.empty() ? "—" : printable(d.after)});
    text += table.text({look.colour, 0});
  }
  text += "\n";
  for (const std::string& one : comparison_sentences(comparison)) text += printable(one) + "\n";
  return wrapped(text, look.columns);
}

namespace {

const ComparedPoint* compared_point(const ComparedScenario& scenario, const std::optional<std::string>& key) {
  const auto found = std::find_if(scenario.points.begin(), scenario.points.end(),
                                  [&](const ComparedPoint& one) { return one.point == key; });
  return found == scenario.points.end() ? nullptr : &*found;
}

std::string best_cell(const ComparedScenario& scenario, const std::optional<std::string>& key) {
  const ComparedPoint* const point = compared_point(scenario, key);
  return point != nullptr ? printable(point->called) : key ? printable(*key) : "—";
}

std::string old_best_cell(const ComparedScenario& scenario) {
  if (!scenario.best_before || !scenario.best_after) return "—";
  if (scenario.best_before == scenario.best_after) return "is the best";
  if (!scenario.old_best_known) return "is not known";
  if (!scenario.old_best_feasible) return "breaks the constraints";
  if (scenario.old_best_not_told_apart) return "cannot be told from it";
  return scenario.cost_of_old_best ? with_interval(*scenario.cost_of_old_best) : "—";
}

std::string beyond_cell(const ComparedScenario& scenario, ChangeOfPoint ComparedPoint::*quantity) {
  int judged = 0, beyond = 0;
  for (const ComparedPoint& point : scenario.points) {
    const ChangeOfPoint& one = point.*quantity;
    judged += one.change && one.change->low ? 1 : 0;
    beyond += one.beyond_noise ? 1 : 0;
  }
  return judged == 0 ? "—" : fmt::format("{} of {}", beyond, judged);
}

}  // namespace

std::string terminal_comparisons(const std::vector<Comparison>& comparisons, const TextLook& look) {
  const Comparison& first = comparisons.front();
  std::string text = fmt::format(
      "{} results against {}. Each comparison is at 5 % by itself: of twenty of nights that are alike, one "
      "is expected to call something changed.\n",
      comparisons.size(), printable(first.name_before));
  std::vector<std::string> scenarios;
  for (const Comparison& comparison : comparisons) {
    for (const ComparedScenario& one : comparison.scenarios) {
      if (std::find(scenarios.begin(), scenarios.end(), one.scenario) == scenarios.end())
        scenarios.push_back(one.scenario);
    }
  }
  for (const std::string& scenario : scenarios) {
    text += fmt::format("\n{}\n", printable(scenario));
    TextTable table;
    table.row({" ", "result", "best", "its saving", "the first's best here", "energy beyond the noise at",
               "time likewise"});
    bool first_told = false;
    for (const Comparison& comparison : comparisons) {
      const auto one = std::find_if(comparison.scenarios.begin(), comparison.scenarios.end(),
                                    [&](const ComparedScenario& each) { return each.scenario == scenario; });
      if (one == comparison.scenarios.end()) {
        table.row({" ", printable(comparison.name_after), "not in both", "", "", "", ""});
        continue;
      }
      if (!std::exchange(first_told, true)) {
        const ComparedPoint* const before = compared_point(*one, one->best_before);
        table.row({" ", printable(comparison.name_before), best_cell(*one, one->best_before),
                   before != nullptr ? share_cell(before->saving_before) : "—", "", "", ""});
      }
      const ComparedPoint* const after = compared_point(*one, one->best_after);
      table.row(
          {" ", printable(comparison.name_after), best_cell(*one, one->best_after),
           after != nullptr ? share_cell(after->saving_after) : "—", old_best_cell(*one),
           comparison.energies_compare ? beyond_cell(*one, &ComparedPoint::energy) : "not the same energy",
           beyond_cell(*one, &ComparedPoint::time)});
    }
    text += table.text(look);
  }
  text = wrapped(text, look.columns);
  for (const Comparison& comparison : comparisons) text += "\n" + terminal_comparison(comparison, look);
  return text;
}

}  // namespace dvfs_plan
