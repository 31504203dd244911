// What changed in the course of a night at the same settings: the reference from the first of its trials to the last, block by block, and
// latencies that become longer. Pure.
#pragma once

#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

struct TrialsOfNight {
  const ExperimentRow& experiment;
  const std::vector<const TrialRow*>& trials;  // of the scenario
  bool several_nodes;  // then each block is of another machine, and no later hour of the same
};
// Fills `drift`, `drift_of_night`, `reference_trials` and `metric_drift`.
void set_drift(ScenarioSummary& scenario, const TrialsOfNight& night);

}  // namespace dvfs_plan
