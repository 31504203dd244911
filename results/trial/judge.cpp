#include "results/trial/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/trial/judge_parts.hpp"
#include "results/trial/several.hpp"

namespace dvfs_plan {
namespace {

// Who is meant where the child's end is told of: of several at once the first that failed.
std::string name_of_failed(const TrialRecord& trial) {
  for (const InstanceRecord& one : trial.instances) {
    if (one.end != ChildResult::End::ended_with_others && one.end == trial.child.end &&
        one.exit_code == trial.child.exit_code && one.signal == trial.child.signal)
      return one.name;
  }
  return "the workload";
}

void judge_child(TrialRecord& trial) {
  const ChildResult& child = trial.child;
  const std::string who = name_of_failed(trial);
  switch (child.end) {
    case ChildResult::End::exited:
      if (child.exit_code != 0)
        set_verdict(trial, Verdict::exited, fmt::format("{} exited with {}", who, child.exit_code));
      break;
    case ChildResult::End::signalled:
      set_verdict(trial, Verdict::signalled,
                  fmt::format("{} was ended by {}", who, signal_name(child.signal)));
      break;
    case ChildResult::End::timed_out:
      set_verdict(trial, Verdict::timed_out,
                  fmt::format("{} was ended at its timeout after {}", who,
                              format_duration(seconds(child.ended - child.started))));
      break;
    case ChildResult::End::ended_with_others:  // never the one by which a trial is judged
    case ChildResult::End::interrupted:
    case ChildResult::End::not_launched:
      set_verdict(trial, Verdict::not_launched, child.problem);
      break;
  }
}

// Who else used the CPUs: more than was allowed for, and more than the kernel's ticks (10 ms a CPU) may be
// off.
void judge_foreign_load(TrialRecord& trial, const JudgeInput& input) {
  if (!trial.conditions.foreign_cpu_s || !input.foreign_limit) return;
  constexpr double ticks = 0.05;
  const double wall = seconds(trial.child.ended - trial.child.started).value();
  const double share = *trial.conditions.foreign_cpu_s / std::max(wall, 1e-9);
  if (*trial.conditions.foreign_cpu_s <= *input.foreign_limit * wall + ticks) return;
  set_verdict(trial, Verdict::foreign_load,
              fmt::format("other processes took {:.2f} s of CPU time in {:.2f} s ({:.0f} % of one CPU; up to "
                          "{:.0f} % counts)",
                          *trial.conditions.foreign_cpu_s, wall, 100 * share, 100 * *input.foreign_limit));
}

// What counts ends where the target is reached first. Where it is not, all of it is less than what it takes: returns why, for a trial
// that nothing else speaks against.
std::string end_at_target(TrialRecord& trial, Regions& regions, const ObjectiveSpec& objective) {
  if (!objective.target || is_idle(trial.role)) return {};
  std::optional<Nanoseconds> reached;
  std::size_t told = 0;
  double nearest = 0;
  for (const MetricRecord& metric : regions.metrics) {
    if (metric.name != objective.target->name || !metric.time) continue;
    const auto value = as_bounded(*objective.target, metric.value, metric.unit);
    if (!value) {
      set_verdict(trial, Verdict::no_metric,
                  fmt::format("whether {} was reached cannot be told: {}", constraint_text(*objective.target),
                              why_not_comparable(*objective.target, metric.unit)));
      return {};
    }
    const bool lower_is_better = bounds_from_above(objective.target->relation);
    if (told++ == 0 || (lower_is_better ? *value < nearest : *value > nearest)) nearest = *value;
    if (holds(objective.target->relation, *value, objective.target->limit) &&
        (!reached || *metric.time < *reached))
      reached = metric.time;
  }
  if (reached) {
    end_counting_at(regions, *reached);
    return {};
  }
  const std::string target = constraint_text(*objective.target);
  if (told == 0)
    set_verdict(trial, Verdict::no_metric,
                fmt::format("the workload marked no '{}' while it ran, which is to become {}: mark it with "
                            "the regions module, not on standard output",
                            objective.target->name, target));
  else
    return fmt::format(
        "it did not reach {}: the nearest of {} values was {:g}; what it used until its end is a lower bound",
        target, told, nearest);
  return {};
}

// How a value was told.
struct ToldAs {
  std::string unit;
  bool as_count = false;
};

// A count is a share in %, where `as_share`; as units of work it is what was counted, which no unit says.
bool told_alike(const ToldAs& a, const ToldAs& b, bool as_share) {
  if (a.as_count == b.as_count) return a.as_count || plain_unit(a.unit) == plain_unit(b.unit);
  return as_share && (a.as_count ? b : a).unit == "%";
}

std::string in_words(const ToldAs& told) {
  return told.as_count ? "a count ('96 of 100')" : unit_in_words(told.unit);
}

// How values of what decides were told in more than one unit, in this trial or since earlier ones; empty: they were not. `as_share`: a
// count is its share, as in a constraint; of units of work, numbers go before counts in a trial that tells both (units_told()).
std::string in_two_units(const TrialRecord& trial, const std::string& name, const JudgeInput& input,
                         bool as_share) {
  const MetricRecord* first = says_the_unit(trial.metrics, name);
  if (first == nullptr) return {};
  const auto of = [](const MetricRecord& metric) { return ToldAs{metric.unit, metric.count_of.has_value()}; };
  for (const MetricRecord& metric : trial.metrics) {
    if (metric.name != name || (!as_share && metric.count_of)) continue;
    if (!told_alike(of(*first), of(metric), as_share))
      return fmt::format("come in two units, {} and {}", in_words(of(*first)), in_words(of(metric)));
  }
  const auto before = input.told_before.find(name);
  if (before == input.told_before.end()) return {};
  const ToldAs earlier{before->second.unit, before->second.as_count};
  if (told_alike(of(*first), earlier, as_share)) return {};
  return fmt::format("come in {} here and in {} in {}", in_words(of(*first)), in_words(earlier),
                     printable(before->second.trial));
}

void judge_units(TrialRecord& trial, const JudgeInput& input) {
  if (is_idle(trial.role)) return;
  if (input.objective.per.empty()) {
    // Of copies that do the same work each run is a unit; different ones together are one.
    const bool copies = std::all_of(
        trial.instances.begin(), trial.instances.end(),
        [&](const InstanceRecord& one) { return one.workload == trial.instances.front().workload; });
    if (input.objective.same_work && copies && (input.in_copies || !trial.instances.empty()))
      trial.units = static_cast<double>(trial.instances.empty() ? trial.starts() : trial.instances.size());
    return;
  }
  const auto told = units_told(trial.metrics, input.objective.per);
  const double units = told.value_or(0);
  // What is divided by it, and squared, stays a number.
  constexpr double least = 1e-100, most = 1e100;
  if (!trial.units_unreadable.empty()) {
    set_verdict(
        trial, Verdict::no_metric,
        fmt::format("a value of '{}', which the objective is per, cannot be read: '{}'; wanted is a name, a "
                    "number such as 1234.5, and a unit or none",
                    input.objective.per, printable(trial.units_unreadable)));
  } else if (const std::string two_units = in_two_units(trial, input.objective.per, input, false);
             !two_units.empty()) {
    set_verdict(
        trial, Verdict::no_metric,
        fmt::format("values of '{}', which the objective is per, {}", input.objective.per, two_units));
  } else if (const auto negative = std::find_if(
                 trial.metrics.begin(), trial.metrics.end(),
                 [&](const MetricRecord& one) { return one.name == input.objective.per && one.value < 0; });
             negative != trial.metrics.end()) {
    set_verdict(trial, Verdict::no_metric,
                fmt::format("a value of '{}', which the objective is per, is below 0: {:g}; work that was "
                            "done is not taken back",
                            input.objective.per, negative->value));
  } else if (std::isfinite(units) && units > 0 && (units < least || units > most)) {
    set_verdict(trial, Verdict::no_metric,
                fmt::format("the workload's '{}', which the objective is per, is {:g}: no amount of work",
                            input.objective.per, units));
  } else if (!std::isfinite(units)) {
    set_verdict(
        trial, Verdict::no_metric,
        fmt::format("the workload's values of '{}', which the objective is per, add up to no finite number",
                    input.objective.per));
  } else if (trial.units_incomplete && units > 0) {
    set_verdict(trial, Verdict::no_metric,
                fmt::format("a run of the workload gave no readable '{}', which the objective is per, or its "
                            "output was cut at "
                            "'output_cap'",
                            input.objective.per));
  } else if (units > 0 || (told && !trial.units_incomplete)) {
    // None at all, said as such, is what its time and energy brought; who says nothing has not told.
    trial.units = units;
  } else {
    set_verdict(
        trial, Verdict::no_metric,
        fmt::format("the workload told no '{0}', which the objective is per: it prints a line such as "
                    "'{0} 64000' and has 'metrics: [lines]', or marks it (dvfs_plan_metric)",
                    input.objective.per));
  }
}

// Of copies that run at once each must tell what a constraint is about, where one does: "" where they do. `name`: the metric.
std::string copy_that_told_nothing(const TrialRecord& trial, const std::string& name) {
  std::set<int> told;  // runs
  for (const MetricRecord& metric : trial.metrics) {
    if (metric.name == name) told.insert(metric.run);
  }
  std::set<std::string> workloads;
  for (const InstanceRecord& one : trial.instances) {
    if (told.contains(one.run)) workloads.insert(one.workload);
  }
  for (const InstanceRecord& one : trial.instances) {
    if (workloads.contains(one.workload) && !told.contains(one.run)) return one.name;
  }
  return {};
}

// Of one that runs again and again by itself.
bool last_run_told_nothing(const TrialRecord& trial, const std::string& name) {
  int last = 0;
  for (const MetricRecord& metric : trial.metrics) {
    if (metric.name == name) last = std::max(last, metric.run);
  }
  return trial.at_once() == 1 && last > 0 && last < static_cast<int>(trial.runs.size());
}

}  // namespace

const MetricRecord* says_the_unit(const std::vector<MetricRecord>& metrics, const std::string& name) {
  const MetricRecord* first = nullptr;
  for (const MetricRecord& metric : metrics) {
    if (metric.name != name) continue;
    if (!metric.count_of) return &metric;
    if (first == nullptr) first = &metric;
  }
  return first;
}

void EarlierReadings::add(std::span<const Reading> readings) {
  std::map<std::uint32_t, std::vector<double>> told;  // each change of what was said
  for (const Reading& reading : readings) {
    if (!reading.value) continue;
    last[reading.channel] = *reading.value;
    auto& values = told[reading.channel];
    if (values.empty() || values.back() != *reading.value) values.push_back(*reading.value);
  }
  constexpr std::size_t fewest = 10;
  constexpr double own_values = 0.8;
  for (auto& [channel, values] : told) {
    const auto changes = static_cast<double>(values.size());
    if (values.size() < fewest) continue;
    std::sort(values.begin(), values.end());
    const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
    if (static_cast<double>(distinct) >= own_values * changes) fine.insert(channel);
  }
}

namespace {

// The last value is what a constraint is about: an older one would hold it, or break it, in its place.
void judge_last_values(TrialRecord& trial, const JudgeInput& input) {
  if (is_idle(trial.role)) return;
  for (const ConstraintSpec& constraint : input.objective.constraints) {
    if (is_measured(constraint.name)) continue;  // whatever the workload tells by that name
    if (const std::string units = in_two_units(trial, constraint.name, input, true); !units.empty())
      set_verdict(trial, Verdict::no_metric,
                  fmt::format("values of '{}', which the constraint {} is about, {}", constraint.name,
                              constraint_text(constraint), units));
    if (last_run_told_nothing(trial, constraint.name))
      set_verdict(
          trial, Verdict::no_metric,
          fmt::format("the last run of the command told no '{}', which the constraint {} is about, and "
                      "earlier ones did",
                      printable(constraint.name), printable(constraint_text(constraint))));
    if (const std::string silent = copy_that_told_nothing(trial, constraint.name); !silent.empty())
      set_verdict(trial, Verdict::no_metric,
                  fmt::format("{} told no '{}', which the constraint {} is about, and others did", silent,
                              printable(constraint.name), printable(constraint_text(constraint))));
    const auto last = std::find_if(trial.metrics.rbegin(), trial.metrics.rend(),
                                   [&](const MetricRecord& one) { return one.name == constraint.name; });
    if (last != trial.metrics.rend() && !as_bounded(constraint, last->value, last->unit))
      trial.events.push_back({"constraint_unit", fmt::format("whether {} holds cannot be told: {}",
                                                             printable(constraint_text(constraint)),
                                                             why_not_comparable(constraint, last->unit))});
    const auto bad = trial.unreadable_at_last.find(constraint.name);
    if (bad == trial.unreadable_at_last.end()) continue;
    set_verdict(
        trial, Verdict::no_metric,
        fmt::format("the last value of '{}', which the constraint {} is about, cannot be read{}",
                    constraint.name, constraint_text(constraint),
                    bad->second.empty() ? std::string() : fmt::format(": '{}'", printable(bad->second))));
  }
}

// The objective per run of the command, or per unit of work.
void find_objective(TrialRecord& trial, const JudgeInput& input) {
  if (is_idle(trial.role) || !trial.region_s) return;
  const double runs = static_cast<double>(trial.starts());
  const double share = trial.units ? 1 / *trial.units : 1 / runs;
  // Of no work there is no amount per unit: what it used is in that of its setting's trials together (report/of_totals.hpp).
  if (!input.objective.per.empty() && trial.units.value_or(0) <= 0) return;
  const auto value =
      objective_value(input.objective, trial.energy_j ? std::optional(*trial.energy_j * share) : std::nullopt,
                      *trial.region_s * share);
  if (value && std::isfinite(*value)) trial.objective = value;
}

void say_what_was_left(TrialRecord& trial) {
  for (const auto& [stream, name] :
       {std::pair{&trial.child.output, "output"}, std::pair{&trial.child.errors, "error output"}}) {
    if (stream->truncated()) {
      trial.events.push_back(
          {"output_truncated", fmt::format("{} of {} bytes of its {}{} were kept, from the end",
                                           stream->tail.size(), stream->bytes - stream->of_earlier_runs,
                                           stream->of_earlier_runs > 0 ? "last run's " : "", name)});
    }
  }
  if (trial.child.leftovers > 0) {
    trial.events.push_back(
        {"leftover_processes",
         fmt::format("it left {} process{} running, which {} ended", trial.child.leftovers,
                     trial.child.leftovers == 1 ? "" : "es", trial.child.leftovers == 1 ? "was" : "were")});
  }
}

}  // namespace

void set_verdict(TrialRecord& trial, Verdict verdict, std::string text) {
  if (trial.verdict != Verdict::ok) {
    // The first cause stays; the others are told all the same.
    if (trial.verdict != verdict) trial.events.push_back({std::string(to_string(verdict)), std::move(text)});
    return;
  }
  trial.verdict = verdict;
  trial.verdict_text = std::move(text);
}

std::vector<std::string> deciding_metrics(const ObjectiveSpec& objective) {
  std::vector<std::string> names;
  if (!objective.per.empty()) names.push_back(objective.per);
  for (const ConstraintSpec& constraint : objective.constraints) {
    if (!is_measured(constraint.name)) names.push_back(constraint.name);
  }
  if (objective.target) names.push_back(objective.target->name);
  return names;
}

std::optional<double> objective_value(const ObjectiveSpec& objective, std::optional<double> joules,
                                      double seconds) {
  if (objective.minimise == Objective::time) return seconds;
  if (!joules) return std::nullopt;
  switch (objective.minimise) {
    case Objective::energy:
    case Objective::time:
      return *joules;
    case Objective::edp:
      return *joules * seconds;
    case Objective::ed2p:
      return *joules * seconds * seconds;
    case Objective::cost:
      if (!objective.price) return std::nullopt;
      return *joules * objective.price->per_joule + seconds * objective.price->per_second;
  }
  return std::nullopt;
}

bool judge_readings(TrialRecord& trial, const JudgeInput& input, const Regions& regions) {
  bool delivered = false;
  const bool of_boards = std::any_of(trial.power_limits_w.begin(), trial.power_limits_w.end(),
                                     [](const auto& limit) { return !is_package(limit.first); });
  for (const auto& [domain, watts] : trial.power_limits_w) {
    if (of_boards && is_package(domain)) continue;
    trial.conditions.power_limit_w = std::min(trial.conditions.power_limit_w.value_or(watts), watts);
  }
  if (!is_idle(trial.role)) {
    const auto spans = counted_spans(regions, 0);
    const Delivered clocks = judge_clocks(trial, input, spans);
    delivered = clocks.all;
    judge_boards(trial, input, spans, clocks.boards);
    judge_packages(trial, input, spans);
  }
  judge_energy(trial, input, regions);
  return delivered;
}

void judge(TrialRecord& trial, const JudgeInput& input) {
  if (trial.knob_refused) return;  // its verdict was set when it was refused
  judge_child(trial);
  if (trial.child.end == ChildResult::End::not_launched) return;
  if (trial.child.stopped_meanwhile)
    set_verdict(trial, Verdict::stopped,
                "dvfs-plan itself was stopped and continued meanwhile: the end of the trial was not seen");
  if (trial.child.child_was_stopped && !trial.child.stopped_meanwhile)
    set_verdict(
        trial, Verdict::stopped,
        "the workload was stopped for a while by a signal or a debugger: its time is not that of its work");

  const std::vector<MarkedRun> only{{trial.child.started, trial.child.ended, {}}};
  Regions regions =
      find_regions(input.runs.empty() ? only : input.runs, is_idle(trial.role) ? "" : input.region);
  const std::string not_reached = end_at_target(trial, regions, input.objective);
  if (input.objective.target && regions.bad_metrics.contains(input.objective.target->name))
    set_verdict(
        trial, Verdict::no_metric,
        fmt::format("a value of '{}' that was marked cannot be read, and it may be the one that reached {}",
                    printable(input.objective.target->name),
                    printable(constraint_text(*input.objective.target))));
  trial.regions = regions.all;
  trial.region = regions.name;
  trial.metrics.insert(trial.metrics.end(), regions.metrics.begin(), regions.metrics.end());
  trial.events.insert(trial.events.end(), regions.events.begin(), regions.events.end());
  trial.units_incomplete = trial.units_incomplete || regions.bad_metrics.contains(input.objective.per);
  for (const std::string& name : regions.bad_metrics) trial.unreadable_at_last.emplace(name, "");
  // Before "did not mark": a mark that was lost, or its other half, is why.
  if (!regions.lost.empty())
    set_verdict(trial, Verdict::marks_lost,
                "region marks are lost, so what counts is not known: " + regions.lost);
  if (!regions.unpaired.empty())
    set_verdict(trial, Verdict::marks_unpaired, regions.unpaired + ", so what counts is not known");
  if (regions.missing && !marked_by_whole_workloads(trial, regions))
    set_verdict(trial, Verdict::no_region,
                input.region.empty()
                    ? "one of its runs marked no region, others did"
                    : fmt::format("the workload did not mark the region '{}'", input.region));
  const auto spans = counted_spans(regions, 0);
  if (spans.empty()) {
    set_verdict(trial, Verdict::no_region, "what counts in it has no length");
  } else {
    trial.region_s = counted_seconds(spans);
  }

  judge_instances(trial, regions, input.per_of_workload);
  const bool delivered = judge_readings(trial, input, regions);
  judge_foreign_load(trial, input);
  judge_last_values(trial, input);
  judge_units(trial, input);
  // Whatever spoiled it may be why: only of a trial that is fine otherwise it is a bound.
  if (!not_reached.empty() && trial.verdict == Verdict::ok)
    set_verdict(trial, Verdict::censored, not_reached);
  find_objective(trial, input);
  say_what_was_left(trial);
  if (trial.verdict != Verdict::throttled && trial.conditions.throttle_events.value_or(0) > 0)
    trial.events.push_back(
        {"throttle_events",
         fmt::format("{:.0f} thermal throttle events; {}", *trial.conditions.throttle_events,
                     delivered ? "every requested clock was delivered all the same"
                               : "whether they slowed the trial is not known")});
}

}  // namespace dvfs_plan
