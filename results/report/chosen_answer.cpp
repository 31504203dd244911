#include "results/report/chosen_answer.hpp"

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "results/report/summary.hpp"

namespace dvfs_plan {
namespace {

std::string workload_of(const ScenarioSummary& scenario) {
  return scenario.points.empty() ? scenario.scenario : scenario.points.front().workload;
}

const ScenarioSummary& choose_scenario(const Summary& summary, const std::string& of) {
  std::vector<const ScenarioSummary*> meant;
  std::vector<std::string> words;  // that would have chosen one
  std::set<std::string> workloads;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    const std::string workload = workload_of(scenario);
    if (workloads.insert(workload).second) words.push_back(workload);
    if (scenario.scenario != workload) words.push_back(scenario.scenario);
    if (scenario.scenario == of) return scenario;
    if (of.empty() || workload == of) meant.push_back(&scenario);
  }
  if (meant.size() == 1) return *meant.front();
  std::vector<std::string> names;
  for (const ScenarioSummary* scenario : meant) names.push_back(shell_quote(printable(scenario->scenario)));
  if (!meant.empty())
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} has {} answers{}: {}", printable(summary.experiment.name), meant.size(),
                    of.empty() ? "" : fmt::format(" for workload '{}'", printable(of)), join(names, ", ")),
        fmt::format("say which: --workload {}", names.front()));
  if (words.empty())
    throw Error(
        ExitCode::machine_refuses,
        summary.experiment.last_session_ended == "done"
            ? fmt::format("{} has no answer: {} before its first trial", printable(summary.experiment.name),
                          summary.experiment.has_budget ? "its budget ended it" : "it ended")
            : fmt::format("{} has no answer yet: it has no trials", printable(summary.experiment.name)),
        summary.experiment.last_session_ended == "done"
            ? "give it more time (budget), and the same command with --fresh runs it"
            : "the same command that began it goes on");
  throw Error(ExitCode::bad_experiment,
              fmt::format("{} has no answer for '{}'{}", printable(summary.experiment.name), printable(of),
                          did_you_mean(of, words)),
              fmt::format("there are: {}", printable(join(words, ", "))));
}

// Why no point is the one of least energy within `slowdown`, a share.
std::string none_within(const ScenarioSummary& scenario, double slowdown) {
  std::set<std::string> limits;  // that those do not hold which are within it
  for (const PointSummary& point : scenario.points) {
    if (!point.energy || !(point.is_reference || (point.slowdown && point.slowdown->value <= slowdown)))
      continue;
    for (const ConstraintCheck& check : point.constraints) {
      if (check.name != "slowdown" && !check.holds.value_or(false)) limits.insert(check.text);
    }
  }
  const std::string name = printable(scenario.scenario);
  return limits.empty()
             ? fmt::format("{}: of no point the energy and a slowdown within {:g} % are known", name,
                           slowdown * 100)
             : fmt::format("{}: no point within a slowdown of {:g} % is known to hold {}", name,
                           slowdown * 100,
                           printable(join(std::vector<std::string>(limits.begin(), limits.end()), " and ")));
}

}  // namespace

ChosenAnswer choose_answer(const Summary& summary, const AnswerWish& wish) {
  const ScenarioSummary& scenario = choose_scenario(summary, wish.of);
  if (!wish.slowdown) {
    if (!scenario.best)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{}: there is no best point", printable(scenario.scenario)),
                  "`dvfs-plan report` says why; nothing was set");
    return {scenario, scenario.points[*scenario.best]};
  }
  const SlowdownOptimum* chosen = nullptr;
  for (const SlowdownOptimum& one : scenario.by_slowdown) {
    if (one.limit <= *wish.slowdown) chosen = &one;
  }
  if (chosen == nullptr)
    throw Error(ExitCode::machine_refuses, none_within(scenario, *wish.slowdown),
                "`dvfs-plan report` says what is known; nothing was set");
  return {scenario, scenario.points[chosen->point]};
}

std::string answer_text(const ChosenAnswer& answer) {
  const std::string settings = settings_text(answer.point);
  return printable(fmt::format("{}: {}{}", answer.scenario.scenario,
                               settings.empty() ? "no setting" : settings,
                               against_the_reference(answer.scenario, answer.point)));
}

std::vector<std::string> answer_doubts(const Summary& summary, const ChosenAnswer& answer,
                                       const AnswerWish& wish) {
  std::vector<std::string> doubts;
  const PointSummary& point = answer.point;
  if (wish.slowdown && point.slowdown && point.slowdown->high && *point.slowdown->high > *wish.slowdown)
    doubts.push_back(
        fmt::format("its slowdown is within {:g} % by the estimate; the 95 % interval reaches {:.1f} %",
                    *wish.slowdown * 100, *point.slowdown->high * 100));
  if (wish.slowdown && point.saving && point.saving->low && *point.saving->low <= 0)
    doubts.push_back(
        point.saving->high && *point.saving->high < 0
            ? "it takes more energy than the reference"
            : "that it takes less energy than the reference is not shown: the 95 % interval holds zero");
  // What the report corrects of the best for its having been chosen is of no other setting.
  const ScenarioSummary& scenario = answer.scenario;
  const bool is_best = scenario.best && &point == &scenario.points[*scenario.best];
  if (wish.slowdown && !point.is_reference && point.saving && scenario.points.size() > 2 &&
      (!is_best || scenario.objective.minimise != Objective::energy))
    doubts.push_back(fmt::format("its saving is by {}, not corrected for its having been chosen as the least",
                                 scenario.search ? "the search's model" : "its own trials"));
  for (const ConstraintCheck& check : point.constraints) {
    if (check.certain == true && check.holds == true) continue;
    doubts.push_back(check.holds == true    ? fmt::format("it holds {} by its mean{}", check.text,
                                                       check.certain ? "; the 95 % interval reaches beyond"
                                                                        : ", with no interval to judge by")
                     : check.holds == false ? fmt::format("it does not hold {}", check.text)
                                            : fmt::format("whether it holds {} is not known", check.text));
  }
  if (const std::string unfinished = unfinished_text(point); !unfinished.empty())
    doubts.push_back(unfinished);
  if (scenario.reference && !point.is_reference) {
    const std::string unfinished = unfinished_text(scenario.points[*scenario.reference]);
    if (!unfinished.empty()) doubts.push_back("of the reference: " + unfinished);
  }
  if (scenario.search && is_best && !scenario.search->scatter_known)
    doubts.push_back(
        "no setting ran often enough for the search to say how much better another may be: no bound is "
        "stated");
  if (scenario.search && is_best && scenario.search->scatter_known &&
      !(scenario.search->bound <= scenario.search->rule.regret))
    doubts.push_back(fmt::format(
        "with {:g} % confidence no other of the {} settings {}{}", 100 * scenario.search->rule.confidence,
        scenario.search->points.size(), at_most_better(scenario.search->bound),
        scenario.search->rule.regret > 0 ? fmt::format("; the search was to go on until that is {:g} %",
                                                       100 * scenario.search->rule.regret)
                                         : ""));
  if (scenario.search && scenario.search->doubtful)
    doubts.push_back(
        "the trials do not go as the search's model says: what it expects of them is not to be trusted");
  if (is_best && !scenario.best_at_edge_of.empty())
    doubts.push_back(fmt::format("it lies at the edge of what was swept on {}: the optimum may lie beyond",
                                 join(scenario.best_at_edge_of, ", ")));
  if (sensors_part_unknown(scenario) && (wish.slowdown || scenario.objective.minimise != Objective::time))
    doubts.emplace_back(sensors_part_unknown_text);
  if (!summary.experiment.all_shuffled() && !summary.experiment.search)
    doubts.push_back(trials_as_listed(summary.experiment) + ": a drift is in the savings");
  if (summary.left > 0) doubts.push_back("the experiment is not finished");
  for (const auto& [axis, instead] : point.delivered_instead)
    doubts.push_back(fmt::format("{} was not delivered as requested in {} of {} trials", axis, instead.trials,
                                 instead.of));
  return doubts;
}

}  // namespace dvfs_plan
