// The plan: an experiment resolved against one machine, down to the last trial. Plain data.
//
//   parse_experiment() -> Experiment ─┐
//   the machine -> MachineOffers ─────┴─► resolve_plan() -> Plan -> orchestrator/run/run_loop.cpp
//
// The same file on the same machine gives the same plan, trial order included: the shuffle is seeded and
// its arithmetic is fixed (Boost.Random), so `hash` identifies a result that may be resumed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/work_files.hpp"

namespace dvfs_plan {

// One value of an axis: its text in canonical form ("1.8 GHz", "performance") and, where it is a number, that
// number in SI units and of what it is one. Knobs take it by its unit.
struct AxisValue {
  std::string text;
  std::optional<double> number;
  Dimension dimension = Dimension::none;

  // Throw std::logic_error if it is none: no offer and no parser makes such a value for a knob of that unit.
  Hertz hertz() const;
  Watts watts() const;
  bool operator==(const AxisValue& other) const { return text == other.text && number == other.number; }
};

// What the machine offers on one axis: discrete values in ascending order, or a continuous range of which
// `values` are the round steps.
struct AxisOffer {
  Dimension dimension = Dimension::text;
  std::vector<AxisValue> values;
  struct Continuous {
    double lowest = 0;
    double highest = 0;
  };
  std::optional<Continuous> continuous;
};

// Which values of two axes the hardware takes together (an NVIDIA board's memory and core clocks), in SI
// units.
struct AllowedPairs {
  std::string axis, other;
  std::vector<std::pair<double, double>> pairs;
};

// Offers for the knob axes of one experiment; a knob the machine does not have is in `missing` with the
// reason and the next step.
struct MachineOffers {
  std::map<std::string, AxisOffer> offers;
  std::map<std::string, std::string> missing;
  std::vector<AllowedPairs> pairs;
};

struct PlanAxis {
  std::string name;
  bool knob = false;
  Dimension dimension = Dimension::text;
  std::vector<AxisValue> values;
  // Of an axis that was added to a file whose trials are there: the value at which they ran. Keys of points leave it out, so that
  // these trials stay what they are.
  std::optional<AxisValue> was = {};
};

// An operating point of one workload.
struct PlanPoint {
  int workload = 0;                              // index into Plan::workloads
  std::vector<std::optional<AxisValue>> values;  // one an axis; nullopt where the workload does not use it
  std::string key;                               // "mixed cpu.frequency=1.8 GHz batch=32": unique in the plan
  // Points of one scenario do the same work (workload and its parameters, but for those that the objective
  // compares across) and may be compared.
  std::string scenario;
  // The knobs' part of the key: "cpu.frequency=1.8 GHz"; empty where no knob is set.
  std::string operating_point;
  bool reference = false;  // savings and slowdowns of the scenario are against it
  // The services that are up, with the parameters they were started with: "server batch=8"; empty: none. Trials of one block that need the
  // same follow each other, since a start takes long.
  std::string services = {};
};

// What a trial is for. Only `point` and the references count towards a point's mean.
enum class TrialRole {
  point,
  reference_first,  // the first of the reference's two trials in a block,
  reference_last,   // and the second: what changed between them is drift
  warm_up,          // brings caches and temperature to where the next trial finds them
  idle_before,      // nothing runs: what the operating point draws by itself
  idle_after,
};
std::string_view to_string(TrialRole role);
TrialRole parse_role(std::string_view text);  // its inverse; `point` for any other text
bool is_idle(TrialRole role);
bool counts_for_its_point(TrialRole role);

// Which trial: what resume goes by.
struct TrialId {
  int point = 0;  // index into Plan::points; of an idle window, a point with its operating point
  int block = 1;  // repetition k lives in block k
  TrialRole role = TrialRole::point;
  int nth = 1;      // of its role at this point in this block; of warm-ups, in this block
  int attempt = 1;  // 2: run again because the first was disturbed
  auto operator<=>(const TrialId&) const = default;
};
// Whether it is the same trial, run again or not.
bool same_but_for_attempt(TrialId a, TrialId b);
// For people, and unique in a result file: "w cpu.frequency=1.8 GHz #2 rerun 1".
std::string trial_key(const PlanPoint& point, const TrialId& id);

struct PlannedTrial : TrialId {
  std::string key;        // trial_key()
  int position = 1;       // place in the whole order, from 1
  bool confirms = false;  // in a block of the best points of the blocks before it (RepeatSpec::confirm)
};
PlannedTrial planned_trial(const PlanPoint& point, const TrialId& id, int position);

// What a program is made of on this machine.
struct ProgramFiles {
  std::vector<std::string> executables = {};  // what argv[0] resolves to, sorted; /bin/sh for `shell:`
  std::vector<WorkFile> files = {};           // they, and the scripts and programs that the command names
};

struct PlanWorkload : ProgramFiles {
  WorkloadSpec spec;
  std::vector<int> services = {};  // indices into Plan::services, in the order of the file
  std::vector<int> members = {};  // indices into Plan::workloads of those that it runs at once; empty: itself
};

struct PlanService : ProgramFiles {
  ServiceSpec spec;
};

struct Plan {
  Experiment experiment;
  std::vector<PlanWorkload> workloads;
  std::vector<PlanService> services;
  std::vector<PlanAxis> axes;
  std::vector<PlanPoint> points;
  // Of the first `repeat.min` blocks; a strategy may add blocks. Empty where they are chosen one by one.
  std::vector<PlannedTrial> trials;
  std::string canonical;  // JSON of all that decides what is run; what `hash` is the SHA-256 of
  std::string hash;
};

// One of those that run at once in a trial.
struct Instance {
  int workload = 0;  // index into Plan::workloads; one with a command
  int copy = 0;      // which of that workload's copies, from 0: {instance}
  int copies = 1;
  // "instance 2 of 3", "train", "train, instance 1 of 2"; "the workload" where it is alone.
  std::string name;
};
// All of them, in the order of the file; at least one.
std::vector<Instance> instances_of(const Plan& plan, const PlanPoint& point);
// What a run of the workload takes at most: its time limit and its grace.
Seconds longest_run(const Plan& plan, int workload);
// What the command of one of them has in braces beside the axes.
std::map<std::string, std::string> instance_words(const WorkloadSpec& spec, const Instance& instance);

// How an experiment that has grown is scheduled: each stage is what one change of its file added, in blocks of its own behind all that
// were run before. The first is the file that the result was made with.
struct PlanStage {
  int first_block = 1, first_position = 1;
  int new_blocks = 0;  // in which the points that it brought are run; of the first stage, all there were
  int old_blocks =
      0;  // in which the points that were there are run again; less than 0: so many fewer than were planned are left of theirs
  std::vector<std::string> references;  // keys of the points that savings were against
};
// In how many blocks a point that came with a stage is planned.
int blocks_planned(const std::vector<PlanStage>& stages, std::size_t stage);
// Sets plan.trials. `stage_of_point`: by key, where it is not the first. A point of the plan that no stage knows is left out.
void schedule_stages(Plan& plan, const std::vector<PlanStage>& stages,
                     const std::map<std::string, int>& stage_of_point);

// What another file asks of a result that is there.
struct PlanChange {
  std::vector<std::string> asks;   // of the trials that are there: another objective, limit or reference
  std::vector<std::string> adds;   // further trials
  std::vector<std::string> drops;  // points that it has no more: their trials stay, and do not count
  std::vector<std::string> incomparable;  // whose trials could not be compared with those that are there
  bool any() const { return !asks.empty() || !adds.empty() || !drops.empty() || !incomparable.empty(); }
};
PlanChange plan_change(const std::string& old_canonical, const std::string& new_canonical);

// What resolving needs of the world besides the knobs.
struct ResolveWorld {
  MachineOffers offers;
  std::string path;  // $PATH, where commands without a slash are found
};

// The plan, or nullopt with errors in `diagnostics`.
std::optional<Plan> resolve_plan(const Experiment& experiment, const ResolveWorld& world,
                                 Diagnostics& diagnostics);

// Trials of workloads that the plan asks for, as far as it is known before the night: of the first blocks, or
// at most for a search one by one; no more than a budget of trials.
int workload_trials(const Plan& plan);
// A search one by one runs no more than these of a scenario: by default what the full grid would take, at
// most most_search_trials.
int most_trials_of_scenario(const Plan& plan, std::string_view scenario);

struct ScheduleOptions {
  bool shuffled = true;
  std::uint64_t seed = 1;
  bool references = true;  // two trials of the reference a block, for scenarios of more than one point
  bool idle = true;        // windows before and after, one for each operating point
};
// What the experiment asks for; idle windows only where energy is measured.
ScheduleOptions schedule_options(const Experiment& experiment);

// One block over some of the points (indices): idle windows, the points and two trials of each reference,
// shuffled together by (seed, block) within what needs the same services, idle windows; in the listed order the references are first and last.
// The references of all scenarios that occur are in it. Positions start at `position`.
std::vector<PlannedTrial> schedule_block(const std::vector<PlanPoint>& points, const std::vector<int>& chosen,
                                         int block, int position, const ScheduleOptions& options);
// Randomised complete blocks: each is one pass over all points.
std::vector<PlannedTrial> schedule(const std::vector<PlanPoint>& points, int blocks,
                                   const ScheduleOptions& options);

// JSON of all that decides what is run, the contents of the programs included.
std::string canonical_plan(const Plan& plan);
// What differs between two canonical plans, for people: "axes / cpu.frequency: 1.8 GHz -> 2.2 GHz".
std::vector<std::string> plan_differences(const std::string& old_canonical, const std::string& new_canonical);

}  // namespace dvfs_plan
