// The saving of the point that was chosen because it is the least. Pure; on logarithms.
//
// The least of many means is too low: among points that are alike, the one named is the one that luck
// favoured, and the interval of its own pairs misses what is true the more often the more points there are.
// This is the hybrid interval of Andrews, Kitagawa and McCloskey (Quarterly Journal of Economics 139, 2024:
// "Inference on Winners"): it conditions on the point having won, within a simultaneous band of 99.5 %. Where
// one point wins clearly it is the usual interval; among points that are alike it is moved to where the truth
// is.
#pragma once

#include <optional>
#include <span>

#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

// 1 - ratio of the least of `among` (points that may be named, `best` with them) to the reference; the value
// is the median-unbiased one. `sensor`: the relative half-width (95 %) that sensors add. nullopt where the
// scatter is not known, or `best` is the reference.
std::optional<Change> winners_saving(std::span<const BlockedValue> values, int points, int best,
                                     int reference, std::span<const int> among, double sensor = 0);

// The same from fresh blocks that were run once the point stood among the best: nobody chose it by them, so
// its own pairs are right. Whether they are to be stated rather than the correction is decided by the numbers
// of blocks with both points, by what is to be expected of either. Who computes both and takes the narrower
// takes the one that chance made narrow, and it holds in 88 to 93 % (`./dev bench truth`).
bool fresh_blocks_tell_more(int fresh, int earlier);

}  // namespace dvfs_plan
