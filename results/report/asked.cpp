#include "results/report/asked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/settings_order.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {
namespace {

// What no trial told cannot be demanded: it would hold nowhere, in silence.
void require_metrics(const std::vector<ConstraintSpec>& constraints, const std::vector<TrialRow>& trials) {
  std::set<std::string> told;
  for (const TrialRow& trial : trials) {
    for (const auto& [name, value] : trial.metrics) told.insert(name);
  }
  for (const ConstraintSpec& constraint : constraints) {
    if (is_measured(constraint.name) || told.contains(constraint.name)) continue;
    std::vector<std::string> known{"slowdown", "power", "time", "energy"};
    known.insert(known.end(), told.begin(), told.end());
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("--subject-to {}: no trial told a metric '{}'{}", printable(constraint_text(constraint)),
                    printable(constraint.name), did_you_mean(constraint.name, known)),
        fmt::format("there are: {}", printable(join(known, ", "))));
  }
}

bool same_value(const AxisSetting& setting, const std::string& wanted) {
  if (equal_ignoring_case(setting.text, wanted)) return true;
  const auto quantity = parse_quantity(wanted);
  return setting.number && quantity &&
         std::abs(*setting.number - quantity->value) <= 1e-9 * std::abs(*setting.number);
}

// The point of each scenario that holds all of it; of several, as where the experiment's file asks, the one nearest to what a machine does by
// itself: the highest value of each numeric knob, and the first value of all else.
class Reference {
 public:
  Reference(const Question& question, const ExperimentRow& experiment, const std::vector<PointRow>& points)
      : wanted_(question.reference) {
    for (const auto& [axis, kind] : experiment.axes) {
      if (kind == "knob") knobs_.push_back(axis);
    }
    std::copy_if(points.begin(), points.end(), std::back_inserter(points_),
                 [](const PointRow& point) { return point.in_plan; });
    for (const auto& one : wanted_) {
      for (const PointRow& point : points_) {
        for (const AxisSetting& setting : point.settings) {
          if (setting.axis == one.first && setting.text == one.second) as_written_.insert(one);
        }
      }
    }
  }

  // Keys of the points, or throws.
  std::set<std::string> find() const {
    std::map<std::string, const PointRow*> chosen;
    for (const PointRow& point : points_) {
      if (!holds(point)) continue;
      const PointRow*& one = chosen[point.scenario];
      if (one == nullptr || nearer_to_default(point, *one)) one = &point;
    }
    if (chosen.empty()) refuse();
    std::set<std::string> keys;
    for (const auto& [scenario, point] : chosen) keys.insert(point->key);
    // Scenarios in which there is none such keep theirs.
    for (const PointRow& point : points_) {
      if (point.is_reference && !chosen.contains(point.scenario)) keys.insert(point.key);
    }
    return keys;
  }

 private:
  bool holds(const PointRow& point) const {
    return std::all_of(wanted_.begin(), wanted_.end(), [&](const auto& one) {
      return std::any_of(point.settings.begin(), point.settings.end(), [&](const AxisSetting& setting) {
        if (setting.axis != one.first) return false;
        // As it is written, before what only means the same number.
        return as_written_.contains(one) ? setting.text == one.second : same_value(setting, one.second);
      });
    });
  }

  static const AxisSetting* setting_of(const PointRow& point, const std::string& axis) {
    for (const AxisSetting& one : point.settings) {
      if (one.axis == axis) return &one;
    }
    return nullptr;
  }

  bool nearer_to_default(const PointRow& a, const PointRow& b) const {
    for (const std::string& axis : knobs_) {
      const AxisSetting *const mine = setting_of(a, axis), *const theirs = setting_of(b, axis);
      if (mine == nullptr || theirs == nullptr || mine->text == theirs->text) continue;
      if (mine->number && theirs->number) return *mine->number > *theirs->number;
      for (const PointRow& point : points_) {  // in the file's order
        const AxisSetting* const one = setting_of(point, axis);
        if (one != nullptr && (one->text == mine->text || one->text == theirs->text))
          return one->text == mine->text;
      }
    }
    return false;
  }

  [[noreturn]] void refuse() const {
    for (const auto& [axis, value] : wanted_) {
      std::vector<std::string> axes, values;
      bool any = false;
      for (const PointRow& point : points_) {
        for (const AxisSetting& setting : point.settings) {
          if (std::find(axes.begin(), axes.end(), setting.axis) == axes.end()) axes.push_back(setting.axis);
          if (setting.axis != axis) continue;
          any = any || same_value(setting, value);
          if (std::find(values.begin(), values.end(), setting.text) == values.end())
            values.push_back(setting.text);
        }
      }
      if (values.empty())
        throw Error(
            ExitCode::bad_experiment,
            fmt::format("--reference: there is no axis '{}'{}", printable(axis), did_you_mean(axis, axes)),
            fmt::format("there are: {}", printable(join(axes, ", "))));
      if (!any)
        throw Error(ExitCode::bad_experiment,
                    fmt::format("--reference: {} = {} was not swept", printable(axis), printable(value)),
                    fmt::format("there are: {}", printable(join(values, ", "))));
    }
    throw Error(ExitCode::bad_experiment, "--reference: no point has all of these values together",
                "name fewer of them; of several points the one with the highest value of each knob is taken");
  }

  const std::vector<std::pair<std::string, std::string>>& wanted_;
  std::vector<PointRow> points_;  // that the experiment has
  std::vector<std::string> knobs_;
  std::set<std::pair<std::string, std::string>>
      as_written_;  // of wanted_, those that were swept in just these words
};

std::string texts_of(const std::vector<ConstraintSpec>& constraints) {
  std::vector<std::string> texts;
  for (const ConstraintSpec& constraint : constraints) texts.push_back(constraint_text(constraint));
  return texts.empty() ? "nothing" : join(texts, " and ");
}

void ask_objective(const Question& question, ObjectiveSpec& objective) {
  if (question.objective) {
    objective.minimise = question.objective->minimise;
    objective.price = question.objective->price;
  }
  if (question.constraints) objective.constraints = *question.constraints;
}

}  // namespace

std::vector<std::string> ask(const Question& question, ExperimentRow& experiment,
                             std::vector<PointRow>& points, std::vector<TrialRow>& trials) {
  std::vector<std::string> asked;
  if (question.constraints) require_metrics(*question.constraints, trials);
  const ObjectiveSpec was = experiment.objective;
  ask_objective(question, experiment.objective);
  for (auto& [workload, own] : experiment.own_objectives) ask_objective(question, own);
  if (question.objective)
    asked.push_back(fmt::format("objective {} (the experiment's: {})",
                                to_string(experiment.objective.minimise), to_string(was.minimise)));
  if (question.constraints)
    asked.push_back(fmt::format("subject to {} (the experiment's: {})", texts_of(*question.constraints),
                                texts_of(was.constraints)));
  if (!question.reference.empty()) {
    const auto keys = Reference(question, experiment, points).find();
    std::vector<std::string> words;
    for (const auto& [axis, value] : question.reference) words.push_back(axis + " = " + value);
    asked.push_back(fmt::format("reference {}", join(words, ", ")));
    for (PointRow& point : points) point.is_reference = keys.contains(point.key);
    for (TrialRow& trial : trials) trial.is_reference = keys.contains(trial.point);
  }
  if (question.objective) {
    for (TrialRow& trial : trials) {
      // What was measured counts or does not, whatever is asked of it.
      if (!trial.counts() && !trial.more_than) continue;
      const auto time = trial.work_time();
      const auto value =
          time ? objective_value(experiment.objective_for(trial.workload), trial.work_energy(), *time)
               : std::nullopt;
      (trial.more_than ? trial.more_than : trial.objective_value) = value;
    }
  }
  return asked;
}

}  // namespace dvfs_plan
