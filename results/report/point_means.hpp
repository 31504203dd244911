// What the trials of one point say: means with their intervals, metrics, boards, what was delivered instead of what was asked for. Pure.
#pragma once

#include <vector>

#include "results/report/of_totals.hpp"
#include "results/report/summary.hpp"

namespace dvfs_plan {

struct TrialsOfPoint {
  const std::vector<const TrialRow*>& trials;
  const WorkOfTrials& unequal;     // of points whose trials did unequal work
  const ObjectiveSpec& objective;  // of the workload
  bool blocks_differ;              // they are repetitions, and no rounds of a search
  bool several_machines;           // count in the scenario
  bool to_target;                  // energy or time until a metric is there
};
// Its counts, estimates, metrics, instances, boards and outliers; nothing that takes another point.
void set_means(PointSummary& point, const TrialsOfPoint& of);

}  // namespace dvfs_plan
