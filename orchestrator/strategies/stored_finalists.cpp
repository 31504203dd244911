#include "orchestrator/strategies/stored_finalists.hpp"

#include <algorithm>

#include "results/report/finalists.hpp"

namespace dvfs_plan {

Finalists stored_finalists(Store& store, const Plan& plan) {
  return [&store, &plan](int before_block) {
    auto trials = store.trials();
    std::erase_if(trials, [&](const TrialRow& trial) { return trial.block >= before_block; });
    std::vector<int> chosen;
    for (const ScenarioSummary& scenario : summarise(store.experiment(), trials).scenarios) {
      for (const std::string& key : finalists(scenario)) {
        const auto at = std::find_if(plan.points.begin(), plan.points.end(),
                                     [&](const PlanPoint& point) { return point.key == key; });
        if (at != plan.points.end()) chosen.push_back(static_cast<int>(at - plan.points.begin()));
      }
    }
    return chosen;
  };
}

}  // namespace dvfs_plan
