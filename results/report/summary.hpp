// From trials to the answer: means with intervals, savings and slowdowns against the reference, the best
// point and those that cannot be told from it. Pure functions over rows; the terminal report, --json and the
// tests all use this one path.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/report/axis_effects.hpp"
#include "results/statistics/blocks.hpp"
#include "results/statistics/estimate.hpp"
#include "results/statistics/groups.hpp"
#include "results/store/rows.hpp"
#include "results/surface/optimum.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// At which points are told apart from the best.
inline constexpr double level_of_the_set = 0.05;

struct ConstraintCheck {
  std::string name;  // 'slowdown', 'power', a metric
  std::string text;
  std::optional<double> value;
  std::optional<bool> holds;    // by the estimate; nullopt: not known
  std::optional<bool> certain;  // the whole 95 % interval is on that side
  std::string unit =
      {};  // of `value`, of a metric: the bound's, or where it has none that in which it is told
  std::string why_not =
      {};  // it cannot be told though there are values: their unit and the bound's do not compare
  std::optional<double> low = {}, high = {};  // 95 % of `value`
  // By its estimate it does not hold, and its interval says that it may.
  bool may_hold() const { return holds == false && certain != true; }
};

// What boards ran at where it was not what was asked for: the clocks (Hz) of those boards and trials.
struct DeliveredInstead {
  double low_hz = 0, high_hz = 0;
  int trials = 0, of = 0;  // counted trials in which it was so, and all of them
};

// A metric of the workload, over the trials that count.
struct MetricSummary {
  Estimate value;                          // by the trials; of several at once the mean of theirs
  std::optional<Estimate> least, highest;  // of several at once: of the one that told the least, and the most
  std::string unit;
  int trials = 0;  // that told it
  // Of a share that was told as a count, over all trials together, in per cent: how many of how many, and the 95 % interval that the
  // count alone has.
  double count = 0, count_of = 0;
  std::optional<double> count_low, count_high;
  // The same of the one of several at once whose ends are the lowest and the highest, which a limit is about; of one alone as above.
  std::optional<std::pair<double, double>> least_count = {}, highest_count = {};
};

// One of those that ran at once at a point.
struct InstanceSummary {
  std::string name, workload;
  std::optional<Estimate> time;  // per unit of its work, or per run
  // How many times longer that took than alone at the same settings (geometric mean of the blocks' ratios), 95 %; nullopt: it did not
  // run alone there.
  std::optional<Change> slowdown;
  bool alone_otherwise =
      false;  // no slowdown, though it ran alone: at other settings, or with something else counted
};

struct PointSummary {
  std::string point, workload;
  bool is_reference = false;
  std::vector<AxisSetting> settings;
  int trials = 0;   // run, warm-ups apart
  int counted = 0;  // with verdict ok
  std::optional<Estimate> energy, above_idle, time, power, objective;
  std::optional<Estimate> work_energy, work_time;  // per unit of work, where the objective is; else per run
  // By how many times their intervals, and that of the objective, are wider than by the scatter of the trials: a few of these did most of the
  // work (results/trial/unequal_work.hpp).
  double wider = 1;
  // Of these, with the blocks' level taken out: where not all points count in the same blocks. Means do not compare then.
  std::optional<double> energy_level, time_level;
  // Of the objective: what points are ranked by. The mean where all count in the same blocks; by a search there is none.
  std::optional<double> objective_level;
  std::optional<Estimate> energy_per_unit, edp, ed2p;
  bool in_units = false;         // units of work are counted: by a metric, or as copies that do the same work
  std::optional<Change> saving;  // of energy (per unit of work, if the objective is) against the reference
  std::optional<Change> slowdown;  // of time, likewise; positive is slower
  std::optional<Change> gain;      // of the objective; positive is less
  // The same by the two means, where that lies outside of the interval of `gain`, which is of the blocks' ratios (their geometric mean): trials
  // of the two scatter so differently that what a run takes on the average and what it mostly takes are two things.
  std::optional<double> gain_of_means = {};
  bool means_told_apart = false;           // these two means by their own intervals
  std::map<std::string, int> not_counted;  // verdict -> trials
  // Of those that ran to their end the ones left out since they did not tell, or not so that it can be read, what was asked of them (no_metric), and
  // that were not run again: those that told it may be the better ones.
  int untold = 0;
  bool of_the_lucky =
      false;  // some of its trials did not reach the target, or may not have: those that did have no mean
  std::map<std::string, DeliveredInstead>
      delivered_instead;                                 // by axis; only where something else was delivered
  std::optional<double> power_cap_share, power_limit_w;  // means over the counted trials
  std::vector<ConstraintCheck> constraints;
  std::vector<std::string>
      outliers;  // keys of trials whose objective lies far from the others': flagged, counted
  std::map<std::string, MetricSummary> metrics;
  std::map<std::string, int>
      in_other_units;  // by metric, counted trials whose value is not in there (one_unit.hpp)
  std::map<std::string, Estimate> joules_of_boards;  // per run, by domain ("gpu-0")
  std::vector<InstanceSummary> instances;            // empty: one ran alone
  std::optional<Estimate> all_running_share;         // of the time that counts, in which all of them ran
  int without_sensor_part = 0;  // trials in its mean energy of which it is not known what the sensors add
  // Trials that did not reach the target, and what its objective is more than by them and those that did: the mean of all, less what the
  // sensors may have added to it (a share of it).
  int censored = 0;
  std::optional<double> more_than;
  double bound_sensor_share = 0;
  // Whether that mean is beyond the best's, at 5 %; where not all count in the same blocks, with the blocks' level taken out of both.
  bool worse_by_bound = false;
  bool feasible = true;          // all constraints hold
  bool not_told_apart = false;   // from the best, at 5 %
  bool on_pareto_front = false;  // no other point has both less energy and less time
};

struct BlockDrift {
  int block = 1;
  std::optional<double> first_value, last_value;  // the reference's objective
  std::optional<double> change;                   // from first to last, a share
  std::optional<double>
      sensor_half_width;  // what the sensors alone may make of it, a share; nullopt: not known
  std::optional<double> first_temperature_c, last_temperature_c;
  bool flagged = false;
};

// One of the reference's trials that count: how much more its objective is than in the first of its machine, a share.
struct ReferenceTrial {
  std::string key, node;
  int block = 1;
  bool of_drift = false;  // one of the two that its block's drift is of
  double change = 0;
};

// A metric that is not the same in the night's second half as in its first, at the same settings.
struct MetricDrift {
  std::string metric;
  Change
      change;  // of the points' means, 95 % over blocks: what ran in one block shares the start of its services
};

struct SlowdownOptimum {
  double limit = 0;  // a share
  std::size_t point = 0;
};

// What an adaptive search knows of a scenario's points, run or not.
struct SearchPoint {
  std::string point;
  std::vector<AxisSetting> settings;
  bool run = false;  // a trial of it counts
  SurfaceBand
      objective;  // in its own unit, 95 % band; what the sensors may be off by in all trials alike is in it
  bool not_told_apart = false;  // from the one named: better or equal with 5 % probability at least
};
struct SearchSummary {
  SearchRow rule;
  std::vector<SearchPoint> points;   // by axis values, ascending
  std::optional<std::string> best;   // key of the point named
  double bound = 0;                  // no other point is better by more, with the rule's confidence: a share
  double constraints_hold = 1;       // probability, at the best
  int settings_run = 0, trials = 0;  // that count
  bool per_unit = false;             // the objective is
  int hopeless = 0;  // points that fail or are disturbed each time: no alternatives, and not in `points`
  bool broke_off = false;     // too many trials failed in a row
  bool scatter_known = true;  // some setting ran more than once: else no trial tells how trials scatter
  bool constrained = false;   // the bound is among points that hold the constraints
  std::optional<std::string> next_best;  // key of the point where one more trial would tell most
  bool shared = false;                   // scenarios learnt from each other
  bool used_prior = false;
  bool doubtful = false;  // the model explains its own trials badly; the bound is widened by that
  std::map<std::string, SurfaceComparison> to_reference;  // by point
  // Of several machines, by name: its own best by the model, and the bound on its own surface of the setting named.
  struct OnNode {
    std::string best;
    double bound = 0;
    bool told_apart = false;  // there its own best is better than the setting named, at the 5 % level
  };
  std::map<std::string, OnNode> on_nodes = {};
};

// One of several machines, by what it ran alone.
struct NodeSummary {
  std::string node;
  int blocks = 0, trials = 0;          // that count
  std::optional<std::string> best;     // key of the point with its own least
  std::optional<Estimate> best_value;  // of the objective there
  std::optional<Change> gain_of_best;  // against its own reference, its blocks as pairs
  bool agrees = false;                 // the type's best is its own, or not told apart from it there
  bool not_known = false;  // that: no trial of it counts there, or not whether it holds the constraints
  struct Point {
    std::string point;
    std::optional<double> work_energy_j, work_time_s, power_w;  // means
  };
  std::vector<Point> points = {};
  // Of the objective against the mean of the others, over all points, a share.
  std::optional<Departure> against_others;
};
// Between machines of the type.
struct NodesSummary {
  std::vector<NodeSummary> nodes;        // by name
  std::optional<Spread> spread_of_best;  // of the objective at the best, a share
};

struct ScenarioSummary {
  std::string scenario;
  ObjectiveSpec objective;               // of its workload
  std::string target;                    // "loss <= 0.35"; empty: all that ran counts
  bool energy_by_gauge = false;          // its joules are integrals of a gauge's power
  std::optional<SearchSummary> search;   // nullopt: every point is run
  std::vector<PointSummary> points;      // by axis values, ascending
  std::optional<std::size_t> best;       // index into points
  std::optional<std::size_t> reference;  // index into points
  // How much less of the objective the best has than the reference, as it is stated: by the blocks that were
  // run to confirm it, or with what it owes to having been chosen as the least of so many taken out
  // (results/statistics/winner.hpp); where neither can be done (a search, too few trials) as the best's own.
  // nullopt: it is the reference.
  std::optional<Change> gain_of_best;
  bool gain_corrected = false;  // for having been chosen
  int chosen_among = 0;
  bool from_fresh_blocks = false;        // gain_of_best is of the blocks alone that were run to confirm it
  std::vector<AxisEffect> axis_effects;  // where the best and the reference differ on several axes
  std::optional<std::size_t> best_edp, best_ed2p, fastest_not_told_apart;
  // The least energy within any tolerated slowdown, of the points that hold all other constraints: each holds
  // from its limit to the next one's.
  std::vector<SlowdownOptimum> by_slowdown;
  std::vector<SlowdownOptimum> at_slowdown;  // of them, within 0, 1, 2, 5, 10 and 20 %
  // Axes at whose lowest or highest swept value the best lies: "cpu.frequency".
  std::vector<std::string> best_at_edge_of;
  bool spread_known = false;  // enough trials to tell points apart at all
  bool balanced = true;       // every point counts in the same blocks, and as often in each
  bool connected = true;      // any two points have a block in common, or through others that have
  int planned_points = 0;     // run or not
  int unknown_points =
      0;  // planned, but nothing is known of them: not run, none counts, or a constraint not known
  std::vector<BlockDrift> drift;
  std::vector<ReferenceTrial> reference_trials;  // in the order they were run on their machine
  std::vector<MetricDrift>
      metric_drift;  // of latencies and of what constraints are about; only those that are shown
  std::optional<double> drift_of_night;  // of the reference, from its first trial to its last
  std::vector<std::string> regions;      // what was measured; more than one makes the trials incomparable
  std::optional<NodesSummary> nodes;     // where several machines ran it
  int trials = 0, counted = 0;
  std::map<std::string, int> not_counted;
};

// The meter's watts as offset + gain x theirs, in each block (trials that count and idle windows), by what each set point took in the others: the
// sensors' own scatter does not make the gain smaller. In the intervals is what drifts from block to block (Student's t over blocks) and, at its
// worst, what meter and sensors may be off by in all trials alike (late at an edge, cut off at a whole watt). Of one block: by least squares,
// without an interval.
struct MeterFit {
  std::string sensors;  // "package-0 + dram-0"
  int trials = 0, idle_windows = 0;
  std::optional<Estimate> gain, offset_w;       // nullopt: in no block do powers differ enough to tell
  int trials_of_line = 0, windows_of_line = 0;  // by which gain and offset are
  std::optional<Estimate> share;                // their joules of the meter's, over the trials that count
  bool own_parts_known =
      true;             // of both, in each stretch: what they may be off by by themselves is in the intervals
  double furthest = 0;  // a single stretch from that line, a share of its power
  double meters_own = 0;  // by what the meter may be off in a trial by itself (95 %), a share: the most
};

// What the sensors alone would have named, where the objective is of energy and every point was run.
struct MeterAnswer {
  std::string scenario;
  std::vector<AxisSetting> by_sensors;
  bool same = false;
  bool told_apart = false;          // the meter tells the two settings apart, at the 5 % level
  std::optional<Change> gain = {};  // of the meter's best against that setting, by the meter
  // Limits that the setting is not known to hold by the meter; empty: it holds all.
  std::vector<std::string> breaks = {};
};

struct AgainstMeter {
  std::string meter;           // the domain that it measures, "system"
  std::vector<MeterFit> fits;  // the widest sum of the others first, then each of its parts
  std::vector<MeterAnswer> answers;
};

struct Summary {
  ExperimentRow experiment;
  // Of workloads: warm-ups and idle windows apart.
  int attempts = 0;  // all that were run
  int finished = 0;  // the first of each planned one
  int done = 0;      // of those planned, what is not run again
  int planned = 0;   // with the blocks that were added meanwhile
  int left = 0;      // of those planned
  std::vector<ScenarioSummary> scenarios;
  std::map<std::string, int> not_counted;
  std::map<std::string, int>
      left_out;                        // trials whose blocks count as another machine ran them, by the reason
  int unmended = 0;                    // planned trials of which no attempt counts
  std::vector<std::string> warnings;   // of the run as a whole
  std::vector<std::string> sensors;    // the audit in lines
  std::vector<NoticedRow> noticed;     // trial by trial
  std::vector<std::string> rechecked;  // each time that it was looked whether an answer still stands, a line
  std::optional<AgainstMeter> against_meter;  // where a night has both a meter and on-board sensors
  std::vector<std::string>
      asked;  // what is asked of the trials otherwise than by their experiment, a line each
};

// By scenario; empty where every point is run.
using Searches = std::map<std::string, SearchSummary>;
Searches summarise_searches(const ExperimentRow& experiment, const std::vector<FinishedTrial>& history,
                            const std::vector<PointRow>& points, const std::vector<PriorShape>& prior);

std::vector<SearchAnswer> search_answers(const Summary& summary);

Summary summarise(const ExperimentRow& experiment, const std::vector<TrialRow>& trials,
                  std::vector<std::string> warnings = {}, std::vector<std::string> sensors = {},
                  Searches searches = {});

// Of one scenario by some of its trials (one at least), in short: points with their means, the best, and of `asked` alone (a point's key)
// whether it is told apart from that.
ScenarioSummary summarise_in_brief(const ExperimentRow& experiment, const std::string& scenario,
                                   const std::vector<const TrialRow*>& trials, const std::string& asked);

// "4 of its 8 trials did not finish (timed out: 4), and are in no mean: ..." where the work itself failed at a point, which says something of
// the setting, unlike a disturbance; empty: it never did.
std::string unfinished_text(const PointSummary& point);

// Whether points hold all constraints, and of none of them the objective is known: they missed the target, or did no work.
bool holds_without_a_mean(const ScenarioSummary& scenario);

// The answer in words, some sentences a scenario (sentences.cpp).
std::vector<std::string> answer_sentences(const Summary& summary);
// What is worth knowing beside it: drift, trade-offs, flagged trials.
std::vector<std::string> further_sentences(const Summary& summary);
// Whether of energies of some of its points nobody knows what the sensors add to them; what is to be said then beside intervals.
bool sensors_part_unknown(const ScenarioSummary& scenario);
inline constexpr const char* sensors_part_unknown_text =
    "what the sensors may add to an energy is not known (sensor_unresolved says why): ± and [ ] are of the "
    "scatter between trials alone, and an error that is the same in each of them is not in it";
// That trials are left, and why; empty: none is.
std::string unfinished_sentence(const Summary& summary);

// Of an experiment that was not shuffled, all the time: "the trials ran in the order of the file (order: listed)".
std::string trials_as_listed(const ExperimentRow& experiment);
// The bound of an adaptive search and what would narrow it (search_sentences.cpp).
// `certainly_holds`: the best holds all constraints by its own trials, with their whole intervals.
std::string bound_sentences(const SearchSummary& search, bool certainly_holds);
// What no other setting does: "is more than 1.2 % better".
std::string at_most_better(double bound);
// ". Against the reference (cpu.frequency = 2.4 GHz): 12.3 % less energy (95 % interval 11.2 to 13.4 %), 3.1 % slower (...)."; for one of
// the scenario's own points (sentences.cpp).
std::string against_the_reference(const ScenarioSummary& scenario, const PointSummary& point);
// "cpu.frequency = 1.8 GHz"; "gpu.core = 1395 MHz delivered (1980 MHz requested)" where that is so.
std::string settings_text(const PointSummary& point);
// The value of one axis, likewise.
std::string setting_value_text(const PointSummary& point, const AxisSetting& setting);

}  // namespace dvfs_plan
