#include "results/page/other_questions.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "results/report/asked.hpp"
#include "results/report/json_report.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_points = 60, most_references = 12;
// Trials that are gone through again, of all questions together: some tenths of a second.
constexpr std::size_t most_passes = 100'000, most_questions = 200;

// The keys of `other` that are not as in `base`.
Json differing(const Json& base, const Json& other) {
  Json changed = Json::object();
  for (const auto& [key, value] : other.items()) {
    // How long each of several took alone is another scenario's to say.
    if (key != "points" && key != "instances" && (!base.contains(key) || base.at(key) != value))
      changed[key] = value;
  }
  return changed;
}

// All of its points where they are few, else those that somebody would compare with: what it is compared with now, the best, the fastest.
std::vector<std::size_t> references_of(const ScenarioSummary& scenario) {
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    if (scenario.points.size() <= most_references && scenario.points[i].counted > 0) chosen.insert(i);
  }
  if (scenario.points.size() > most_references) {
    const auto fastest = std::min_element(scenario.points.begin(), scenario.points.end(),
                                          [](const PointSummary& a, const PointSummary& b) {
                                            if (!a.work_time || !b.work_time)
                                              return a.work_time.has_value() && !b.work_time;
                                            return a.work_time->mean < b.work_time->mean;
                                          });
    if (fastest->work_time) chosen.insert(static_cast<std::size_t>(fastest - scenario.points.begin()));
    for (const auto& one : {scenario.reference, scenario.best, scenario.best_edp, scenario.best_ed2p}) {
      if (one) chosen.insert(*one);
    }
  }
  return {chosen.begin(), chosen.end()};
}

// Without energies there is nothing to ask of them.
std::vector<ObjectiveSpec> objectives_of(const ScenarioSummary& scenario) {
  const ObjectiveSpec& own = scenario.objective;
  const bool energies = std::any_of(scenario.points.begin(), scenario.points.end(),
                                    [](const PointSummary& point) { return point.work_energy.has_value(); });
  std::vector<ObjectiveSpec> objectives{own};
  for (const Objective minimise : {Objective::energy, Objective::time, Objective::edp, Objective::ed2p}) {
    if (minimise == own.minimise || (!energies && minimise != Objective::time)) continue;
    ObjectiveSpec& other = objectives.emplace_back(own);
    other.minimise = minimise;
    other.price.reset();
  }
  return objectives;
}

}  // namespace

Json other_questions(Store& store, const Summary& summary, const std::vector<TrialRow>& trials) {
  Json questions = Json::array();
  if (summary.experiment.search) return questions;
  const std::vector<PointRow> all_points = store.points();
  std::size_t passes = 0, asked = 0;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (scenario.points.size() < 2 || scenario.points.size() > most_points || !scenario.target.empty())
      continue;
    std::vector<TrialRow> mine;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(mine),
                 [&](const TrialRow& trial) { return trial.scenario == scenario.scenario; });
    std::vector<PointRow> points;
    std::copy_if(all_points.begin(), all_points.end(), std::back_inserter(points),
                 [&](const PointRow& point) { return point.scenario == scenario.scenario; });
    const auto references = references_of(scenario);
    const auto objectives = objectives_of(scenario);
    passes += mine.size() * references.size() * objectives.size();
    asked += references.size() * objectives.size();
    if (passes > most_passes || asked > most_questions) break;
    const Json base = scenario_json(scenario);
    for (const ObjectiveSpec& objective : objectives) {
      for (const std::size_t reference : references) {
        const bool as_it_is =
            objective.minimise == scenario.objective.minimise && scenario.reference == reference;
        if (as_it_is) continue;
        Question question;
        if (objective.minimise != scenario.objective.minimise) question.objective = objective;
        for (const AxisSetting& setting : scenario.points[reference].settings)
          question.reference.emplace_back(setting.axis, setting.text);
        ExperimentRow experiment = summary.experiment;
        std::vector<PointRow> its_points = points;
        std::vector<TrialRow> its_trials = mine;
        ask(question, experiment, its_points, its_trials);
        const Summary answer = summarise(experiment, its_trials);
        if (answer.scenarios.size() != 1 || answer.scenarios.front().points.size() != scenario.points.size())
          continue;
        const Json other = scenario_json(answer.scenarios.front());
        Json one{{"scenario", scenario.scenario},
                 {"objective", to_string(objective.minimise)},
                 {"reference", scenario.points[reference].point},
                 {"sentence", answer_sentences(answer).front()},
                 {"changes", differing(base, other)},
                 {"points", Json::array()}};
        for (std::size_t i = 0; i < scenario.points.size(); ++i)
          one["points"].push_back(differing(base["points"][i], other["points"][i]));
        questions.push_back(std::move(one));
      }
    }
  }
  return questions;
}

}  // namespace dvfs_plan
