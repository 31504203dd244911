#include "results/compare/same_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/question_text.hpp"
#include "results/report/units_told.hpp"

namespace dvfs_plan {
namespace {

// Two nights, of two sides or of one, and what each is called: "before", "in a.sqlite".
struct TwoNights {
  const ComparedResult &one, &other;
  std::string of_one, of_other;
};

// Where both are known.
bool of_other_sensors(const ComparedResult& one, const ComparedResult& other) {
  return !one.sensors.empty() && !other.sensors.empty() && one.sensors != other.sensors;
}

// In what they ask different questions, or measured different things.
std::vector<std::string> warnings_of(const TwoNights& two) {
  std::vector<std::string> warnings;
  const ExperimentRow &a = two.one.summary.experiment, &b = two.other.summary.experiment;
  const auto differ = [&](const char* what, const std::string& x, const std::string& y, const char* so) {
    if (x != y)
      warnings.push_back(fmt::format("{}: '{}' {}, '{}' {}; {}", what, x, two.of_one, y, two.of_other, so));
  };
  differ("energy source", a.energy_source.value_or("none"), b.energy_source.value_or("none"),
         "their energies are of different things and do not compare");
  if (a.energy_source == b.energy_source && of_other_sensors(two.one, two.other))
    differ("sensors of the energy", two.one.sensors, two.other.sensors,
           "by how much two meters of one thing differ is in no interval");
  differ("objective", std::string(to_string(a.objective.minimise)),
         std::string(to_string(b.objective.minimise)), "the best points answer different questions");
  const auto or_none = [](std::string text) { return text.empty() ? std::string("none") : std::move(text); };
  differ("limits", or_none(limits_text(a.objective)), or_none(limits_text(b.objective)),
         "the best points answer different questions");
  differ("price", or_none(price_text(a.objective)), or_none(price_text(b.objective)),
         "the best points answer different questions");
  differ("unit of work", a.objective.per, b.objective.per, "their energies are per different units");
  // Of single workloads, where they have one of their own: "decode: time per tokens", "train: to loss <= 0.35".
  const auto own = [&](const ExperimentRow& e) {
    std::vector<std::string> texts;
    for (const auto& [name, o] : e.own_objectives)
      texts.push_back(fmt::format("{}: {}{}{}{}", name, to_string(o.minimise), o.per.empty() ? "" : " per ",
                                  o.per, o.constraints.empty() ? "" : " with " + limits_text(o)));
    for (const auto& [name, target] : e.targets) texts.push_back(fmt::format("{}: to {}", name, target));
    return join(texts, ", ");
  };
  differ("objectives of single workloads", own(a), own(b), "their answers are to different questions");
  return warnings;
}

std::optional<std::string> not_all_run(const ComparedResult& night) {
  const Summary& summary = night.summary;
  if (summary.left == 0 || summary.experiment.search) return std::nullopt;
  return summary.experiment.last_session_ended == "done"
             ? fmt::format("{} ended with {} of its planned trials not run", night.file, summary.left)
             : fmt::format("{} is unfinished: {} of its trials are still to be run", night.file,
                           summary.left);
}

const ScenarioSummary* scenario_of(const ComparedResult& night, const std::string& name) {
  const auto& all = night.summary.scenarios;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ScenarioSummary& one) { return one.scenario == name; });
  return found == all.end() ? nullptr : &*found;
}

// In one unit, or not told in one of the two.
bool told_alike(const ScenarioSummary& before, const ScenarioSummary& after, const std::string& name) {
  const auto a = unit_of_metric(before, name), b = unit_of_metric(after, name);
  return !a || !b || *a == *b;
}

// What a limit is about is converted, and a count is its share in %.
bool bounded_alike(const ScenarioSummary& before, const ScenarioSummary& after, const std::string& name) {
  const auto unit_in = [&](const ScenarioSummary& scenario) -> std::optional<std::string> {
    for (const PointSummary& point : scenario.points) {
      const auto metric = point.metrics.find(name);
      if (metric != point.metrics.end() && metric->second.count_of > 0) return "%";
    }
    return unit_of_metric(scenario, name);
  };
  const auto a = unit_in(before), b = unit_in(after);
  return !a || !b || *a == *b || unit_factor(*a, *b);
}

// One scenario in two nights, and what each is called.
struct TwoScenarios {
  const ScenarioSummary &one, &other;
  std::string of_one, of_other;
};

// What the units of work and the metrics that constraints are about were told in, by scenario: "5" is 5000 where it was told in k.
std::vector<std::string> other_units(const TwoScenarios& two) {
  const auto& [before, after, of_before, of_after] = two;
  std::vector<std::string> warnings;
  std::set<std::string> names;
  if (!before.objective.per.empty()) names.insert(before.objective.per);
  for (const auto* scenario : {&before, &after}) {
    for (const ConstraintSpec& constraint : scenario->objective.constraints) names.insert(constraint.name);
  }
  for (const std::string& name : names) {
    const bool is_work = name == before.objective.per || name == after.objective.per;
    if (is_work ? told_alike(before, after, name) : bounded_alike(before, after, name)) continue;
    warnings.push_back(fmt::format("{}: '{}' is told in {} {}, in {} {}; what is made of it does not compare",
                                   before.scenario, name, unit_in_words(*unit_of_metric(before, name)),
                                   of_before, unit_in_words(*unit_of_metric(after, name)), of_after));
  }
  return warnings;
}

// Where energy and time of the two are of other things.
std::string other_work(const TwoScenarios& two) {
  const auto& [one, other, of_one, of_other] = two;
  if (one.objective.per == other.objective.per && one.target == other.target) return {};
  const auto what = [](const ScenarioSummary& scenario) {
    if (!scenario.target.empty()) return fmt::format("to {}", scenario.target);
    return scenario.objective.per.empty() ? std::string("per run") : "per " + unit_of_work(scenario);
  };
  return fmt::format("{}: energy and time are {} {}, {} {}: they do not compare", one.scenario, what(one),
                     of_one, what(other), of_other);
}

}  // namespace

SameQuestion same_question(const Nights& ones, const Nights& others) {
  SameQuestion same;
  const auto look = [&](const TwoNights& two) {
    for (std::string& warning : warnings_of(two)) same.warnings.push_back(std::move(warning));
    const ExperimentRow &one = two.one.summary.experiment, &other = two.other.summary.experiment;
    // Within a night what a meter tells too much cancels in the ratio to the reference; levels hold all of it.
    const bool other_meters = ones.size() > 1 && others.size() > 1 && of_other_sensors(two.one, two.other);
    same.same_energies = same.same_energies && one.energy_source == other.energy_source &&
                         one.objective.per == other.objective.per && !other_meters;
  };
  look({ones.front(), others.front(), "before", "after"});
  for (const auto* side : {&ones, &others}) {
    const ComparedResult& first = side->front();
    for (const ComparedResult& night : *side) {
      if (&night != &first) look({first, night, "in " + first.file, "in " + night.file});
    }
  }
  for (const auto* side : {&ones, &others}) {
    for (const ComparedResult& night : *side) {
      if (const auto rest = not_all_run(night)) same.warnings.push_back(*rest);
    }
  }
  return same;
}

SameWork same_work(const ScenarioSummary& before, const Nights& ones, const ScenarioSummary& after,
                   const Nights& others) {
  SameWork same;
  const auto look = [&](const TwoScenarios& two) {
    for (std::string& warning : other_units(two)) same.warnings.push_back(std::move(warning));
    if (std::string other = other_work(two); !other.empty()) {
      same.warnings.push_back(std::move(other));
      same.is_one = false;
    }
    // Of another unit of work neither energies nor times are of the same.
    if (!told_alike(two.one, two.other, two.one.objective.per)) same.is_one = false;
  };
  look({before, after, "before", "after"});
  for (const auto* side : {&ones, &others}) {
    const ComparedResult* first = nullptr;
    const ScenarioSummary* first_of_side = nullptr;
    for (const ComparedResult& night : *side) {
      const ScenarioSummary* const one = scenario_of(night, before.scenario);
      if (one == nullptr) continue;
      if (first == nullptr) {
        first = &night;
        first_of_side = one;
        continue;
      }
      look({*first_of_side, *one, "in " + first->file, "in " + night.file});
    }
  }
  return same;
}

std::vector<Difference> machine_differences(const Nights& before, const Nights& after) {
  std::set<std::string> names;
  for (const auto* side : {&before, &after}) {
    for (const ComparedResult& night : *side) {
      for (const auto& [name, value] : night.machine) names.insert(name);
    }
  }
  std::vector<Difference> differences;
  const auto differ = [&](const std::string& what, auto of) {
    const auto texts = [&](const Nights& side) {
      std::set<std::string> all;
      for (const ComparedResult& night : side) all.insert(of(night));
      return all;
    };
    const auto one = texts(before), other = texts(after);
    const auto text = [](const std::set<std::string>& all) {
      return join(std::vector<std::string>(all.begin(), all.end()), "; ");
    };
    if (one != other || one.size() > 1) differences.push_back({what, text(one), text(other)});
  };
  for (const std::string& name : names) {
    differ(name, [&](const ComparedResult& night) {
      const auto found = night.machine.find(name);
      return found == night.machine.end() ? std::string() : found->second;
    });
  }
  differ("nodes", [](const ComparedResult& night) {
    std::set<std::string> all;
    for (const TrialRow& trial : night.trials) {
      if (trial.counts() && !trial.node.empty()) all.insert(trial.node);
    }
    return join(std::vector<std::string>(all.begin(), all.end()), ", ");
  });
  differ("dvfs-plan", [](const ComparedResult& night) { return night.summary.experiment.tool_version; });
  return differences;
}

}  // namespace dvfs_plan
