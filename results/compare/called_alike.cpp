#include "results/compare/called_alike.hpp"

#include <map>
#include <set>
#include <string>

namespace dvfs_plan {
namespace {

using Identity = std::pair<std::string, std::set<std::pair<std::string, std::string>>>;
using Names = std::map<std::string, std::string>;

Identity identity_of(const TrialRow& trial, const std::vector<AxisSetting>& settings) {
  Identity identity{trial.workload, {}};
  for (const AxisSetting& one : settings) identity.second.emplace(one.axis, one.text);
  return identity;
}

// What a scenario holds fixed: the settings that its key names, as those of a point are a superset.
std::vector<AxisSetting> fixed_by(const TrialRow& trial) {
  std::vector<AxisSetting> fixed;
  const std::string padded = trial.scenario + " ";
  for (const AxisSetting& one : trial.settings) {
    if (padded.find(" " + one.axis + "=" + one.text + " ") != std::string::npos) fixed.push_back(one);
  }
  return fixed;
}

// By identity, what it is called first; and by the name of one night what it is called instead, where that differs.
class Called {
 public:
  void see(const Identity& identity, const std::string& name, Names& instead) {
    const auto [known, is_new] = first_.try_emplace(identity, name);
    if (!is_new && known->second != name) instead.emplace(name, known->second);
  }

 private:
  std::map<Identity, std::string> first_;
};

void rename(std::string& name, const Names& instead) {
  const auto found = instead.find(name);
  if (found != instead.end()) name = found->second;
}

void rename(ComparedResult& night, const Names& points, const Names& scenarios) {
  for (TrialRow& trial : night.trials) {
    rename(trial.point, points);
    rename(trial.scenario, scenarios);
  }
  for (ScenarioSummary& scenario : night.summary.scenarios) {
    rename(scenario.scenario, scenarios);
    for (PointSummary& point : scenario.points) rename(point.point, points);
  }
  std::map<std::string, int> planned;
  for (const auto& [scenario, count] : night.summary.experiment.points_of_scenario) {
    std::string name = scenario;
    rename(name, scenarios);
    planned[name] += count;
  }
  night.summary.experiment.points_of_scenario = std::move(planned);
}

}  // namespace

std::optional<std::pair<std::vector<ComparedResult>, std::vector<ComparedResult>>> called_alike(
    const std::vector<ComparedResult>& before, const std::vector<ComparedResult>& after) {
  Called points, scenarios;
  bool any = false;
  const auto names_of = [&](const std::vector<ComparedResult>& nights) {
    std::vector<std::pair<Names, Names>> all;
    for (const ComparedResult& night : nights) {
      auto& [of_points, of_scenarios] = all.emplace_back();
      for (const TrialRow& trial : night.trials) {
        if (trial.settings.empty()) continue;
        points.see(identity_of(trial, trial.settings), trial.point, of_points);
        scenarios.see(identity_of(trial, fixed_by(trial)), trial.scenario, of_scenarios);
      }
      any = any || !of_points.empty() || !of_scenarios.empty();
    }
    return all;
  };
  const auto names_before = names_of(before), names_after = names_of(after);
  if (!any) return std::nullopt;
  std::pair renamed{before, after};
  for (std::size_t i = 0; i < before.size(); ++i)
    rename(renamed.first[i], names_before[i].first, names_before[i].second);
  for (std::size_t i = 0; i < after.size(); ++i)
    rename(renamed.second[i], names_after[i].first, names_after[i].second);
  return renamed;
}

}  // namespace dvfs_plan
