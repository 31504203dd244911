// From trials to the answer: means with intervals, savings and slowdowns against the reference, the best
// point. Pure functions over rows; the terminal report, --json and the tests all use this one path.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {

struct ExperimentRow {
  std::string name;
  std::string description;
  Objective objective = Objective::energy;
  std::optional<std::string> energy_source;
  int planned_trials = 0;
  std::string created_at;
  std::string tool_version;
  std::vector<std::pair<std::string, std::string>> axes;  // name, kind; in the file's order
};

struct AxisSetting {
  std::string axis;
  std::string text;
  std::optional<double> number;
};

// One trial as the view `trials` shows it, with its point's settings.
struct TrialRow {
  std::int64_t id = 0;
  std::string key, workload, scenario, point;
  bool is_reference = false;
  int block = 1;
  int position = 1;
  std::string started_at, outcome, verdict, verdict_text;
  std::optional<int> exit_code;
  std::optional<std::string> signal;
  std::optional<double> time_s, energy_j, mean_power_w, objective_value;
  std::vector<AxisSetting> settings;
  // What each target of each knob was asked for, read back as, and really did (SI units).
  struct Applied {
    std::string axis, target, requested;
    std::optional<std::string> applied;
    std::optional<double> delivered;
  };
  std::vector<Applied> applied;
};

// Mean of n values; spread and interval need two.
struct Estimate {
  int n = 0;
  double mean = 0;
  std::optional<double> standard_deviation;
  std::optional<double> half_width;  // of the 95 % interval by Student's t
};
std::optional<Estimate> estimate(const std::vector<double>& values);

// A ratio to the reference, paired within blocks: saving 0.277 means 27.7 % less.
struct Change {
  int pairs = 0;
  double value = 0;
  std::optional<double> low, high;  // 95 %
};

struct PointSummary {
  std::string point, workload;
  bool is_reference = false;
  std::vector<AxisSetting> settings;
  int trials = 0;   // run
  int counted = 0;  // with verdict ok
  std::optional<Estimate> energy, time, power, objective;
  std::optional<Change> saving;            // of energy against the reference; positive is less
  std::optional<Change> slowdown;          // of time against the reference; positive is slower
  std::map<std::string, int> not_counted;  // verdict -> trials
};

struct ScenarioSummary {
  std::string scenario;
  std::vector<PointSummary> points;      // by axis values, ascending
  std::optional<std::size_t> best;       // index into points
  std::optional<std::size_t> reference;  // index into points
  // Axes at whose lowest or highest swept value the best lies: "cpu.frequency".
  std::vector<std::string> best_at_edge_of;
};

struct Summary {
  ExperimentRow experiment;
  int finished = 0;
  std::vector<ScenarioSummary> scenarios;
  std::map<std::string, int> not_counted;
  std::vector<std::string> warnings;  // of the run as a whole
};

Summary summarise(const ExperimentRow& experiment, const std::vector<TrialRow>& trials,
                  std::vector<std::string> warnings = {});

// The answer in words, one sentence or two a scenario.
std::vector<std::string> answer_sentences(const Summary& summary);

}  // namespace dvfs_plan
