// The saving of the point that was chosen because it is the least. Pure; on logarithms.
//
// The least of many means is too low: among points that are alike, the one named is the one that luck
// favoured, and the interval of its own pairs misses what is true the more often the more points there are.
// This is the hybrid interval of Andrews, Kitagawa and McCloskey (Quarterly Journal of Economics 139, 2024:
// "Inference on Winners"): it conditions on the point having won, within a simultaneous band of 99.5 %. Where
// one point wins clearly it is the usual interval; among points that are alike it is moved to where the truth
// is. It is never narrower than that of the point's own pairs, and holds these where levels and pairs disagree.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>

#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

// The points that have a block in common with `from`, or through other points' blocks, itself among them: between it and any other nothing
// takes out what changed between their blocks. `blocks_of`: the blocks of each point.
std::set<int> reached_by_blocks(const std::map<int, std::set<int>>& blocks_of, int from);

// The value is not below zero where the point's own mean says that it saves and the interval holds zero.
//
// 1 - ratio of the least of `among` (points that may be named, `best` with them) to the reference, without an
// interval where fewer than two blocks have both. The value is not the interval's own median-unbiased one, whose
// error among tied points is twice that of the plain mean: it is the empirical Bayes estimate (Efron and Morris, JASA
// 70, 1975), the best's level drawn towards the mean of those that its scatter does not tell from it by as much as
// their spread is no more than scatter, and within the interval. `sensor`: the
// relative half-width (95 %) that sensors add. nullopt where the scatter is not known, or `best` is the
// reference.
std::optional<Change> winners_saving(std::span<const BlockedValue> values, int points, int best,
                                     int reference, std::span<const int> among, double sensor = 0);

// What is said of the saving of the point that is named.
struct NamedSaving {
  Change change;
  bool fresh = false;  // of fresh blocks alone; else corrected as above
};

// `values` of all blocks; `fresh` are those of them that were run because their points stood among the best:
// nobody chose a point by them that was named before. Where points scatter alike, the correction over all
// blocks is narrower than the fresh blocks' own pairs and holds as well; where they do not, it holds too
// rarely (`./dev bench truth`), and the fresh pairs are taken. Which, is decided by how the points scatter,
// never by which interval came out narrower: that one is narrow by chance, and holds in 88 to 93 %. `sensor`,
// `fresh_sensor`: what sensors add to the ratio over all values and over the fresh ones.
std::optional<NamedSaving> named_saving(std::span<const BlockedValue> values,
                                        std::span<const BlockedValue> fresh, int points, int best,
                                        int reference, std::span<const int> among, double sensor = 0,
                                        double fresh_sensor = 0);

}  // namespace dvfs_plan
