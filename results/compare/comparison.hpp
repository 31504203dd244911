// Results of the same plan, before and after: what changed beyond the noise, point by point. Pure.
//
// Two nights of one unchanged machine differ by half a per cent to two as a whole (another ambient
// temperature, another board's gain), and one night of each does not tell by how much. Of two single nights
// only what is relative to the reference of the same night is therefore judged, in which that cancels; levels
// are shown, and nothing is claimed of them. Levels are judged where each side has two nights or more: then
// the nights themselves tell how nights differ. "Beyond the noise" is said at 5 % for all points of a
// scenario and all three quantities together (Bonferroni), so that among two hundred points none is expected
// to be called changed by chance.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/compare/broken_limits.hpp"
#include "results/report/summary.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {

inline constexpr double level_of_changes = 0.05;

struct ChangeOfPoint {
  std::optional<Change> change;  // after against before, a share; 95 %
  bool beyond_noise = false;     // at 5 % for all points together
};

struct ComparedPoint {
  std::string point, called;
  PointSummary before, after;
  // Of a unit of work where the objective is, else of a run: relative to `base` of the scenario in the same blocks, or of the
  // level itself (Comparison::of_levels).
  ChangeOfPoint energy, time, power;
  std::optional<double> energy_level, time_level;  // change of the level, a share; nothing is claimed of it
  std::optional<double> saving_before, saving_after;
  std::vector<BrokenLimit> broken_limits = {};
  std::vector<UnknownLimit> unknown_limits = {};
};

struct ComparedScenario {
  std::string scenario;
  std::string per;  // unit of work that energy and time are of: "sample"; empty: of a run
  // What changes are relative to (a key, and what it is called): the reference of the one before, or of the one after, that counts on both
  // sides. Empty: neither does, and nothing is judged; Comparison::of_levels has no need of it.
  std::string base, base_called;
  std::vector<ComparedPoint> points;                 // in both, in the order of the first
  std::vector<std::string> only_before, only_after;  // keys
  std::vector<std::string> lost;  // of only_before, what those are called of which trials counted
  std::optional<std::string> best_before, best_after;
  std::optional<Change>
      cost_of_old_best;           // in `after`: the objective at the best of before against that of after
  bool old_best_feasible = true;  // in `after` it holds the constraints
  bool old_best_held = true;   // what it does not hold it held before; else another limit was asked for then
  bool old_best_known = true;  // in `after` its objective is, and whether it holds them
  bool old_best_not_told_apart = false;  // in `after`, from its best
  ChangeOfPoint all_energy, all_time;    // geometric mean of all points' changes; no interval
  int compared = 0;                      // points with an interval
};

struct Difference {
  std::string what, before, after;
};

struct Comparison {
  bool work_in_common = false;          // the same workload and parameters are in both
  std::string name_before, name_after;  // the files
  bool of_levels = false;               // several nights on each side: levels are judged
  bool same_plan = false;
  bool energies_compare =
      true;  // both are of the same domains and unit of work; else only times are compared
  std::optional<std::string> trial_in_both;  // of two single nights that are one night, or grew out of one
  std::vector<std::string> warnings;         // why the two may not be comparable
  std::vector<Difference> machine;           // facts that differ
  std::vector<ComparedScenario> scenarios;
};

struct ComparedResult {
  std::string file;
  std::string plan_hash;
  std::map<std::string, std::string> machine;
  std::map<std::string, std::string> commands;  // by workload
  Summary summary;
  std::vector<TrialRow> trials;
  std::string damaged = {};  // what is not as written (Store::damaged_text)
  std::string sensors = {};  // by which its energy was measured: "wall:power"; empty: not known
};

// The first trial (its key) that is in both with one start: they are the same night, or one grew out of a copy of the other. nullopt: none.
std::optional<std::string> trial_in_both(const ComparedResult& one, const ComparedResult& other);

// Of several nights a side the means over them are shown, and the first one's best; that they disagree on it is among the warnings.
Comparison compare(const std::vector<ComparedResult>& before, const std::vector<ComparedResult>& after);
inline Comparison compare(const ComparedResult& before, const ComparedResult& after) {
  return compare(std::vector{before}, std::vector{after});
}

// Of the objective at `point`, relative to the reference of the same blocks: what it is in `after` against `before`, a share (positive is
// worse), at `confidence`. `sensor_before`, `sensor_after`: what the sensors add to each of the two ratios (results/report/sensor_part.hpp).
// nullopt where it is not known on either side.
std::optional<Change> change_against_reference(const std::vector<TrialRow>& before,
                                               const std::vector<TrialRow>& after,
                                               const std::string& scenario, const std::string& point,
                                               double confidence, double sensor_before, double sensor_after);

// Settings of which trials counted before, and of those that were run after none does, mostly by what they did themselves; a line each, with
// what became of them.
std::vector<std::string> no_longer_counting(const Comparison& comparison);
// Likewise, but mostly by what others did, or a meter (foreign_load, sensor_gap, chosen_by_length): that says nothing of the setting. And
// limits that it held, of which nothing is known after.
std::vector<std::string> not_known_after(const Comparison& comparison);
// Settings of which a larger share of trials ran into their own end after, while others count; beyond_chance: at 5 % for all settings of a
// scenario together.
struct WorseAfter {
  std::string text;
  bool beyond_chance = false;
};
std::vector<WorseAfter> failing_more_often(const Comparison& comparison);
// Limits that settings held before and do not hold after (broken_limits.hpp).
std::vector<WorseAfter> limits_broken(const Comparison& comparison);
// Settings of which trials counted before and that were not run after; a line each.
std::vector<std::string> not_run_after(const Comparison& comparison);
// Of what it cannot be said whether it is worse: nights of which one is, or holds, the other; energy or time of a scenario, of which no
// setting has a change with an interval; a line each.
std::vector<std::string> not_judged(const Comparison& comparison);

// What changed, in words; one a scenario and one for what may not be comparable.
std::vector<std::string> comparison_sentences(const Comparison& comparison);
std::string terminal_comparison(const Comparison& comparison, const TextLook& look);
// Several, each against the same one before: a table of what is best in each, then one by one. Each is judged by itself.
std::string terminal_comparisons(const std::vector<Comparison>& comparisons, const TextLook& look);

}  // namespace dvfs_plan
