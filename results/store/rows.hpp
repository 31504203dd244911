// What the file holds, as reports and exports read it: rows of its views. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "results/trial/prior_shape.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// How points were chosen, where not all of them are run.
struct SearchRow {
  std::string method = "adaptive";
  double regret = 0.01;  // a share
  double confidence = 0.95;
  std::optional<int> at_most;
};

struct ExperimentRow {
  std::string name;
  std::string description;
  ObjectiveSpec objective;  // constraints included; marks are not kept
  double drift_limit = 0.01;
  std::optional<double> until;
  std::optional<std::string> energy_source;
  int planned_trials = 0;
  std::string created_at;
  std::string tool_version;
  std::vector<std::pair<std::string, std::string>> axes;  // name, kind; in the file's order
  std::map<std::string, int> points_of_scenario;          // planned, run or not
  bool shuffled = true;                                   // as the file says now
  bool order_changed = false;  // since trials are there: some ran in blocks that were not shuffled
  bool all_shuffled() const { return shuffled && !order_changed; }
  std::optional<SearchRow> search;  // nullopt: every point is run
  std::optional<int> trials_left;   // when the last session began its last trial; nullopt: not told
  // Of workloads that have one of their own, by name.
  std::map<std::string, ObjectiveSpec> own_objectives = {};
  std::set<std::string> axes_of_instances = {};     // that say how many copies of a workload run at once
  std::map<std::string, std::string> targets = {};  // by workload, "loss <= 0.35"
  const ObjectiveSpec& objective_for(const std::string& workload) const {
    const auto own = own_objectives.find(workload);
    return own == own_objectives.end() ? objective : own->second;
  }
  bool has_budget = false;
  bool planned_at_most = false;  // Store::Progress::at_most
  // A power gauge is among what the energies are made of: what its means smear over an edge depends on what lies beside it.
  bool energy_by_gauge = false;
  // Those of them that a program tells by itself (a meter of the user's own): its word is all there is on when a value was so.
  std::vector<std::string> told_by_programs = {};
  // How the file changed since the first trial.
  struct Growth {
    std::string at, changes;         // "axes / cpu.frequency: 2.2 GHz added; repeat / min: 3 -> 4"
    std::optional<int> first_block;  // of those that it planned
    std::optional<int>
        added_since;  // it planned none: the first that was added from then until it changed again
  };
  std::vector<Growth> grown = {};
  std::string
      last_session_ended;  // 'done', 'interrupted', 'gave_up', 'error'; '' while it runs or if it was killed
  bool of_machines = false;  // several run its blocks: a cluster's nodes, or it was joined
};

struct AxisSetting {
  std::string axis;
  std::string text;
  std::optional<double> number;
};

// A planned point, run or not.
struct PointRow {
  std::string key, workload, scenario;
  bool is_reference = false;
  std::vector<AxisSetting> settings;
  bool in_plan = true;  // else the experiment has it no more: its trials do not count
};

// What an adaptive search says of one scenario, for analysts who read SQL.
struct SearchAnswer {
  std::string scenario;
  std::optional<std::string> best;  // key of a point
  std::optional<double> bound;      // a share; nullopt: none can be stated
  int settings = 0, settings_run = 0, trials = 0;
  struct Point {
    std::string point;
    double objective = 0, low = 0, high = 0, probability_best = 0;
  };
  std::vector<Point> points;  // all that are planned
};

// What was noticed in one trial, idle windows and warm-ups included: a stable word and a sentence. Of idle
// windows and warm-ups that are no good, their verdict is among it.
struct NoticedRow {
  std::int64_t trial = 0;
  std::string key, kind, message;
};

// One trial as the view `trials` shows it, with its point's settings. Times and energies are per run of the
// command.
struct TrialRow {
  std::int64_t id = 0;
  std::string key, workload, scenario, point;
  bool is_reference = false;
  std::string node = {};  // the machine that ran it, where there are several; empty: there is one
  std::string left_out =
      {};  // why it does not count whatever its verdict: its block counts as another machine ran it
  TrialRole role = TrialRole::point;
  int attempt = 1;
  bool given_up = false;  // the night stopped behind it by itself: it is run again when the night goes on
  bool confirms = false;  // in a block of the best points of the blocks before it
  int block = 1;
  int position = 1;
  std::string started_at, outcome, verdict, verdict_text;
  std::optional<int> exit_code;
  std::optional<std::string> signal;
  std::string region;
  int runs = 1;
  std::optional<double> time_s, energy_j, energy_half_width_j, above_idle_j, mean_power_w, objective_value;
  std::optional<double> more_than = {};  // of a trial that did not reach its target, of the objective
  std::optional<double> idle_half_width_w, idle_systematic_w;
  std::optional<double> energy_systematic_j;  // of energy_half_width_j
  std::optional<double> units, energy_per_unit_j, time_per_unit_s;
  std::optional<double> temperature_c, foreign_cpu_s;
  std::optional<double> power_cap_share, power_limit_w;  // of GPU boards
  int fresh_readings = 0;
  std::map<std::string, double> metrics;  // the last value of each; of several at once the mean of theirs
  // Where several at once told it, the least and the highest of their last values.
  std::map<std::string, std::pair<double, double>> extremes_of_metrics = {};
  // Of a metric that was told as a count: how many, of how many.
  std::map<std::string, std::pair<double, double>> counts_of_metrics = {};
  // Where several at once did, of each of them.
  std::map<std::string, std::vector<std::pair<double, double>>> counts_of_copies = {};
  std::map<std::string, std::string> units_of_metrics = {};
  std::set<std::string> in_other_units =
      {};  // metrics that are left out above: told in a unit that does not compare with the first trial's
  std::optional<double> all_running_s = {}, all_running_j = {},
                        all_running_half_width_j = {};  // where several ran at once
  struct Instance {
    std::string name, workload;
    std::optional<double> time_s = {}, units = {};  // of all its runs; units: nullopt: per run
    int runs = 1;
  };
  std::vector<Instance> instances = {};
  std::map<std::string, double> joules_of_boards = {};  // by domain, of boards that are in what is summed
  std::vector<AxisSetting> settings;
  // What each target of each knob was asked for, read back as, and really did (SI units).
  struct Applied {
    std::string axis, target, requested;
    std::optional<std::string> applied;
    std::optional<double> delivered, delivered_low, delivered_high;  // mean, 5th and 95th percentile
    std::optional<bool> as_requested;
  };
  std::vector<Applied> applied;

  // It did not reach its target: what it used is a lower bound, and no failure.
  bool censored() const { return verdict == to_string(Verdict::censored); }
  bool counts() const { return left_out.empty() && trial_counts(verdict, role); }
  // Per unit of work where the objective is, else per run.
  std::optional<double> work_energy() const { return units ? energy_per_unit_j : energy_j; }
  std::optional<double> work_time() const { return units ? time_per_unit_s : time_s; }
};

// What each sensor counted over the region of one trial or idle window, all runs together.
struct ChannelEnergies {
  std::int64_t trial = 0;
  int block = 1;
  TrialRole role = TrialRole::point;
  bool ok = false;                            // its verdict
  double seconds = 0;                         // the region's length
  std::map<std::string, double> joules = {};  // by channel; those that are known
  // Of those, by what they may be off in all trials alike, 95 %, J; those of which that is known.
  std::map<std::string, double> systematic_j = {};
};

// Whether one scenario's answer still stands, as a session found it that looked (view rechecks).
struct RecheckRow {
  struct Range {
    std::optional<double> value, low, high;  // nullopt: not known
  };
  std::string scenario, point;  // the best then
  std::string verdict;          // 'stands', 'changed', 'not_known'
  std::string why;              // in a sentence
  int blocks = 0, trials = 0, counted = 0;
  Range saving_before, saving;  // of the objective against the reference, shares, 95 %
  Range change;                 // of the ratio of the two since then, 99 %
  std::string question;         // that it is of, in words
};

}  // namespace dvfs_plan
