// How well the lines of a source that speaks by itself tell when their values were so: by the pace that it keeps. Pure.
//
// A line that comes sooner behind the one before than those around it do says that one of the two was held up (a program that counts, and then
// waits for a processor before it prints): the one before came in time and this one late, or the other way round. By how much such lines are
// off on the whole is what any of them may be off by. A longer time between two lines says nothing: the source may have been silent.
#pragma once

#include <span>
#include <vector>

#include "results/energy/fresh_values.hpp"

namespace dvfs_plan {

struct ToldPace {
  // Of each line, s: its value was so within +- this of when it came.
  std::vector<double> off;
  // Of each line: behind a silence, of at least two lines as they come around it.
  std::vector<bool> after_silence;
};

// `lines` in time order.
ToldPace told_pace(std::span<const Look> lines);

}  // namespace dvfs_plan
