// One finished trial as the store keeps it, and the words for how it went.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child.hpp"
#include "base/reading.hpp"
#include "experiments/plan/plan.hpp"
#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {

// Why a trial counts or not. One word each, kept stable: analysts select by them.
enum class Verdict {
  ok,
  not_launched,       // the program could not be started
  exited,             // exit code other than 0
  signalled,          // ended by a signal that was not ours
  timed_out,          // ended by us at its timeout
  stopped,            // this program was stopped (SIGSTOP) meanwhile: the trial's times are false
  knob_refused,       // a setting could not be applied, or read back as something else
  changed_meanwhile,  // a setting was not what had been applied any more, during the trial or at its end
  not_in_force,       // nothing shows that a setting which cannot be read back was in force
  not_delivered,      // the hardware ran at another clock than the one applied
  sensor_absent,      // no energy channel gave a reading
  sensor_denied,      // readings were refused
  sensor_gone,        // the sensor went away during the trial
  sensor_dead,        // a counter that did not move, or stopped moving, or a power of 0 W throughout
  sensor_frozen,      // the same value all the time, in the trial or in what counts of it
  sensor_gap,         // too little of the trial was seen
  sensor_impossible,  // a value that the quantity cannot have: a negative power, a number that is none
  sensors_disagree,   // two sources of the same energy differ by more than they may
  throttled,          // the hardware slowed itself down (thermal or power limit) below what was requested
  foreign_load,       // other processes took CPU time meanwhile
  no_region,          // the region that counts was not marked
  marks_unpaired,     // a begin without its end, or an end without its begin, in what counts
  marks_lost,         // region marks could not be written, or were more than are kept
  no_metric,          // the metric that counts units of work was not printed
  service_not_ready,  // a service could not be started, or did not get ready in its time: nothing was run
  instance_failed,    // one of several that ran at once was not ready, so that the others waited in vain
  censored,           // the target was not reached: its time and energy are lower bounds of what it takes
  service_died,       // a service ended during the trial, or just before or after it
  damaged,  // never written: its rows in the file are not those that were (results/store/digest.hpp)
};
std::string_view to_string(Verdict verdict);
// Whether a trial goes into its point's means: nothing was wrong with it, and it is no warm-up or idle
// window.
bool trial_counts(std::string_view verdict, TrialRole role);
// Whether running the trial again may mend it: a disturbance, not a property of the point.
bool may_pass(Verdict verdict);
// The same of a stored word; false for one of a newer program.
bool may_pass(std::string_view verdict);

// What the clock that was delivered at one target is judged by.
struct ClockRule {
  double requested = 0;    // Hz
  double tolerance = 0;    // Hz: so near to it a reading is the one requested
  bool or_higher = false;  // it stands for turbo: any higher clock is what was asked for
  std::string quantity =
      {};  // of a board, which of its clocks tells ("core_clock"); empty: CPUs, which have one
  bool only_proof = false;  // the setting cannot be read back (a clock lock): the clock alone shows it
  // Share of the trial in which the busiest of the target's CPUs worked; nullopt: not known.
  std::optional<double> busiest = {};
  // Seconds of the trial that the kernel counted, and of these the ones in which it had the target at another
  // clock; nullopt: it does not count them.
  std::optional<double> counted_s = {}, elsewhere_s = {};
};

struct SettingRecord {
  int axis = 0;        // index into Plan::axes
  std::string target;  // "policy0", "machine", "workload"
  std::string requested;
  std::optional<std::string> applied;
  std::optional<double> delivered, delivered_low, delivered_high;
  int delivered_readings = 0;
  std::optional<bool> as_requested = {};  // what was delivered is what was requested; nullopt: not known
  std::optional<ClockRule> clock = {};    // nullopt: no clock was requested
  std::optional<Watts> power_limit = {};  // of a board or package, as it was read back, where that was set
};

struct MetricRecord {
  std::string name;
  double value = 0;
  std::string unit;
  int run = 1;                           // of the trial, that told it
  std::optional<Nanoseconds> time = {};  // when it was marked; nullopt: it was printed
  // How long what counts had lasted then, what it had used, and 95 % of what the sensors alone add; known of the metric that the
  // objective has a target for.
  std::optional<double> counted_s = {}, joules = {}, half_width_j = {};
  // Of a share that was told as a count, "4312 of 4355": what it is of; its value is in per cent then.
  std::optional<double> count_of = {};
};

struct EventRecord {
  std::string kind;
  std::string message;
};

// One marked stretch of a workload, or a whole run of it.
struct RegionRecord {
  std::string name;
  int run = 1;  // which run of the command, where a trial has several
  Nanoseconds started = 0;
  Nanoseconds ended = 0;
  bool counted = false;  // belongs to what the trial is judged by
  std::optional<double>
      joules;                // of the experiment's energy source; nullopt if shorter than the sensor can tell
  std::string process = {};  // that marked it: "4711", "4711/3" with its rank; empty: it does not say
  std::optional<double> half_width_j = {};  // 95 %, what the sensors alone add
};

// One of those that ran at once, and how it went. A trial of one alone has none: it is the trial.
struct InstanceRecord {
  int run = 1;       // of the trial's runs, the one that is its
  int instance = 1;  // from 1, in the order of the file
  std::string workload;
  std::string name;  // "instance 2 of 3", "train"
  Nanoseconds started = 0, ended = 0;
  ChildResult::End end = ChildResult::End::not_launched;
  int exit_code = 0, signal = 0;
  Seconds user_time{0}, system_time{0};
  std::string output_tail, error_tail;
  // What counts of it, by its own marks; nullopt: it did not count. Joules of one alone are not to be had.
  std::optional<double> region_s = {};
  std::optional<double> units = {};  // of work; nullopt: the objective is per run
};

// What happened before and around the trial. nullopt: not watched, or not known.
struct ConditionsRecord {
  std::optional<double> temperature_c;  // the hottest sensor at the start
  std::optional<double> gate_wait_s;    // for the temperature to come back
  std::string gate;                     // 'in_band', 'waited', 'timed_out'; '' without a gate
  std::optional<double> settle_s;       // from the last setting to the launch
  std::string settle;                   // 'held', 'timed_out'; '' where no clock can be read at rest
  std::optional<double> foreign_cpu_s;  // CPU time of other processes
  std::optional<int> run_queue;         // other runnable threads just before
  std::optional<double> throttle_events;
  // The largest share of the region in which a board was held down by its power limit, or by heat.
  std::optional<double> power_cap_share, thermal_share;
  std::optional<double>
      power_limit_w;  // the lowest in force of the boards used, else of the packages it was set for
};

struct TrialRecord : PlannedTrial {
  std::string started_at;
  double slot_s = 0;          // from the first setting to the verdict: what the night pays for it
  bool knob_refused = false;  // then nothing was launched and `child` is empty
  ChildResult child;          // of the last run; times from the first launch to the last end
  std::vector<std::pair<Nanoseconds, Nanoseconds>> runs;  // of the command, each instance's
  // How often all that run at once were started: what times and energies "of a run" are of.
  std::size_t starts() const;
  std::size_t at_once() const;  // how many instances ran at once
  Verdict verdict = Verdict::ok;
  std::string verdict_text;
  std::vector<RegionRecord> regions;
  std::string region;                          // the name of what counts; '' is the whole process
  std::optional<double> region_s;              // all that counts together
  std::optional<double> energy_j;              // over it
  std::optional<double> energy_half_width_j;   // 95 %, what the sensors alone add
  std::optional<double> energy_systematic_j;   // of it, what may be the same in all trials of a point
  int fresh_readings = 0;                      // of the energy source in it
  std::vector<InstanceRecord> instances = {};  // of each run, where several ran at once
  // Of several at once: how long all of them ran in what counts, and what was used meanwhile.
  std::optional<double> all_running_s = {}, all_running_j = {}, all_running_half_width_j = {};
  std::optional<double> units;    // of work, in all runs, if the objective is per unit
  bool units_incomplete = false;  // a run printed none, or its output was cut
  std::map<std::string, std::string> unreadable_at_last =
      {};                             // metrics whose last value cannot be read, and the line that gave it
  std::string units_unreadable = {};  // a line that gave a number of them which cannot be read
  std::optional<double> objective;
  std::vector<SettingRecord> settings;
  std::map<std::string, double> power_limits_w =
      {};  // in force, by domain of the boards used, and of packages where it was set
  std::vector<Reading> readings;
  std::vector<ChannelEnergy> energies;  // one an energy-capable channel
  std::vector<MetricRecord> metrics;
  std::vector<EventRecord> events;
  ConditionsRecord conditions;
  // Settings that somebody else changed meanwhile: where, to what. Not kept in the file: the verdict says it.
  std::map<std::string, std::string> changed_to = {};
  // Facts of the night that it showed to be none: names of the table machine_fact.
  std::vector<std::string> outdated_facts = {};
  // Earlier trials that it showed not to count after all.
  struct TakenBack {
    std::string key;
    Verdict verdict = Verdict::no_metric;
    std::string text;
  };
  std::vector<TakenBack> taken_back = {};
};

// What of a finished trial decides what is run next.
struct FinishedTrial : PlannedTrial {
  bool counts = false;  // trial_counts()
  bool may_pass = false;
  bool given_up =
      false;  // the night stopped behind it: as if it had been disturbed, and no rerun is spent on it
  std::optional<double> objective;
  double slot_s = 0;
  std::optional<double> sensor_share;           // the sensors' half-width of its energy, relative
  std::optional<double> systematic_share = {};  // of it, what may be the same in all trials
  std::optional<double> work_time_s = {},
                        work_energy_j = {};  // per unit of work where the objective is, else per run
  // What all its runs did, and used: units of work where the objective is per unit, else runs.
  std::optional<double> units = {}, used_s = {}, used_j = {};
  std::map<std::string, double> other =
      {};                 // metrics, and `time` and `energy` of a run: what constraints may name
  std::string node = {};  // of several machines, the one that ran it; empty: there is one
  std::map<std::string, std::string> units_of_other = {};  // of metrics, as they were told
  // Of metrics that several at once told differently: least and highest.
  std::map<std::string, std::pair<double, double>> extremes_of_other = {};
};
FinishedTrial finished(const TrialRecord& trial);
// Which trial it is, and nothing of how it went: for those who play trials instead of running them.
FinishedTrial as_planned(const PlannedTrial& trial);
// Time and energy of a trial per unit of work and per start of all that run at once.
void set_work(FinishedTrial& trial, std::optional<double> region_s, std::optional<double> energy_j,
              std::size_t starts, std::optional<double> units);

}  // namespace dvfs_plan
