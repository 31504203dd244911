// Whether nights that are compared ask one question of one work, and in what their machines differ. Pure.
#pragma once

#include <string>
#include <vector>

#include "results/compare/comparison.hpp"

namespace dvfs_plan {

using Nights = std::vector<ComparedResult>;

// Of both sides with each other, and of each night of a side with its first.
struct SameQuestion {
  std::vector<std::string> warnings;
  bool same_energies = true;  // all are of the same domains and unit of work
};
SameQuestion same_question(const Nights& ones, const Nights& others);

// A scenario of both sides with itself in all nights: why it is not all one, and whether it may be compared nevertheless.
struct SameWork {
  std::vector<std::string> warnings;
  bool is_one = true;
};
SameWork same_work(const ScenarioSummary& before, const Nights& ones, const ScenarioSummary& after,
                   const Nights& others);

// Of several nights a side, all that they are: "5.10; 6.1".
std::vector<Difference> machine_differences(const Nights& before, const Nights& after);

}  // namespace dvfs_plan
