#include "experiments/plan/question.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "experiments/plan/parse_measurement.hpp"

namespace dvfs_plan {
namespace {

// "slowdown<=3%" as a line of `subject to`.
void add_constraint(const std::string& text, ObjectiveSpec& objective) {
  constexpr const char* hint =
      "write a name, a relation and a bound, quoted:  --subject-to 'slowdown<=3%'  --subject-to "
      "'accuracy>=0.75'";
  const auto relation = text.find_first_of("<>");
  const std::string name(trim(std::string_view(text).substr(0, relation)));
  if (relation == std::string::npos || name.empty())
    throw Error(ExitCode::bad_experiment, fmt::format("--subject-to '{}' says no bound", printable(text)),
                hint);
  YamlNode value;
  value.kind = YamlNode::Kind::scalar;
  value.scalar = text.substr(relation);
  YamlNode map;
  map.kind = YamlNode::Kind::map;
  map.entries.push_back({name, {}, std::make_shared<const YamlNode>(std::move(value))});
  Diagnostics diagnostics("--subject-to");
  YamlReader reader(diagnostics);
  parse_constraints(map, reader, objective);
  if (!diagnostics.all().empty())
    throw Error(ExitCode::bad_experiment,
                fmt::format("--subject-to: {}", printable(diagnostics.all().front().message)), hint);
}

}  // namespace

ObjectiveSpec parse_objective_words(const std::string& text, const std::string& option,
                                    const std::string& hint) {
  Diagnostics diagnostics(option);
  ObjectiveSpec objective;
  if (const YamlPointer tree = parse_yaml(text, diagnostics)) {
    YamlReader reader(diagnostics);
    parse_objective_spec(*tree, reader, objective);
  }
  if (!diagnostics.all().empty())
    throw Error(ExitCode::bad_experiment,
                fmt::format("{}: {}", option, printable(diagnostics.all().front().message)), hint);
  return objective;
}

Question parse_question(const std::string& objective, const std::vector<std::string>& subject_to,
                        const std::vector<std::string>& reference) {
  Question question;
  if (!objective.empty()) {
    question.objective = parse_objective_words(objective, "--objective",
                                               "write it as in an experiment: edp, or '{minimise: cost, "
                                               "price: {energy: 0.30 EUR/kWh, machine: 2.50 EUR/h}}'");
    const ObjectiveSpec& o = *question.objective;
    if (!o.per.empty() || !o.across.empty() || o.energy_of || o.target || o.same_work)
      throw Error(
          ExitCode::bad_experiment,
          "--objective: 'per', 'across', 'same work', 'of' and 'to' decide how trials are judged as they are "
          "run",
          "change them in the experiment file, for a new result; here: energy, time, edp, ed2p, cost");
    if (!o.constraints.empty()) question.constraints = o.constraints;
  }
  if (!subject_to.empty()) {
    ObjectiveSpec collected;
    const bool no_limits = std::find(subject_to.begin(), subject_to.end(), "none") != subject_to.end();
    if (no_limits && subject_to.size() > 1)
      throw Error(
          ExitCode::bad_experiment, "--subject-to 'none' beside a limit",
          "'none' takes away the limits of the experiment; those that you name stand instead of them anyway");
    for (const std::string& one : subject_to) {
      if (!no_limits) add_constraint(one, collected);
    }
    question.constraints = collected.constraints;
  }
  for (const std::string& one : reference) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ExitCode::bad_experiment,
                  fmt::format("--reference '{}' says no value of an axis", printable(one)),
                  "write an axis and its value:  --reference 'cpu.frequency=2.2 GHz'");
    question.reference.emplace_back(trim(std::string_view(one).substr(0, equals)),
                                    trim(std::string_view(one).substr(equals + 1)));
  }
  return question;
}

}  // namespace dvfs_plan
