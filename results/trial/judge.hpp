// Does a finished trial count? Pure: from what was recorded to a verdict with its reason.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "results/trial/regions.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// What energy channels said in the session's trials before this one.
struct EarlierReadings {
  std::map<std::uint32_t, double> last;  // a gauge that stays there all through is frozen
  // Gauges that told a value of its own at nearly each update: one of these that says the same all through a trial is frozen, whatever it
  // said before; of one that is coarse (whole watts) a steady load makes just that.
  std::set<std::uint32_t> fine;
  void add(std::span<const Reading> readings);
};

struct JudgeInput {
  std::span<const Channel> channels;
  // Channels whose sum is the trial's energy; empty: this experiment measures none.
  std::vector<std::uint32_t> energy_channels;
  bool energy_needed = true;  // the objective is made of energy
  EarlierReadings earlier;
  std::vector<MarkedRun> runs;  // each run of the command with its marks; empty: the child's only one
  std::string region;           // what counts; empty: the outermost marked ones, or the whole process
  std::map<std::uint32_t, SensorModel> models;  // what the audit found of each channel
  ObjectiveSpec objective;
  bool in_copies = false;  // the workload's runs are copies, one or several ('instances')
  std::map<std::string, std::string> per_of_workload =
      {};  // what counts units of each of those that run at once
  // Of metrics that decide: the unit in which earlier trials of the workload told them, and the first that did.
  struct ToldBefore {
    std::string unit, trial;
    bool as_count = false;  // "96 of 100"
  };
  std::map<std::string, ToldBefore> told_before = {};
  // The first impossible value of a channel, as it was said and why it cannot be.
  std::map<std::uint32_t, std::string> impossible;
  std::optional<double> foreign_limit;  // CPUs' worth of other processes' time; nullopt: not judged
};

// Of a trial's values of what decides, the one that says in which unit it is told: the first that is no count, else the first; nullptr: none.
const MetricRecord* says_the_unit(const std::vector<MetricRecord>& metrics, const std::string& name);

// Metrics that decide: what counts units of work, what a constraint or a target is about.
std::vector<std::string> deciding_metrics(const ObjectiveSpec& objective);

// Fills delivered values, energies, energy_j, the objective and the verdict of `trial`, whose child,
// settings, power limits and readings are there. What a board delivers instead of the request is a result of
// its own: the trial counts, filed under what was delivered.
void judge(TrialRecord& trial, const JudgeInput& input);

// What the readings say, as a part of the above: delivered clocks, limits of boards, energies, and the
// verdict where they exclude the trial; the same of a trial that comes from a result file. Returns whether
// every requested clock is known to have been delivered; false if none was requested.
bool judge_readings(TrialRecord& trial, const JudgeInput& input, const Regions& regions);

// Of an idle window, by the energy source, W: its mean, and the mean of its second half less that of its first, beyond what the sensors may be
// off by; 0 if it held.
struct IdlePower {
  double mean = 0, change = 0;
};
std::optional<IdlePower> idle_power(const TrialRecord& trial, const JudgeInput& input);

// The objective from joules and seconds, per run or per unit alike; nullopt if it needs joules and there are
// none.
std::optional<double> objective_value(const ObjectiveSpec& objective, std::optional<double> joules,
                                      double seconds);

// The tolerance for one value of an axis: half the gap to the nearest offered neighbour, or one step of a
// continuous range, within 1 % to 3 % (5 %) of the value.
double delivered_tolerance(const std::vector<double>& offered, bool continuous, double value);

// acpi-cpufreq lists turbo as the highest non-turbo clock plus 1 MHz.
bool is_turbo_step(const std::vector<double>& offered, double value);

}  // namespace dvfs_plan
