// The answer in words. Each must be true word for word: what is not known is not said, what is uncertain is
// called so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/against_meter.hpp"
#include "results/report/amounts.hpp"
#include "results/report/causes.hpp"
#include "results/report/nodes.hpp"
#include "results/report/overview.hpp"
#include "results/report/side_by_side.hpp"
#include "results/report/summary.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {
namespace {

constexpr double sensor_share_to_tell = 0.01;

std::string objective_words(const ScenarioSummary& scenario) {
  const ObjectiveSpec& objective = scenario.objective;
  std::string words;
  switch (objective.minimise) {
    case Objective::energy:
      words = "the least energy";
      break;
    case Objective::time:
      words = "the least time";
      break;
    case Objective::edp:
      words = "the least energy-delay product";
      break;
    case Objective::ed2p:
      words = "the least energy-delay-squared product";
      break;
    case Objective::cost:
      words = "the least cost";
      break;
  }
  if (counts_units(scenario)) words += " per " + unit_of_work(scenario);
  if (!scenario.target.empty()) words += " to reach " + scenario.target;
  std::vector<std::string> conditions;
  for (const ConstraintSpec& constraint : objective.constraints)
    conditions.push_back(constraint_text(constraint));
  if (!conditions.empty()) words += fmt::format(" with {}", join(conditions, " and "));
  return words;
}

// "time per answer": what is compared.
std::string what_is_least(const ScenarioSummary& scenario) {
  return fmt::format("{}{}", to_string(scenario.objective.minimise),
                     counts_units(scenario) ? " per " + unit_of_work(scenario) : "");
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string change_text(const Change& change, std::string_view more, std::string_view less,
                        const std::string& how = {}, bool by_search = false) {
  const bool positive = change.value >= 0;
  std::string text = fmt::format("{} {}", percent(std::abs(change.value)), positive ? more : less);
  if (change.low && change.high) {
    // Said from the side of the word: "3 % more (95 % interval 1 % to 5 %)".
    const double low = positive ? *change.low : -*change.high, high = positive ? *change.high : -*change.low;
    text += fmt::format(" (95 % interval {:.1f} to {:.1f} %{})", low * 100, high * 100, how);
  } else {
    text += fmt::format(" ({}no interval{})",
                        by_search          ? ""
                        : change.pairs > 0 ? "from one block: "
                                           : "no block has both: ",
                        how);
  }
  return text;
}

std::string amounts_of_best(const ScenarioSummary& scenario, const PointSummary& best) {
  const ObjectiveSpec& objective = scenario.objective;
  std::string text;
  if (best.energy_per_unit)
    text += fmt::format(", {} per {}", amount(*best.energy_per_unit, "J"), unit_of_work(scenario));
  else if (best.energy)
    text += fmt::format(", {}", amount(*best.energy, "J"));
  if (objective.minimise == Objective::cost && best.objective && objective.price)
    text += fmt::format(", {}{}", amount(*best.objective, objective.price->currency),
                        counts_units(scenario) ? " per " + unit_of_work(scenario) : "");
  // Of a unit of work, where the objective is: what the run took is another question.
  const bool per_unit = counts_units(scenario);
  if (const auto& time = per_unit ? best.work_time : best.time)
    text += fmt::format(" in {}{}", amount(*time, "s"),
                        !per_unit || best.energy_per_unit ? "" : " per " + unit_of_work(scenario));
  return text;
}

// "5.9 % more", "3.0 % less".
std::string share_less(double gain) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(gain), gain < 0 ? "more" : "less");
}

}  // namespace

bool holds_without_a_mean(const ScenarioSummary& scenario) {
  bool any = false;
  for (const PointSummary& point : scenario.points) {
    if (!point.feasible || point.counted + point.censored == 0) continue;
    if (point.objective) return false;
    any = true;
  }
  return any;
}

std::string against_the_reference(const ScenarioSummary& scenario, const PointSummary& best) {
  if (scenario.planned_points == 1) return ". It is the only point.";
  if (scenario.points.size() == 1) return ". No other point has been run yet.";
  if (best.is_reference) return ". This is the reference point itself.";
  const bool is_best = scenario.best && &best == &scenario.points[*scenario.best];
  const std::optional<Change> gain = is_best ? scenario.gain_of_best : std::nullopt;
  const PointSummary* const reference = scenario.reference ? &scenario.points[*scenario.reference] : nullptr;
  if (reference != nullptr && !reference->objective && reference->censored > 0)
    return fmt::format(". The reference did not reach {} in each of its trials, so no saving can be stated.",
                       scenario.target);
  if (reference != nullptr && !reference->objective && reference->counted > 0)
    return fmt::format(". Of the reference no {} is known, so no saving can be stated.",
                       what_is_least(scenario));
  if (!scenario.reference && scenario.points.size() == static_cast<std::size_t>(scenario.planned_points))
    return ". None of its points is the experiment's reference, so no saving can be stated.";
  if (!scenario.reference || !(best.saving || best.slowdown || gain))
    return ". No trial of the reference point counts together with one of this point, so no saving can be "
           "stated.";
  std::string text =
      fmt::format(". Against the reference ({}):", settings_text(scenario.points[*scenario.reference]));
  std::vector<std::string> changes;
  const Objective objective = scenario.objective.minimise;
  const bool of_product = objective == Objective::edp || objective == Objective::ed2p;
  // What was chosen for being the least looks better than it is: that is taken out of what is claimed.
  const bool by_search = scenario.search.has_value();
  // Corrected, what was named may turn out on the wrong side of the reference: then the interval says all
  // there is.
  const auto gained = [&](const std::string& less, const std::string& more, const std::string& of_how) {
    if (gain->value >= 0 || !gain->low || *gain->high <= 0)
      return change_text(*gain, less, more, of_how, by_search);
    return fmt::format("between {:.1f} % {} and {:.1f} % {} (95 % interval{})", -100 * *gain->low, more,
                       100 * *gain->high, less, of_how);
  };
  const std::string how =
      !scenario.gain_corrected     ? ""
      : scenario.from_fresh_blocks ? fmt::format(", from {} fresh blocks", scenario.gain_of_best->pairs)
      : scenario.chosen_among > 1  ? fmt::format(", as the least of {}", scenario.chosen_among)
                                   : "";
  if (gain && objective == Objective::cost) changes.push_back(gained("less cost", "more cost", how));
  if (gain && of_product) changes.push_back(gained("less of the product", "more of the product", how));
  if (gain && objective == Objective::energy)
    changes.push_back(gained("less energy", "more energy", how));
  else if (best.saving)
    changes.push_back(change_text(*best.saving, "less energy", "more energy", {}, by_search));
  if (gain && objective == Objective::time)
    changes.push_back(gained("less time", "more time", how));
  else if (best.slowdown)
    changes.push_back(change_text(*best.slowdown, "slower", "less time", {}, by_search));
  text += " " + join(changes, ", ") + ".";
  if (is_best && best.gain_of_means)
    text += fmt::format(
        " By the two means it is {}: trials at the two scatter so differently that what a run takes on the "
        "average "
        "and what it mostly takes (the blocks' ratios, their geometric mean) are two things{}.",
        share_less(*best.gain_of_means),
        best.means_told_apart && *best.gain_of_means > 0
            ? ""
            : "; that this point is better on the average is not shown");
  const auto& claim = gain;
  if (claim && claim->low && !is_beyond_zero(*claim)) {
    text += fmt::format(
        " The interval of the {} holds zero: that this point is better than the reference is not shown{}.",
        of_product ? "product" : to_string(objective),
        // A reference that breaks a limit was compared with nothing.
        scenario.spread_known && !scenario.search && !scenario.points[*scenario.reference].not_told_apart &&
                scenario.points[*scenario.reference].feasible && scenario.chosen_among > 1 &&
                std::count_if(scenario.points.begin(), scenario.points.end(),
                              [](const PointSummary& p) { return p.not_told_apart; }) > 1
            ? ", though one of those that cannot be told apart is"
            : "");
  }
  return text;
}

bool sensors_part_unknown(const ScenarioSummary& scenario) {
  return std::any_of(scenario.points.begin(), scenario.points.end(), [](const PointSummary& point) {
    return point.energy && !point.energy->sensor_half_width;
  });
}

namespace {

std::string not_comparable(const ScenarioSummary& scenario);

std::string too_little_is_known(const ScenarioSummary& scenario) {
  if (scenario.unknown_points == 0) return {};
  return fmt::format(" Of {} other point{} too little is known to say.{}", scenario.unknown_points,
                     scenario.unknown_points == 1 ? "" : "s", not_comparable(scenario));
}

std::string not_told_apart(const ScenarioSummary& scenario) {
  if (scenario.points.size() == 1) return {};
  const bool some_bounded = std::any_of(scenario.points.begin(), scenario.points.end(),
                                        [](const PointSummary& p) { return p.censored > 0; });
  // Those that count, and of which what is compared is not known.
  const bool some_without =
      std::any_of(scenario.points.begin(), scenario.points.end(),
                  [](const PointSummary& p) { return p.counted > 0 && p.censored == 0 && !p.objective; });
  const bool is_alone = std::count_if(scenario.points.begin(), scenario.points.end(),
                                      [](const PointSummary& p) { return p.objective.has_value(); }) == 1;
  if (is_alone && (some_bounded || some_without)) {
    const std::string unknown = too_little_is_known(scenario);
    const std::string_view that_counts = unknown.empty() ? "" : " that counts";
    return (some_without
                ? fmt::format(" Of no other point{} is the {} known.", that_counts, what_is_least(scenario))
                : fmt::format(" No other point{} reached the target in each of its trials.", that_counts)) +
           unknown;
  }
  if (tells_alone(scenario))
    return fmt::format(" No trial of another point tells its {}: nothing is compared.",
                       what_is_least(scenario));
  if (!scenario.spread_known) return " With so few trials nothing can be told apart: no spread is known.";
  std::vector<std::string> others;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    if (i != *scenario.best && scenario.points[i].not_told_apart)
      others.push_back(settings_text(scenario.points[i]));
  }
  std::string unknown = too_little_is_known(scenario);
  if (others.empty()) {
    const bool all = scenario.unknown_points == 0;
    const bool constrained = !scenario.objective.constraints.empty();
    const bool alone =
        std::none_of(scenario.points.begin(), scenario.points.end(), [&](const PointSummary& p) {
          return p.feasible && p.objective && &p != &scenario.points[*scenario.best];
        });
    // By their estimates they break a constraint, and their intervals do not show it; of those that would be better it is said.
    std::vector<std::string> perhaps;
    bool some_may_hold = false;
    for (const PointSummary& point : scenario.points) {
      const bool may_hold =
          !point.feasible && point.objective &&
          std::all_of(point.constraints.begin(), point.constraints.end(),
                      [](const ConstraintCheck& check) { return check.holds == true || check.may_hold(); });
      some_may_hold = some_may_hold || may_hold;
      if (may_hold && point.objective_level < scenario.points[*scenario.best].objective_level)
        perhaps.push_back(settings_text(point));
    }
    if (!perhaps.empty()) {
      constexpr std::size_t most_named = 3;
      const std::size_t count = perhaps.size();
      if (count > most_named) perhaps.resize(most_named);
      unknown += fmt::format(" That {}{} break{} the constraints is not shown, and {} would be better.",
                             join(perhaps, ", "),
                             count > most_named ? fmt::format(" and {} more", count - most_named) : "",
                             count == 1 ? "s" : "", count == 1 ? "it" : "they");
    }
    if (alone && constrained)
      return fmt::format(" No other point{} {} the constraints.{}",
                         some_bounded   ? " that reached the target in each of its trials"
                         : some_without ? fmt::format(" of which the {} is known", what_is_least(scenario))
                                        : "",
                         all && !some_may_hold ? "holds" : "is known to hold", unknown);
    if (alone) return " No other point counts." + unknown;
    return fmt::format(
        " Every other point{}{} is worse, at the 5 % level.{}",
        some_bounded   ? " that reached the target"
        : some_without ? fmt::format(" of which the {} is known", what_is_least(scenario))
        : all          ? ""
                       : " that counts",
        constrained ? (all ? " found to hold the constraints" : " and is found to hold the constraints") : "",
        unknown);
  }
  constexpr std::size_t most = 6;
  const std::size_t all = others.size();
  if (all > most) others.resize(most);
  std::string text = fmt::format(" At the 5 % level it cannot be told from {}{}", join(others, "; "),
                                 all > most ? fmt::format("; and {} more", all - most) : "");
  if (scenario.fastest_not_told_apart && *scenario.fastest_not_told_apart != *scenario.best)
    text += fmt::format(". The fastest of these is {}",
                        settings_text(scenario.points[*scenario.fastest_not_told_apart]));
  return text + "." + unknown;
}

// Points of which trials did not reach the target: what they take is known from below.
std::string censored_points(const ScenarioSummary& scenario, const PointSummary* best) {
  std::string text;
  for (const PointSummary& point : scenario.points) {
    if (point.censored == 0 || !point.more_than) continue;
    const std::string unit = unit_of(scenario.objective);
    text += fmt::format(" At {} {} of {} trials did not reach {}: more than {} there{}", settings_text(point),
                        point.censored, point.censored + point.counted, scenario.target,
                        amount(*point.more_than, unit), point.counted > 0 ? " in the mean of them all" : "");
    if (best != nullptr && best->objective && !point.worse_by_bound)
      text += ", so that it is not shown to be worse";
    text += ".";
  }
  return text;
}

std::string constraints_of(const PointSummary& best) {
  std::string text;
  for (const ConstraintCheck& check : best.constraints) {
    if (check.certain == true || check.holds != true) continue;
    text +=
        fmt::format(" It holds {} by its mean ({}), {}.", check.text, value_text(check),
                    check.certain ? "but the 95 % interval reaches beyond" : "with no interval to judge by");
  }
  return text;
}

// The largest of the points' mean: what the sensors' half-width is of one trial's energy.
std::optional<double> sensor_share_of_a_trial(const ScenarioSummary& scenario) {
  std::optional<double> share;
  for (const PointSummary& point : scenario.points) {
    if (!point.energy || !point.energy->sensor_half_width || point.energy->mean <= 0) continue;
    const double all = *point.energy->sensor_half_width, same = point.energy->systematic_half_width;
    const double one = std::sqrt(std::max(0.0, all * all - same * same) * point.energy->n + same * same);
    share = std::max(share.value_or(0), one / point.energy->mean);
  }
  return share;
}

// Nothing but a program's own word tells when its values were so. Of a minute a value that is late by a second moves less than trials scatter.
std::string told_by_programs(const Summary& summary) {
  constexpr double long_enough = 60;  // s
  const auto& names = summary.experiment.told_by_programs;
  const bool short_ones =
      std::any_of(summary.scenarios.begin(), summary.scenarios.end(), [](const ScenarioSummary& scenario) {
        return std::any_of(scenario.points.begin(), scenario.points.end(), [](const PointSummary& point) {
          return point.time && point.time->mean < long_enough;
        });
      });
  if (names.empty() || !short_ones) return {};
  return fmt::format(
      "what {} say{} is taken to be of the moment in which it is said: one that says it late moves joules "
      "over the edges of trials "
      "this short, which no interval holds (where it is known how late: the channel's `late by`)",
      join(names, " and "), names.size() == 1 ? "s" : "");
}

// By its own trials, as the table has it.
std::string own_saving(const Change& saving) {
  const bool more = saving.value < 0;
  std::string text = more ? percent(-saving.value) + " more energy" : "saves " + percent(saving.value);
  if (saving.low && saving.high)
    text += fmt::format(" [{:.1f}, {:.1f}]", 100 * (more ? -*saving.high : *saving.low),
                        100 * (more ? -*saving.low : *saving.high));
  return text;
}

// Constraints that have values and cannot be told by them: each once.
std::string not_comparable(const ScenarioSummary& scenario) {
  std::set<std::string> texts;
  for (const PointSummary& point : scenario.points) {
    for (const ConstraintCheck& check : point.constraints) {
      if (!check.why_not.empty()) texts.insert(fmt::format(" Of {}: {}.", check.text, check.why_not));
    }
  }
  return join(std::vector<std::string>(texts.begin(), texts.end()), "");
}

std::string of_no_point(const ScenarioSummary& scenario) {
  const bool some_bounded = std::any_of(scenario.points.begin(), scenario.points.end(),
                                        [](const PointSummary& p) { return p.censored > 0; });
  return some_bounded
             ? fmt::format("{}: no point reached {} in each of its trials, so there is no best point.",
                           scenario.scenario, scenario.target)
             : fmt::format("{}: of none of the {} that count is the {} known, so there is no best point.",
                           scenario.scenario, counted(scenario.counted, "trial"), what_is_least(scenario));
}

std::string without_best(const ScenarioSummary& scenario) {
  const bool any = std::any_of(scenario.points.begin(), scenario.points.end(),
                               [](const PointSummary& p) { return p.objective.has_value(); });
  std::string text;
  if (!any) {
    text = scenario.counted > 0
               ? of_no_point(scenario)
               : fmt::format("{}: no trial counts, so there is no best point.", scenario.scenario);
  } else {
    text = fmt::format("{}: {}, so there is no best point.", scenario.scenario,
                       holds_without_a_mean(scenario)
                           ? fmt::format("of no point that is known to hold all constraints is the {} known",
                                         what_is_least(scenario))
                           : "no point is known to hold all constraints");
    text += not_comparable(scenario);
  }
  text += censored_points(scenario, nullptr);
  if (!scenario.not_counted.empty()) text += fmt::format(" Excluded: {}.", causes_text(scenario.not_counted));
  return text;
}

// "1395 MHz"; "1190 MHz to 1395 MHz" where boards or trials differ by more than a measured clock scatters.
std::string delivered_text(const DeliveredInstead& instead, const std::string& like) {
  constexpr double same = 0.01;
  if (instead.high_hz - instead.low_hz <= same * instead.high_hz)
    return format_clock((instead.low_hz + instead.high_hz) / 2, like);
  return format_clock(instead.low_hz, like) + " to " + format_clock(instead.high_hz, like);
}

// "gpu.core: 1980 MHz requested, 1395 MHz delivered, 92 % of the region at the 700 W limit".
std::string not_as_requested(const PointSummary& point) {
  std::string text;
  for (const AxisSetting& setting : point.settings) {
    const auto instead = point.delivered_instead.find(setting.axis);
    if (instead == point.delivered_instead.end()) continue;
    text += fmt::format("{}{}: {} requested, {} delivered", text.empty() ? "" : "; ", setting.axis,
                        setting.text, delivered_text(instead->second, setting.text));
    if (instead->second.trials < instead->second.of)
      text += fmt::format(" in {} of {} trials", instead->second.trials, instead->second.of);
  }
  constexpr double worth_saying = 0.01;
  if (!text.empty() && point.power_cap_share.value_or(0) >= worth_saying) {
    text +=
        fmt::format(", {:.0f} % of the region at the {}", 100 * *point.power_cap_share,
                    point.power_limit_w ? fmt::format("{:g} W limit", *point.power_limit_w) : "power limit");
  }
  return text;
}

}  // namespace

std::string unfinished_text(const PointSummary& point) {
  // A timeout and a failure take what is slow or does not work out of the mean, and leave the lucky ones.
  int failed = 0;
  std::map<std::string, int> causes_of_it;
  for (const char* verdict :
       {"timed_out", "exited", "signalled", "instance_failed", "service_died", "no_metric"}) {
    const auto found = point.not_counted.find(verdict);
    if (found == point.not_counted.end()) continue;
    failed += found->second;
    causes_of_it[verdict] = found->second;
  }
  if (failed == 0) return {};
  const auto untold = causes_of_it.find("no_metric");
  const int not_finished = failed - (untold == causes_of_it.end() ? 0 : untold->second);
  std::vector<std::string> how;
  if (not_finished > 0) how.push_back(fmt::format("did not finish {} work", failed == 1 ? "its" : "their"));
  if (not_finished < failed) how.emplace_back("did not tell what was asked for");
  return fmt::format("{} of its {} {} ({}) and {} in no mean{}", failed, counted(point.trials, "trial"),
                     join(how, " or "), causes_text(causes_of_it), failed == 1 ? "is" : "are",
                     point.counted > 0 ? ": what is said of it is of those that did" : "");
}

std::string setting_value_text(const PointSummary& point, const AxisSetting& setting) {
  const auto instead = point.delivered_instead.find(setting.axis);
  if (instead == point.delivered_instead.end()) return setting.text;
  const std::string clock = delivered_text(instead->second, setting.text);
  if (instead->second.trials < instead->second.of)
    return fmt::format("{} ({} delivered in {} of {} trials)", setting.text, clock, instead->second.trials,
                       instead->second.of);
  return fmt::format("{} delivered ({} requested)", clock, setting.text);
}

std::string settings_text(const PointSummary& point) {
  std::vector<std::string> texts;
  for (const AxisSetting& setting : point.settings)
    texts.push_back(setting.axis + " = " + setting_value_text(point, setting));
  return texts.empty() ? "the machine as it is" : join(texts, ", ");
}

std::vector<std::string> answer_sentences(const Summary& summary) {
  std::vector<std::string> sentences;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (!scenario.best) {
      sentences.push_back(without_best(scenario));
      continue;
    }
    const PointSummary& best = scenario.points[*scenario.best];
    std::string text =
        fmt::format("{}: {} at {}", scenario.scenario, objective_words(scenario), settings_text(best));
    text += amounts_of_best(scenario, best);
    text += fmt::format(" ({} {} count{})", best.counted, best.counted == 1 ? "trial" : "trials",
                        best.counted == 1 ? "s" : "");
    text += against_the_reference(scenario, best);
    // By its own trials it may be certain where a model of the whole surface is not.
    const bool holds = std::all_of(
        best.constraints.begin(), best.constraints.end(),
        [](const ConstraintCheck& check) { return check.holds == true && check.certain == true; });
    text += scenario.search ? " " + bound_sentences(*scenario.search, holds) : not_told_apart(scenario);
    text += censored_points(scenario, &best);
    if (const std::string unfinished = unfinished_text(best); !unfinished.empty())
      text += fmt::format(" At {}, {}.", settings_text(best), unfinished);
    if (scenario.reference && *scenario.reference != *scenario.best) {
      const PointSummary& reference = scenario.points[*scenario.reference];
      if (const std::string unfinished = unfinished_text(reference); !unfinished.empty())
        text += fmt::format(" At the reference {}.", unfinished);
    }
    text += constraints_of(best);
    text += node_sentence(scenario);
    for (const std::string& axis : scenario.best_at_edge_of) {
      text += fmt::format(" The best lies at the edge of what was swept on {}; the optimum may lie beyond.",
                          axis);
    }
    if (scenario.regions.size() > 1)
      text +=
          " Not all trials measured the same region, so they do not compare: mark it in all, or name it in "
          "'measure'.";
    if (!scenario.balanced && !scenario.search)
      text += scenario.connected ? " Not all points count in the same blocks, and as often in each; the "
                                   "blocks' level is taken out of the comparison."
                                 : " Some points have no block in common, nor through others: what changed "
                                   "from block to block is in what is said between these.";
    text += fmt::format(" {} stand{} behind this", counted(scenario.counted, "trial"),
                        scenario.counted == 1 ? "s" : "");
    const int censored =
        std::accumulate(scenario.points.begin(), scenario.points.end(), 0,
                        [](int sum, const PointSummary& point) { return sum + point.censored; });
    if (censored > 0) text += fmt::format(", beside {} that did not reach {}", censored, scenario.target);
    text += scenario.not_counted.empty() ? "; none was excluded."
                                         : fmt::format("; excluded: {}.", causes_text(scenario.not_counted));
    sentences.push_back(text);
  }
  return sentences;
}

// As the view `trials` has it.
static constexpr std::string_view of_a_recheck = "it is of a recheck";

std::vector<std::string> further_sentences(const Summary& summary) {
  std::vector<std::string> sentences;
  if (summary.against_meter) sentences = warnings_of_meter(*summary.against_meter);
  for (const ScenarioSummary& scenario : summary.scenarios) {
    std::vector<std::string> those;
    for (std::size_t i = 0; i < scenario.points.size(); ++i) {
      const PointSummary& point = scenario.points[i];
      if (point.gain_of_means && i != scenario.best)
        those.push_back(fmt::format("{} ({} than the reference by the means)", settings_text(point),
                                    share_less(*point.gain_of_means)));
    }
    if (those.empty()) continue;
    constexpr std::size_t most = 4;
    const std::size_t all = those.size();
    if (all > most) those.resize(most);
    sentences.push_back(fmt::format(
        "{}: trials scatter so differently from the reference's that savings, which are of the blocks' "
        "ratios "
        "(their geometric mean), are not those of the means at {}{}",
        scenario.scenario, join(those, "; "), all > most ? fmt::format("; and {} more", all - most) : ""));
  }
  for (const auto& [why, trials] : summary.left_out) {
    if (why == of_a_recheck) {
      sentences.push_back(fmt::format("{} of rechecks: {} for these alone",
                                      trials == 1 ? "1 trial is" : fmt::format("{} trials are", trials),
                                      trials == 1 ? "it counts" : "they count"));
      continue;
    }
    sentences.push_back(
        fmt::format("{} do{} not count: {}", counted(trials, "trial"), trials == 1 ? "es" : "", why));
  }
  for (const ExperimentRow::Growth& growth : summary.experiment.grown)
    sentences.push_back(fmt::format(
        "the experiment's file changed on {}: {}{}", growth.at.substr(0, growth.at.find('T')), growth.changes,
        growth.first_block   ? fmt::format("; what that added is in blocks from {} on", *growth.first_block)
        : growth.added_since ? fmt::format("; blocks from {} on were added since", *growth.added_since)
                             : ""));
  if (std::string told = told_by_programs(summary); !told.empty()) sentences.push_back(std::move(told));
  if (summary.against_meter) {
    for (std::string& sentence : meter_sentences(*summary.against_meter))
      sentences.push_back(std::move(sentence));
  }
  for (const ScenarioSummary& scenario : summary.scenarios) {
    const auto say = [&](const std::string& text) { sentences.push_back(scenario.scenario + ": " + text); };
    if (!summary.experiment.all_shuffled() && !summary.experiment.search && scenario.points.size() > 1)
      say(trials_as_listed(summary.experiment) +
          ": what drifts within a block is in the savings, and in no interval");
    std::vector<std::string> flagged;
    bool sensors_known = true;
    for (const BlockDrift& block : scenario.drift) {
      if (!block.flagged) continue;
      flagged.push_back(fmt::format("{} ({:+.2f} %)", block.block, 100 * *block.change));
      sensors_known = sensors_known && block.sensor_half_width;
    }
    if (!flagged.empty()) {
      say(fmt::format(
          "the reference's two trials differ by more than {:g} %{}, in block{} {}: drift or scatter; {}",
          100 * summary.experiment.drift_limit, !sensors_known ? "" : ", and more than the sensors explain",
          flagged.size() == 1 ? "" : "s", join(flagged, ", "),
          summary.experiment.all_shuffled()
              ? "the order within a block is random, the reference's too, so drift "
                "widens the intervals and leans to no point on the average"
          : summary.experiment.order_changed
              ? "the order was not random in all blocks, so a drift is in the savings"
              : "the order was as listed, so a drift is in the savings"));
    }
    for (const MetricDrift& one : scenario.metric_drift)
      say(fmt::format(
          "{} changed by {:+.1f} % (95 % interval {:+.1f} to {:+.1f} %) from the first half of the blocks to "
          "the second, on the average over its settings: what is measured is not the same any more",
          one.metric, 100 * one.change.value, 100 * *one.change.low, 100 * *one.change.high));
    if (scenario.drift_of_night && scenario.drift.size() > 1) {
      std::string warmer;
      const auto &first = scenario.drift.front().first_temperature_c,
                 &last = scenario.drift.back().last_temperature_c;
      if (first && last) warmer = fmt::format(", the hottest sensor from {:.1f} to {:.1f} C", *first, *last);
      say(fmt::format("from its first counted trial to its last the reference changed by {:+.1f} %{}",
                      100 * *scenario.drift_of_night, warmer));
    }
    const std::string among = scenario.search ? "of the settings that were run, " : "";
    if (scenario.best_edp && scenario.best_ed2p && scenario.points.size() > 1) {
      say(fmt::format(
          "{}least energy-delay product at {}, least energy-delay-squared product at {}, by the means alone",
          among, settings_text(scenario.points[*scenario.best_edp]),
          settings_text(scenario.points[*scenario.best_ed2p])));
    }
    std::vector<std::string> within, doubted;
    std::optional<std::size_t> before;
    for (const SlowdownOptimum& one : scenario.at_slowdown) {
      if (before == one.point) continue;
      before = one.point;
      const PointSummary& point = scenario.points[one.point];
      within.push_back(fmt::format("{:g} %: {}{}", 100 * one.limit, settings_text(point),
                                   !point.saving ? "" : " (" + own_saving(*point.saving) + ")"));
      if (point.is_reference || !point.slowdown) continue;
      if (!point.slowdown->high)
        doubted.push_back(fmt::format("{} (its interval is not known)", settings_text(point)));
      else if (*point.slowdown->high > one.limit)
        doubted.push_back(fmt::format("{} (95 % interval up to {:.1f} %)", settings_text(point),
                                      100 * *point.slowdown->high));
    }
    std::vector<std::string> apart, without;
    const bool compares = scenario.reference && scenario.points[*scenario.reference].work_time;
    for (const PointSummary& point : scenario.points) {
      if (point.energy && !point.is_reference && !point.slowdown)
        (compares && point.work_time ? apart : without).push_back(settings_text(point));
    }
    const auto left_out = [](const std::string& why, const std::vector<std::string>& those) {
      return those.empty() ? "" : fmt::format("; left out, since {}: {}", why, join(those, ", "));
    };
    if (scenario.points.size() > 1 && !within.empty())
      say(among + "least energy within a slowdown of " + join(within, "; ") +
          (scenario.points.size() > 2
               ? fmt::format("; savings here are by {}, not corrected for its having been chosen",
                             scenario.search ? "the search's model" : "each setting's own trials")
               : "") +
          (doubted.empty() ? ""
                           : "; its slowdown is within that by the estimate alone: " + join(doubted, ", ")) +
          left_out("no block has them together with the reference", apart) +
          left_out(fmt::format("the time per {} is not known of {}", unit_of_work(scenario),
                               compares ? "them" : "the reference"),
                   without));
    if (const auto share = sensor_share_of_a_trial(scenario); share && *share > sensor_share_to_tell) {
      say(fmt::format(
          "the sensors alone add up to ±{:.2g} % to the energy of one trial; a longer region is known better "
          "(`measure: {{at least: 30 s}}` runs the command again within a trial)",
          100 * *share));
    }
    if (sensors_part_unknown(scenario)) {
      say(sensors_part_unknown_text);
    } else if (const int those = std::accumulate(
                   scenario.points.begin(), scenario.points.end(), 0,
                   [](int sum, const PointSummary& point) { return sum + point.without_sensor_part; });
               those > 0) {
      say(fmt::format(
          "of {} that count{} it is not known what the sensors may add to the energy (sensor_unresolved says "
          "why): taken to be as of the others of the same setting",
          counted(those, "trial"), those == 1 ? "s" : ""));
    }
    for (const PointSummary& point : scenario.points) {
      if (const std::string text = not_as_requested(point); !text.empty()) say(text);
    }
    if (const std::string text = without_constraints(scenario); !text.empty()) say(text);
    for (const PointSummary& point : scenario.points) {
      if (!point.outliers.empty())
        say(fmt::format("far from the others of its point (3.5 MAD), flagged but counted: {}",
                        join(point.outliers, ", ")));
    }
  }
  return sentences;
}

std::string unfinished_sentence(const Summary& summary) {
  const ExperimentRow& e = summary.experiment;
  if (summary.left == 0) return {};
  // Of several machines some may still be at work, or have died; the search says how far it is.
  const bool reached = e.search && !summary.scenarios.empty() &&
                       std::all_of(summary.scenarios.begin(), summary.scenarios.end(), [](const auto& s) {
                         return s.search && s.search->best && !s.search->on_nodes.empty() &&
                                s.search->bound <= s.search->rule.regret;
                       });
  if (reached) return {};
  // Whether machines are still at work on it the file does not know; a joined result is not gone on with.
  if (e.of_machines)
    return fmt::format(
        "{} of {} {} are not there; where nodes are at work on them `dvfs-plan status` says so.",
        summary.left, summary.planned, e.search ? "trials at most" : "planned trials");
  if (e.search) return "Unfinished: the same command goes on with the search; this is what is known so far.";
  if (e.last_session_ended == "done")
    return fmt::format("{}{} of {} planned trials were not run.",
                       e.has_budget ? "The budget ended the run: " : "The run ended, and ", summary.left,
                       summary.planned);
  return fmt::format("Unfinished: {}{} of {} trials are still to be run; this is what is known so far.",
                     e.planned_at_most ? "at most " : "", summary.left, summary.planned);
}

std::string trials_as_listed(const ExperimentRow& experiment) {
  return experiment.order_changed ? "some of the trials ran in the order of the file (order: listed, until "
                                    "or since it was changed)"
                                  : "the trials ran in the order of the file (order: listed)";
}

}  // namespace dvfs_plan
