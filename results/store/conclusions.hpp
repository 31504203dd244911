// What is concluded from all trials, as the file keeps it for those who read SQL: rows of its tables. Made of
// the report's Summary (results/report/conclusions.hpp), so that both say the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/store/rows.hpp"

namespace dvfs_plan {

struct Conclusions {
  struct Quantity {
    std::string name;  // as the view `points` calls it: "energy_j"
    double mean = 0;
    std::optional<double> half_width;  // 95 %
    int n = 0;
    std::optional<double> sensor_half_width = {};  // of half_width; nullopt: not known, and not in it
  };
  struct Change {
    std::string of;  // 'saving', 'slowdown', 'gain'
    double value = 0;
    std::optional<double> low, high;  // 95 %
    int pairs = 0;
  };
  struct Constraint {  // one a rule of the experiment, in their order
    std::optional<double> value;
    std::optional<bool> holds, certain;
  };
  struct Point {
    std::string key;
    int trials = 0, counted = 0;
    std::string delivered_instead;  // empty: as requested
    bool feasible = true, not_told_apart = false, on_pareto_front = false;
    std::vector<Quantity> quantities;
    std::vector<Change> changes;
    std::vector<Constraint> constraints;
  };
  struct Drift {
    int block = 1;
    std::optional<double> first_value, last_value, change, sensor_half_width;
    std::optional<double> first_temperature_c, last_temperature_c;
    bool flagged = false;
  };
  struct Scenario {
    std::string scenario;
    std::optional<std::string> best, reference, best_edp, best_ed2p,
        fastest_not_told_apart;  // keys of points
    std::optional<Change> gain_of_best;
    bool gain_corrected = false, from_fresh_blocks = false;
    int chosen_among = 0, planned_points = 0, unknown_points = 0, trials = 0, counted = 0;
    std::optional<double> drift_of_night;
    std::string question;
    std::vector<Point> points;
    std::vector<Drift> drift;
  };
  std::vector<Scenario> scenarios;
  std::vector<SearchAnswer> searches;
};

}  // namespace dvfs_plan
