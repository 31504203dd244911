// A plan's points, or those of a result file, as a surface; finished trials as what is known of it.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "results/surface/optimum.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

struct SurfacePoint {
  std::string scenario;
  bool reference = false;
  std::vector<std::optional<AxisValue>>
      values;  // one an axis of the experiment; nullopt: not of this workload
};

// Scenarios are numbered in order of first appearance. The same points give the same question wherever they
// come from.
SurfaceQuestion surface_question(std::span<const SurfacePoint> points, const ObjectiveSpec& objective);
SurfaceQuestion surface_question(const Plan& plan);

// Whether a trial says something of the surface: it counts, and has a time and, where the objective needs it,
// an energy above 0.
bool measures_surface(const FinishedTrial& trial, Objective minimise);
// Machines are numbered by their names' order.
std::vector<std::string> nodes_of(std::span<const FinishedTrial> history, Objective minimise);
std::vector<SurfaceTrial> surface_trials(std::span<const FinishedTrial> history, Objective minimise);

// Points from which nothing is to be had: they fail by themselves, or were disturbed again and again.
std::set<int> hopeless_points(std::span<const FinishedTrial> history, Objective minimise);

// Of several machines: a point from which nothing is to be had on two of them at least, or on `node`
// itself (empty: no machine's own). What one machine cannot do another may.
std::set<int> hopeless_points_of_nodes(std::span<const FinishedTrial> history, Objective minimise,
                                       const std::string& node);

// Of the trials at these points, how many failed since the last one that tells: by themselves, or disturbed.
struct FailuresInARow {
  int own = 0, disturbed = 0;
  // A dead sensor, a licence that ran out, a broken program, a machine that is never quiet: more of the same
  // would fare no better.
  bool hopeless() const { return own >= 8 || disturbed >= 24; }
};
FailuresInARow failures_at_the_end(std::span<const FinishedTrial> history, Objective minimise,
                                   const std::set<int>& points);

}  // namespace dvfs_plan
