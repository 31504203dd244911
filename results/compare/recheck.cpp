#include "results/compare/recheck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "results/compare/comparison.hpp"
#include "results/compare/failures.hpp"
#include "results/report/causes.hpp"
#include "results/report/json_values.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/question_text.hpp"
#include "results/report/sensor_part.hpp"
#include "results/report/side_by_side.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

// A share of the objective: less is no change, however little trials scatter. It would be told as 0.0 %.
constexpr double least_change = 0.0005;

const PointSummary* point_of(const ScenarioSummary& scenario, const std::string& key) {
  const auto found = std::find_if(scenario.points.begin(), scenario.points.end(),
                                  [&](const PointSummary& point) { return point.point == key; });
  return found == scenario.points.end() ? nullptr : &*found;
}

RecheckRow::Range range_of(const std::optional<Change>& change) {
  return change ? RecheckRow::Range{change->value, change->low, change->high} : RecheckRow::Range{};
}

// What others did, or a meter: it says nothing of whether the answer stands.
bool is_disturbance(const std::string& verdict) {
  static const std::set<std::string> words{
      "stopped",           "changed_meanwhile", "sensor_absent", "sensor_denied",
      "sensor_gone",       "sensor_dead",       "sensor_frozen", "sensor_gap",
      "sensor_impossible", "sensors_disagree",  "foreign_load",  "marks_lost",
      "service_not_ready", "service_died",      "damaged",       "chosen_by_length"};
  return words.contains(verdict);
}

// "3 not_delivered", "3 that did not reach loss <= 0.35"; empty: some of its trials count, it has too few to say, or they were disturbed.
std::string does_not_run(const PointSummary& point, const std::string& target) {
  constexpr int enough = 2;
  if (point.counted > 0 || point.trials < enough) return {};
  for (const auto& [verdict, count] : point.not_counted) {
    if (is_disturbance(verdict)) return {};
  }
  std::vector<std::string> causes;
  if (!point.not_counted.empty()) causes.push_back(causes_text(point.not_counted));
  if (point.censored > 0) causes.push_back(fmt::format("{} that did not reach {}", point.censored, target));
  return join(causes, ", ");
}

std::string share_text(const RecheckRow::Range& saving) {
  if (!saving.value) return "not known";
  std::string text = fmt::format("{:.1f} %", 100 * *saving.value);
  if (saving.low && saving.high)
    text += fmt::format(" [{:.1f}, {:.1f}]", 100 * *saving.low, 100 * *saving.high);
  return text;
}

// The upper end of a saving's interval at `confidence`; the interval itself is of 95 %.
std::optional<double> high_at(const Change& saving, double confidence) {
  if (!saving.high || saving.pairs < 2) return std::nullopt;
  const double middle = std::log1p(-saving.value), end = std::log1p(-*saving.high);
  const double wider = student_t(confidence, saving.pairs - 1) / student_t(0.95, saving.pairs - 1);
  return -std::expm1(middle - (middle - end) * wider);
}

// Half the width of a saving's 95 % interval, of the ratio's logarithm.
std::optional<double> log_half_width(const std::optional<Change>& saving) {
  if (!saving || !saving->low || !saving->high || *saving->high >= 1) return std::nullopt;
  return (std::log1p(-*saving->low) - std::log1p(-*saving->high)) / 2;
}

// The night's best was chosen for being the least, so that its own trials show it better than it is; what is stated of it has that taken
// out (results/statistics/winner.hpp), at times more than luck had put in. So what it is now is compared with both, and the interval
// holds both: what its own trials were, and what was stated, which is moved and knows less.
Change against_both(const Change& change, const ScenarioSummary& was, double confidence) {
  const std::optional<Change>& own = was.points[*was.best].gain;
  const auto narrow = log_half_width(own), wide = log_half_width(was.gain_of_best);
  if (!was.gain_corrected || !narrow || !wide || !change.low || !change.high) return change;
  const double moved = std::log1p(-own->value) - std::log1p(-was.gain_of_best->value);
  const double more = std::sqrt(std::max(0.0, *wide * *wide - *narrow * *narrow)) *
                      normal_quantile(confidence) / normal_quantile(0.95);
  const double middle = std::log1p(change.value) + moved;
  const double down = std::hypot(std::log1p(change.value) - std::log1p(*change.low), more),
               up = std::hypot(std::log1p(*change.high) - std::log1p(change.value), more);
  // What is told is that from the saving stated then to the one stated now.
  return {change.pairs, std::expm1(middle), std::min(*change.low, std::expm1(middle - down)),
          std::max(*change.high, std::expm1(middle + up))};
}

// Of a night whose own blocks do not tell how they scatter (a search, one block): what it states against what is now. Where its statement
// has an interval (a search's model) that is its part; else its blocks are taken to scatter as the recheck's do.
std::optional<Change> against_stated(const std::optional<Change>& stated, const std::optional<Change>& now,
                                     int chosen_among, double confidence) {
  const auto own = log_half_width(now);
  if (!stated || stated->value >= 1 || !own || now->pairs < 2) return std::nullopt;
  const int df = now->pairs - 1;
  const double error = *own / student_t(0.95, df), t = student_t(confidence, df);
  const auto of_night = log_half_width(stated);
  const double of_its_blocks = error * std::sqrt(now->pairs / std::max(1.0, 1.0 * stated->pairs));
  const double more =
      of_night ? *of_night * normal_quantile(confidence) / normal_quantile(0.95) : t * of_its_blocks;
  const double middle = std::log1p(-now->value) - std::log1p(-stated->value),
               half = std::hypot(t * error, more);
  // It was chosen for being the least of so many: of N alike that lies below their mean by up to sqrt(2 ln N) standard deviations, and by so
  // much it takes more when it is looked at again. A model's word has that in it.
  const double luck = of_night ? 0 : of_its_blocks * std::sqrt(2 * std::log(std::max(1, chosen_among)));
  return Change{now->pairs, std::expm1(middle), std::expm1(middle - half - luck), std::expm1(middle + half)};
}

// What a night states of its best for that. Of a search without enough repetitions for an interval a model's word is off by what it smooths,
// which nothing tells the size of: what the two took themselves is compared.
std::optional<Change> stated_gain(const ScenarioSummary& was, const PointSummary& best,
                                  const PointSummary& reference) {
  std::optional<Change> stated = was.gain_of_best;
  if (was.search && stated && !stated->low && best.objective && reference.objective &&
      reference.objective->mean > 0)
    stated->value = 1 - best.objective->mean / reference.objective->mean;
  return stated;
}

// Constraints that the best is known to break now, or is not known to hold any more.
struct Broken {
  std::vector<std::string> certainly, perhaps;
};
Broken broken_constraints(const PointSummary& now, const PointSummary& then) {
  Broken broken;
  for (const ConstraintCheck& check : now.constraints) {
    if (check.holds == true) continue;
    // What the night did not show either is no change.
    const bool held =
        std::any_of(then.constraints.begin(), then.constraints.end(), [&](const ConstraintCheck& was) {
          return was.text == check.text && was.holds == true && was.certain == true;
        });
    const std::string text =
        check.value ? fmt::format("{} (now {})", check.text, value_text(check)) : check.text;
    (check.holds == false && check.certain == true && held ? broken.certainly : broken.perhaps)
        .push_back(text);
  }
  return broken;
}

// Those that were run with it and are better by these blocks alone.
std::string better_rivals(const ScenarioSummary& is, const PointSummary& best_now) {
  if (best_now.not_told_apart || !is.best || is.points[*is.best].point == best_now.point) return {};
  return fmt::format("{}{} is better than it", better_by_these_blocks, settings_text(is.points[*is.best]));
}

// "99 %"; of one answer of several, of which together it is 99 %, "99.5 %, for it is one of 2 answers".
std::string level_text(double confidence, std::size_t answers) {
  // Two digits of what is left to chance: 99, 99.5, 99.67, 99.991.
  const int decimals = static_cast<int>(std::ceil(-std::log10(100 * (1 - confidence)) - 1e-9)) + 1;
  const std::string level = fmt::format("{:.{}g} %", 100 * confidence, 2 + decimals);
  return answers <= 1 ? level : fmt::format("{}, for it is one of {} answers", level, answers);
}

// `confidence`: at which a change is called one, where it is one of so many `answers`.
RecheckRow judge(const ScenarioSummary& was, const ScenarioSummary& is, const std::vector<TrialRow>& trials,
                 const std::vector<TrialRow>& again, double confidence, std::size_t answers) {
  const PointSummary &best = was.points[*was.best], &reference = was.points[*was.reference];
  RecheckRow row;
  row.scenario = was.scenario;
  row.point = best.point;
  row.trials = is.trials;
  row.counted = is.counted;
  std::set<int> blocks;
  for (const TrialRow& trial : again) {
    if (trial.scenario == was.scenario && trial.role != TrialRole::warm_up) blocks.insert(trial.block);
  }
  row.blocks = static_cast<int>(blocks.size());
  row.saving_before = range_of(was.gain_of_best);
  row.question = question_text(was);
  row.verdict = not_known_yet;

  const PointSummary *best_now = point_of(is, best.point), *reference_now = point_of(is, reference.point);
  for (const auto& [name, point, then] :
       {std::tuple{"the best", best_now, &best}, {"the reference", reference_now, &reference}}) {
    if (point == nullptr) continue;
    const std::string causes = does_not_run(*point, was.target);
    if (causes.empty()) continue;
    if (then->counted == 0) {  // nor did it then
      row.why =
          fmt::format("{} ({}): no trial counts, nor did one in the night", name, settings_text(*point));
      return row;
    }
    row.verdict = has_changed;
    row.why = fmt::format("{} ({}) does not run as it did: none of {} counts ({})", name,
                          settings_text(*point), counted(point->trials, "trial"), causes);
    return row;
  }
  if (best_now == nullptr || reference_now == nullptr || best_now->counted == 0 ||
      reference_now->counted == 0) {
    const auto by_length = [](const PointSummary* point) {
      return point != nullptr && point->not_counted.contains("chosen_by_length");
    };
    row.why =
        by_length(best_now) || by_length(reference_now)
            ? "no trial of both the best and the reference counts: the sensor could tell the longer ones of "
              "a "
              "setting alone, which are not what it takes"
            : "no trial of both the best and the reference counts: they were disturbed, or too few were run";
    return row;
  }
  if (best_now->censored > 0 || reference_now->censored > 0) {
    row.why = fmt::format("{} of {} did not reach {}: what all of them take is not known",
                          counted(best_now->censored + reference_now->censored, "trial"),
                          best_now->trials + reference_now->trials, was.target);
    return row;
  }
  if (reference.censored > 0 || (reference.counted > 0 && !reference.objective)) {
    row.why =
        fmt::format("in the night the reference {}: there is no saving that could stand",
                    reference.censored > 0 ? fmt::format("did not reach {} in each of its trials", was.target)
                                           : "did no work");
    return row;
  }
  row.saving = range_of(best_now->gain);
  for (const auto& [name, now, then] :
       {std::tuple{"the best", best_now, &best}, {"the reference", reference_now, &reference}}) {
    if (now->objective || !then->objective || was.objective.per.empty()) continue;
    // One trial may have done nothing by chance.
    const bool is_one = now->counted < 2;
    if (!is_one) row.verdict = has_changed;
    row.why = fmt::format("{} ({}) did no work in {}{}", name, settings_text(*now),
                          is_one ? "its only trial" : "any of its " + counted(now->counted, "trial"),
                          is_one ? ": more blocks would tell" : "");
    return row;
  }
  std::string fails_more;
  for (const auto& [name, now, then] :
       {std::tuple{"the best", best_now, &best}, {"the reference", reference_now, &reference}}) {
    const Failures before = failures_of(*then), after = failures_of(*now);
    if (!fails_more_often(before, after)) continue;
    fails_more = fmt::format("of {} of {} ({}) {}, of {} in the night {}", counted(after.of, "trial"), name,
                             settings_text(*now), failures_text(after), before.of, before.failed);
    if (chance_of(before, after) >= 1 - confidence) continue;
    row.verdict = has_changed;
    row.why = fails_more;
    return row;
  }
  const auto as_measured = [&](double level) {
    return change_against_reference(trials, again, was.scenario, best.point, level,
                                    sensors_of_objective(was, best, reference),
                                    sensors_of_objective(is, *best_now, *reference_now));
  };
  const auto change_at = [&](double level) -> std::optional<Change> {
    const auto change = as_measured(level);
    if (change && change->low) return against_both(*change, was, level);
    const auto stated =
        against_stated(stated_gain(was, best, reference), best_now->gain, was.chosen_among, level);
    return stated ? stated : change;
  };
  const auto change = change_at(confidence_of_recheck);
  row.change = range_of(change);
  const auto strict = change_at(confidence);
  if (strict && is_beyond_zero(*strict) && std::abs(strict->value) >= least_change) {
    row.verdict = has_changed;
    row.why = fmt::format(
        "relative to the reference the best takes {:.1f} % {} than in the night "
        "(interval {:+.1f} to {:+.1f} % at {})",
        100 * std::abs(strict->value), strict->value > 0 ? "more" : "less", 100 * *strict->low,
        100 * *strict->high, level_text(confidence, answers));
    return row;
  }
  const Broken broken = broken_constraints(*best_now, best);
  if (!broken.certainly.empty()) {
    row.verdict = has_changed;
    row.why = fmt::format("the best does not hold {} any more", join(broken.certainly, " and "));
    return row;
  }
  const auto& gain = best_now->gain;
  if (!gain || !gain->low) {
    row.why = row.blocks == 1 ? "one block has no spread: more blocks would tell"
                              : "best and reference count together in one block at most, which has no "
                                "spread: more blocks would tell";
    return row;
  }
  // The least of what holds the constraints may take more than a reference that does not: then there is no saving that could stand.
  if (was.gain_of_best && was.gain_of_best->value < 0) {
    row.why = fmt::format(
        "that it changed is not shown; but the night claims no saving that could stand: the best took more "
        "than the "
        "reference{} then too",
        reference.feasible ? "" : ", which breaks a constraint,");
    return row;
  }
  if (const auto high = high_at(*gain, confidence); high && *high < -rounding_of_shares) {
    row.verdict = has_changed;
    row.why = "the best takes more than the reference now";
    return row;
  }
  if (*gain->low <= rounding_of_shares) {
    row.why =
        "by these blocks alone it is not shown that the best is better than the reference: more blocks would "
        "tell";
    return row;
  }
  if (!broken.perhaps.empty()) {
    row.why = fmt::format("the saving stands, but that the best holds {} is not shown",
                          join(broken.perhaps, " and "));
    return row;
  }
  if (!fails_more.empty()) {
    row.why = "the saving stands, but " + fails_more + ": more blocks would tell";
    return row;
  }
  row.verdict = stands;
  row.why =
      strict && strict->low
          ? fmt::format("the change since then, {:+.1f} % [{:+.1f}, {:+.1f} at {}], is within the noise",
                        100 * strict->value, 100 * *strict->low, 100 * *strict->high,
                        level_text(confidence, answers))
          : "how the night itself scattered is not known, so that no change could be told";
  row.why += better_rivals(is, *best_now);
  return row;
}

}  // namespace

std::vector<RecheckRow> judge_recheck(const Summary& night, const std::vector<TrialRow>& trials,
                                      const std::vector<TrialRow>& again) {
  // What was run again was not searched for, and is of no growth.
  ExperimentRow experiment = night.experiment;
  experiment.search.reset();
  experiment.grown.clear();
  const Summary now = summarise(experiment, again);
  std::vector<std::pair<const ScenarioSummary*, const ScenarioSummary*>> judged;
  for (const ScenarioSummary& was : night.scenarios) {
    if (!was.best || !was.reference || *was.best == *was.reference) continue;
    for (const ScenarioSummary& is : now.scenarios) {
      if (is.scenario == was.scenario) judged.emplace_back(&was, &is);
    }
  }
  // Of several answers together as seldom wrong as of one (Bonferroni).
  const std::size_t answers = std::max<std::size_t>(1, judged.size());
  const double confidence = 1 - (1 - confidence_of_recheck) / static_cast<double>(answers);
  // Per unit of work as the savings are: a trial that did nothing took what it took.
  std::vector<TrialRow> then_by_totals = trials, now_by_totals = again;
  set_work_of_totals(then_by_totals, experiment);
  set_work_of_totals(now_by_totals, experiment);
  std::vector<RecheckRow> rows;
  for (const auto& [was, is] : judged)
    rows.push_back(judge(*was, *is, then_by_totals, now_by_totals, confidence, answers));
  return rows;
}

std::string recheck_text(const Summary& night, const std::vector<RecheckRow>& rows) {
  std::string text;
  for (const RecheckRow& row : rows) {
    const auto was = std::find_if(night.scenarios.begin(), night.scenarios.end(),
                                  [&](const ScenarioSummary& one) { return one.scenario == row.scenario; });
    const PointSummary* const best = was == night.scenarios.end() ? nullptr : point_of(*was, row.point);
    text += fmt::format("{}: {}: {}\n", printable(row.scenario),
                        row.verdict == stands        ? "the answer stands"
                        : row.verdict == has_changed ? "the answer has changed"
                                                     : "not known yet",
                        printable(row.why));
    text += fmt::format(
        "  at {}: against the reference {} less {} then, {} now ({} of {} in {})\n",
        best == nullptr ? printable(row.point) : printable(settings_text(*best)),
        share_text(row.saving_before),
        to_string(night.experiment.objective_for(best == nullptr ? "" : best->workload).minimise),
        share_text(row.saving), row.counted, counted(row.trials, "trial"), counted(row.blocks, "block"));
    if (best != nullptr && sensors_part_unknown(*was) && was->objective.minimise != Objective::time)
      text += fmt::format("  {}\n", sensors_part_unknown_text);
  }
  return text;
}

std::string recheck_json(const std::vector<RecheckRow>& rows) {
  using Json = nlohmann::ordered_json;
  const auto range = [](const RecheckRow::Range& one, const char* low, const char* high) {
    return Json{{"value", or_null(one.value)}, {low, or_null(one.low)}, {high, or_null(one.high)}};
  };
  Json json = Json::array();
  for (const RecheckRow& row : rows)
    json.push_back({{"scenario", row.scenario},
                    {"best", row.point},
                    {"question", row.question},
                    {"verdict", row.verdict},
                    {"why", row.why},
                    {"blocks", row.blocks},
                    {"trials", row.trials},
                    {"counted", row.counted},
                    {"saving_before", range(row.saving_before, "low_95", "high_95")},
                    {"saving", range(row.saving, "low_95", "high_95")},
                    {"change", range(row.change, "low_99", "high_99")}});
  return Json{{"rechecks", json}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dvfs_plan
