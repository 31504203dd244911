#include "results/report/one_unit.hpp"

#include "base/units.hpp"

namespace dvfs_plan {

OneUnit::OneUnit(const std::vector<TrialRow>& trials) {
  for (const TrialRow& trial : trials) {
    if (!trial.counts()) continue;
    for (const auto& [name, unit] : trial.units_of_metrics)
      first_.emplace(std::pair(trial.workload, name), unit);
  }
}

const TrialRow* OneUnit::of(const TrialRow& trial) {
  TrialRow* changed = nullptr;
  for (const auto& [name, unit] : trial.units_of_metrics) {
    const auto first = first_.find({trial.workload, name});
    if (first == first_.end() || plain_unit(first->second) == plain_unit(unit)) continue;
    if (changed == nullptr) changed = &converted_.emplace_back(trial);
    const double factor =
        unit_factor(unit, first->second).value_or(0);  // 0 too of a bare number and one with a unit
    const auto value = changed->metrics.find(name);
    if (factor == 0) {
      changed->in_other_units.insert(name);
      changed->metrics.erase(name);
      changed->extremes_of_metrics.erase(name);
      changed->counts_of_metrics.erase(name);
      changed->counts_of_copies.erase(name);
    } else if (value != changed->metrics.end()) {
      value->second *= factor;
      if (const auto of_all = changed->extremes_of_metrics.find(name);
          of_all != changed->extremes_of_metrics.end()) {
        of_all->second.first *= factor;
        of_all->second.second *= factor;
      }
    }
    changed->units_of_metrics[name] = first->second;
  }
  return changed == nullptr ? &trial : changed;
}

}  // namespace dvfs_plan
