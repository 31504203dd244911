// Values that come in groups (blocks of trials within nodes of a cluster): what is said of all groups there might be, and
// by how much groups differ. Pure; distributions by Boost.Math.
//
// Blocks of one node share what that node is, so they are no repetitions of "a node of this type": the node is. Means of
// nodes are what Student's t is over; in a balanced plan that is the exact interval of the model with nodes and blocks
// within nodes as random effects (Searle, Casella and McCulloch, Variance Components, 1992, chapter 3).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/statistics/blocks.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {

double mean_of(const std::vector<double>& values);  // of one at least

// As estimate(), its mean and its interval of the groups' means where there are two groups at least; number, median and spread are of
// the values themselves. `groups`: of each value; empty: none is
// in a group.
std::optional<Estimate> estimate_of_groups(const std::vector<double>& values,
                                           const std::vector<std::string>& groups,
                                           const std::vector<std::optional<SensorPart>>& sensors = {});
// The same about the mean of the values: a group of more of them has more weight in it, and in its interval.
std::optional<Estimate> estimate_of_values_in_groups(
    const std::vector<double>& values, const std::vector<std::string>& groups,
    const std::vector<std::optional<SensorPart>>& sensors = {});

// One trial: of which point, in which group, and in which block of that group. Values must be positive.
struct GroupedValue {
  int point = 0;
  int group = 0;
  int block = 0;
  double value = 0;
};

// Whether each point has values in all of the blocks that any has them in, and as many in each: their plain means compare then. Of the
// reference's two trials in a block one that is lost gives that block less weight in its mean than in the others'.
bool is_balanced(std::span<const BlockedValue> values);
// The same within each group.
bool is_balanced_within_groups(std::span<const GroupedValue> values);

// Of each point (0, 1, ...) its geometric mean, with the blocks' level taken out where that is not balanced. nullopt: it has no value.
std::vector<std::optional<double>> levels_of_points(std::span<const BlockedValue> values, int points);

// What repeats, of each value: its group; where a group holds points that never met in a block of it, nor by way of others, each set of
// those that did is one of its own, since nothing tells its level from another's.
std::vector<int> replicates_of(std::span<const GroupedValue> values);

// One value for each point and replicate, its level within that. The replicate stands where the block stood.
std::vector<BlockedValue> means_of_groups(std::span<const GroupedValue> values, int points);

// By how much groups differ: the standard deviation between them, what single values scatter taken out. Of logarithms a
// share.
struct Spread {
  int groups = 0;
  double deviation = 0;
  // 95 %, generalised confidence interval (Weerahandi 1993), group sizes by their harmonic mean (Thomas and Hultquist
  // 1978). nullopt: of one value a group the scatter is not known, and `deviation` holds it too; or the groups differ by so
  // much less than single values scatter that the interval would say none at all (`buried`).
  std::optional<double> low, high;
  bool buried = false;
};
// nullopt: fewer than two groups.
std::optional<Spread> spread_between(const std::vector<std::vector<double>>& groups);

// How far the mean of one group is from the mean of the others', with its 95 % interval by what single values scatter
// within groups (pooled); nullopt low: no group has two values.
struct Departure {
  double value = 0;
  std::optional<double> low, high;
  // Too far for one of so many alike: Grubbs' test at 5 % over the groups' means (Grubbs 1969); false for fewer than four.
  bool outlying = false;
};
std::vector<Departure> departures(const std::vector<std::vector<double>>& groups);

}  // namespace dvfs_plan
