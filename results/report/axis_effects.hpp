// What each axis is worth at the answer: alone, and on top of all the others. "Is the memory clock worth setting?"
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/report/text_table.hpp"
#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

struct ScenarioSummary;

// One axis on which the best and the reference differ. Changes are of the objective, positive is less; nullopt: no trial of that setting counts.
struct AxisEffect {
  std::string axis;
  std::string best, reference;         // its values there
  std::optional<std::size_t> alone;    // the reference with the best's value of this axis: index into points
  std::optional<Change> gain_alone;    // of that against the reference
  std::optional<std::size_t> without;  // the best with the reference's value of this axis
  std::optional<Change> gain_on_top;   // of the best against that
  bool corrected = false;  // the latter for the best having been chosen (results/statistics/winner.hpp)
};

struct GainOverPoint {
  std::optional<Change> change;
  bool corrected = false;
};

// Of a scenario of which every point is run and which has a best and a reference that differ on two axes at least; empty otherwise.
// `over`: how much less of the objective the best has than the point of that index.
std::vector<AxisEffect> axis_effects(const ScenarioSummary& scenario,
                                     const std::function<GainOverPoint(std::size_t)>& over);

// As a table for the terminal; empty where there are none.
std::string axis_effects_table(const ScenarioSummary& scenario, const TextLook& look);

}  // namespace dvfs_plan
