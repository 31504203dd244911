// Limits on what workloads tell that a setting held in each night before, and in nights after does not hold or cannot be said to. Pure.
#pragma once

#include <string>
#include <vector>

#include "results/report/summary.hpp"

namespace dvfs_plan {

struct BrokenLimit {
  std::string text;              // "accuracy >= 0.7"
  double before = 0, after = 0;  // means over those nights: that held it, that do not
  int held = 0;                  // nights before that know it: all hold it with their whole interval
  int broken = 0, of = 0;        // nights after that do not with their whole interval, and that know it
  double chance = 1;  // that those that do not are the later ones by chance (Fisher's exact test, one-sided)
};

// One that the nights before held, and of which none after can say: its metric is not told there any more, or in a unit that does not compare.
struct UnknownLimit {
  std::string text;
  double before = 0;
  std::string why;  // "no trial that counts tells it"
};

// Of one setting, as each night says of it.
std::vector<BrokenLimit> broken_limits(const std::vector<const PointSummary*>& before,
                                       const std::vector<const PointSummary*>& after);
std::vector<UnknownLimit> unknown_limits(const std::vector<const PointSummary*>& before,
                                         const std::vector<const PointSummary*>& after);
// "accuracy >= 0.7 held before (0.75) and does not after (0.6); ..."
std::string broken_limit_text(const BrokenLimit& limit, bool of_several_nights);
// "accuracy >= 0.7 held before (0.75), and whether it does after is not known: ..."
std::string unknown_limit_text(const UnknownLimit& limit);

}  // namespace dvfs_plan
