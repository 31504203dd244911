// An experiment as its file says it, before it meets a machine: values are still text with marks.
//
// parse_experiment() makes it; resolve_plan() (plan.hpp) turns it into the trials of one machine.
// The keys and their meaning are documented for users in README.md and experiments/experiment.schema.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "experiments/plan/diagnostics.hpp"
#include "experiments/plan/vocabulary.hpp"

namespace dvfs_plan {

struct RawValue {
  std::string text;
  Mark mark;
};

// How a workload's output becomes numbers.
struct MetricRule {
  enum class Kind {
    lines,  // "name value unit" on a line of its own
    json,   // a JSON object on a line of its own: {"metric": "name", "value": 1, "unit": "s"} or {"name": 1}
    regex,  // RE2 with one group
    pointer,  // a number within a JSON document (RFC 6901): a line, the whole output, or a file
  };
  Kind kind = Kind::lines;
  // Of regex and pointer only.
  std::string name = {};
  std::string pattern = {};
  std::string unit = {};
  std::optional<RawValue> file =
      {};  // that holds the document; relative to the workload's folder; it must be written in the trial
};

// A program that the experiment starts: a workload's, or a service.
struct ProgramSpec {
  std::string name;
  Mark mark;
  std::vector<RawValue> command;  // argv; empty if `shell` is used
  std::optional<RawValue> shell;  // for /bin/sh -c
  std::vector<std::pair<std::string, RawValue>> environment;
  // Under sudo: variables of root's environment that it gets beside the invoking user's clean one.
  std::vector<std::string> keep;
  std::optional<RawValue> folder;
  Seconds grace{2};  // between SIGTERM and SIGKILL
  std::optional<RawValue> run_as;
};

// How one sees that a service may be asked.
struct ReadySpec {
  enum class Kind {
    at_once,
    port,     // TCP of this machine takes a connection
    line,     // a text that a line of its output holds
    command,  // a program that ends with 0; run again until it does
  };
  Kind kind = Kind::at_once;
  RawValue text;                  // port, line
  std::vector<RawValue> command;  // argv
  Seconds within{60};
};

// A program that stays up over many trials, or one that somebody else started.
struct ServiceSpec : ProgramSpec {
  ReadySpec ready;
  // After each start and each change of a setting, before a trial: a while, or a program that is run.
  Seconds warm_up{0};
  std::vector<RawValue> warm_up_command;
  // Not ours to start and end: the process of this id, or who listens at HOST:PORT or an http URL.
  std::optional<RawValue> attached_pid, attached_address;
  bool attached() const { return attached_pid || attached_address; }
};

// The values of one axis as written.
struct AxisSpec {
  enum class Form { list, all, min, max, count, range };
  std::string name;
  Mark mark;
  Mark values_mark;
  Form form = Form::list;
  std::vector<RawValue> values;         // list
  int count = 0;                        // count
  std::optional<RawValue> from, to;     // range
  std::optional<RawValue> step, times;  // range: arithmetic or geometric; neither: all offered in between
  bool nearest = false;                 // take the nearest offered value instead of refusing
  std::string by;                       // who sets it: "slurm"; empty: the guardian
  std::optional<RawValue> was;          // the value at which trials ran before the axis was added to the file
};

struct SysfsKnobSpec {
  std::string name;
  Mark mark;
  RawValue path;
  std::vector<RawValue> values;
};

// A setting that programs of the user's set and read: axis set.NAME.
struct CommandKnobSpec {
  std::string name;
  Mark mark;
  // Words, one an argument. `command` has {value} where the value goes; so may `restore` (empty: `command` with what `read` told
  // before); `read` prints the value alone.
  std::vector<std::string> command, read, restore;
  std::vector<RawValue> values;  // all that may be set
};

// What an experiment says of knobs that dvfs-plan has not got.
struct OwnKnobs {
  std::vector<SysfsKnobSpec> sysfs = {};
  std::vector<CommandKnobSpec> set = {};
  std::string folder = ".";  // of the programs: absolute where they are to be run
};

struct ExcludeRule {
  Mark mark;
  struct Condition {
    std::string axis;
    Mark mark;
    std::vector<RawValue> values;
  };
  std::vector<Condition> conditions;  // all must hold
};

struct ProbeSpec {
  std::string name;
  Mark mark;
  bool of_boards = false;  // a built-in probe of GPU boards
  std::optional<Hertz> rate;
  // A program that prints "name value unit" lines; empty for the built-in probes.
  std::vector<std::string> command;
  std::optional<Seconds> every;       // run anew this often; else it is started once and streams
  std::optional<std::string> run_as;  // as for workloads; IPMI tools want root
  struct ChannelSpec {
    std::string name;
    std::string unit;
    std::string domain;
    std::optional<double> averages_over_s = {};  // each value of a power is the mean over so long
    std::optional<double> late_by_s = {};        // what it says was so that long before
  };
  std::vector<ChannelSpec> channels;
  // On the network, asked by us (probes/meters/).
  struct MeterSpec {
    std::string kind;  // "shelly"
    RawValue at;
    std::string outlet;                                // of several at one address; empty: the first
    std::optional<RawValue> credentials, authorities;  // files
    std::string domain = "system";
    std::optional<double> averages_over_s = {}, late_by_s = {};
    std::string
        power_query = {},
        range_query =
            {};  // of an instrument: how active power is asked, and whether its range changes by itself
  };
  std::optional<MeterSpec> meter;
};

enum class Objective { energy, time, edp, ed2p, cost };
std::string_view to_string(Objective objective);
std::optional<Objective> parse_objective(std::string_view text);

// What must hold at a point for it to be the answer.
struct ConstraintSpec {
  enum class Relation { at_most, less, at_least, more };
  // `slowdown` (against the reference, a ratio), `power` (W), `time` (s), `energy` (J), or a metric's name.
  std::string name;
  Mark mark;
  Relation relation = Relation::at_most;
  double limit = 0;
  std::string unit;  // of a metric; empty: that in which it is told
};
std::string_view to_string(ConstraintSpec::Relation relation);
bool holds(ConstraintSpec::Relation relation, double value, double limit);
// It holds for what is low enough: of several values the highest decides, else the least.
bool bounds_from_above(ConstraintSpec::Relation relation);
// Whether the program measures it itself, in SI units: `slowdown`, `power`, `time`, `energy`. All else is a metric.
bool is_measured(std::string_view name);
// `value`, told in the unit `told`, in the unit of the bound. std::nullopt: the two do not compare (ms and GB; a bound in ms and a value
// without a unit; a bound without a unit on what is told in %, where 0.99 may mean 99).
std::optional<double> as_bounded(const ConstraintSpec& constraint, double value, const std::string& told);
// Why not: "its values are told in 'ms', and the bound is in 'GB'".
std::string why_not_comparable(const ConstraintSpec& constraint, const std::string& told);
// "slowdown <= 5 %", "accuracy >= 0.75".
std::string constraint_text(const ConstraintSpec& constraint);

// What energy and machine time cost, for `minimise: cost`.
struct PriceSpec {
  double per_joule = 0;
  double per_second = 0;
  std::string currency;
};

struct ObjectiveSpec {
  Objective minimise = Objective::energy;
  std::optional<RawValue> energy_of;  // the domain that counts; nullopt: the widest that works
  std::string per;                    // the metric that counts units of work; empty: per run of the command
  // Parameters of the workload whose values compete, because a unit of work is the same at each (a batch
  // size): their points belong to one scenario, as those of knobs do.
  std::vector<RawValue> across;
  bool same_work = false;  // a run of the command is one unit at each of their values
  std::vector<ConstraintSpec> constraints;
  std::optional<PriceSpec> price;
  // What the work is run for: what counts ends when this metric is first marked as it says. nullopt: what counts is all.
  std::optional<ConstraintSpec> target = {};
};

// How often each point is run. Block k holds repetition k.
struct RepeatSpec {
  int min = 3;
  int max = 3;
  // Points whose objective's 95 % half-width is within this share of the mean are not run again after `min`.
  std::optional<double> until;
  // Blocks that are run at last, of the best point, its rivals and the reference alone. 0: none.
  int confirm = 0;
};
// Of fewer blocks Student's quantile makes their own pairs' interval wider than the correction's.
inline constexpr int least_confirming_blocks = 4;

// What a night may take; trials beyond the first `min` blocks are spent where the intervals are widest.
struct BudgetSpec {
  std::optional<Seconds> time;
  std::optional<int> trials;  // of workloads; warm-ups and idle windows are not counted
  bool any() const { return time || trials; }
};

// An adaptive search weighs all trials of a scenario against each other before each new one; with more of
// them that takes longer than trials do.
inline constexpr int most_search_trials = 500;

// Whether a strategy chooses each trial when those before it are known; else all are planned before the
// first.
inline bool chooses_one_by_one(std::string_view method) {
  return method != "full";
}

// How the points to run are chosen: by the strategy of that name.
struct SearchSpec {
  std::string method = "full";
  bool one_by_one() const { return chooses_one_by_one(method); }
  Mark mark;
  // A search by a model stops once with this confidence no other setting is better than the one named by more
  // than `regret` (a share of the best); 0: it does not stop by that.
  double regret = 0.01;
  double confidence = 0.95;
  bool each_node =
      false;  // that bound is to hold on each machine that took part, not only on the mean of their type
  std::optional<int> at_most;   // trials of each scenario; nullopt: what the full grid would take
  std::vector<RawValue> prior;  // earlier result files of the same board
};

struct MeasureSpec {
  std::string region;  // the marked region that counts; empty: the outermost, else the whole process
  std::optional<Seconds>
      at_least;  // the command is run again within the trial until its regions are this long
};

struct WorkloadSpec : ProgramSpec {
  Seconds timeout{600};
  std::size_t output_cap = 1 << 20;
  std::vector<MetricRule> metrics;
  std::optional<std::vector<RawValue>> services;  // that are up while it runs; nullopt: all of the experiment
  // Copies of it that run at once in one trial: a number, or an axis in braces; nullopt: one, and {instance} has no value.
  std::optional<RawValue> instances;
  // Other workloads, which run at once in one trial of this one; it has no command of its own then. Empty: none.
  std::vector<RawValue> together;
  // What it is asked for and what of it counts, where that is not as the experiment says.
  std::optional<ObjectiveSpec> objective = {};
  std::optional<MeasureSpec> measure = {};
};
inline constexpr int most_instances = 1024;  // of a workload in a trial
bool is_instance_count(std::string_view text);

// What a trial waits for, and what is watched while it runs.
struct ConditionsSpec {
  int warm_up = 1;              // trials before the first of each block and after a resume; they do not count
  std::optional<Seconds> idle;  // length of an idle window; nullopt: by the sensor's update; 0: none
  bool references = true;       // two trials of the reference in each block, at random places
  Seconds settle{0.1};          // at least; then until clocks hold
  Seconds settle_limit{2};
  std::optional<double> temperature_band = 2.0;  // C above the block's start; nullopt: no gate
  Seconds temperature_limit{60};
  double drift = 0.01;                       // of the reference within a block, before it is flagged
  std::optional<double> foreign_load = 0.2;  // CPUs' worth of other processes' time; nullopt: not judged
  int reruns = 1;                            // of a trial that was disturbed, at the end of its block
  int give_up_after =
      5;  // trials in a row that fail in the same way: the night stops; 0: it never does by itself
  bool flag_gpu_processes = false;  // others on a board are told of; false: they keep a run from starting
};

// Nodes of a cluster that Slurm runs the blocks on, one after another or at once (sbatch(1)).
struct SlurmSpec {
  Mark mark;
  int nodes = 1;               // that blocks are spread over
  std::optional<int> at_once;  // of them that work at any time; nullopt: all
  std::string partition, account, qos, constraint,
      reservation;                 // as sbatch takes them; empty: the site's default
  std::optional<Seconds> time;     // limit of a block
  std::vector<RawValue> extra;     // further options of sbatch, one a word
  std::optional<RawValue> folder;  // that the nodes and this machine share; nullopt: beside the result
  int give_up_after = 3;           // trials in a row that fail on one node: it is left out
  bool each_type = false;          // nodes of several types: a result of each; else they are refused
};
inline constexpr int most_nodes = 10'000;

struct Experiment {
  std::string file;    // as given
  std::string text;    // all of it, kept in the result
  std::string folder;  // where relative paths start
  std::string name;
  std::string description;
  std::vector<WorkloadSpec> workloads;
  std::vector<ServiceSpec> services;
  std::vector<AxisSpec> axes;
  // That could not be read, which is told: nothing is said of their names besides.
  std::set<std::string> faulty_axes;
  std::vector<SysfsKnobSpec> sysfs;
  std::vector<CommandKnobSpec> set;
  std::vector<ExcludeRule> exclude;
  RepeatSpec repeat;
  BudgetSpec budget;
  SearchSpec search;
  bool shuffled = true;
  std::uint64_t seed = 1;
  MeasureSpec measure;
  ConditionsSpec conditions;
  std::optional<std::vector<ProbeSpec>> probes;  // nullopt: all that the machine has
  // Boards the workloads use: indices, UUIDs or "all"; nullopt: those the axes name, else those that
  // CUDA_VISIBLE_DEVICES leaves, else all.
  std::optional<std::vector<RawValue>> gpus;
  ObjectiveSpec objective;
  std::vector<ExcludeRule::Condition> reference;
  std::optional<RawValue> result;
  std::optional<SlurmSpec> slurm;  // nullopt: this machine

  // Where the file is, absolute; empty: it is no file.
  std::string path() const {
    namespace fs = std::filesystem;
    return file.empty()
               ? ""
               : fs::absolute(fs::path(folder) / fs::path(file).filename()).lexically_normal().string();
  }
  OwnKnobs own_knobs() const { return {sysfs, set, folder}; }
};

// Of a workload: its own, else the experiment's.
const ObjectiveSpec& objective_of(const Experiment& experiment, const WorkloadSpec& workload);
const MeasureSpec& measure_of(const Experiment& experiment, const WorkloadSpec& workload);
// Whether the energy of any workload is asked for.
bool minimises_energy(const Experiment& experiment);

// Reads an experiment file's text. Returns nullopt if the faults leave nothing to go on with; the model
// may be returned together with errors, so that resolve_plan() can add what the machine has to say.
std::optional<Experiment> parse_experiment(std::string_view text, const std::string& file,
                                           const Vocabulary& vocabulary, Diagnostics& diagnostics);

// The keys that each map of the file may have; the JSON schema is held against this in a test.
const std::map<std::string, std::vector<std::string>>& experiment_keys();

// "cpu.frequency@policy0" -> {"cpu.frequency", "policy0"}.
struct AxisName {
  std::string base;
  std::string target;
};
AxisName split_axis_name(std::string_view name);
// A machine setting (its name has a dot), not a parameter of the workload.
bool is_knob_axis(std::string_view name);
// Whether the experiment is about GPU boards: by `gpus`, a gpu axis, a probe of boards or their energy. Only
// then are boards looked for and measured.
bool uses_gpus(const Experiment& experiment);

}  // namespace dvfs_plan
