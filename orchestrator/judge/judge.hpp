// Does a finished trial count? Pure: from what was recorded to a verdict with its reason.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "orchestrator/judge/regions.hpp"
#include "results/store/trial_record.hpp"

namespace dvfs_plan {

struct JudgeInput {
  std::span<const Channel> channels;
  // Channels whose sum is the trial's energy; empty: this experiment measures none.
  std::vector<std::uint32_t> energy_channels;
  bool energy_needed = true;  // the objective is made of energy
  // What each energy channel said last before this trial: a gauge that stays there all through is frozen.
  std::map<std::uint32_t, double> last_values;
  std::map<int, double> busy;                              // share per CPU during the trial
  std::map<std::string, std::vector<int>> cpus_of_target;  // "policy0" -> its CPUs
  // The distance within which a delivered clock is the requested one, in Hz, per axis (index into
  // Plan::axes).
  std::map<int, double> tolerance;
  // Axes whose requested value stands for turbo: any higher clock is what was asked for.
  std::set<int> turbo_steps;
  // Axes of boards: which clock of a target tells ("core_clock"). What a board delivers instead of the
  // request is a result of its own: the trial counts, filed under what was delivered.
  std::map<int, std::string> board_clock;
  // Axes whose setting cannot be read back (a clock lock): the delivered clock is the only proof of it.
  std::set<int> shown_by_clock_only;
  // Seconds of the trial in which the kernel had a target at a clock (Hz); empty where it does not count
  // them.
  std::map<std::string, std::map<double, double>> residency;
  std::map<std::string, double> power_limit_w;  // in force during the trial, by domain
  // What each axis was asked for at this point, in SI units.
  std::map<int, double> requested;
  std::vector<MarkedRun> runs;  // each run of the command with its marks; empty: the child's only one
  std::string region;           // what counts; empty: the outermost marked ones, or the whole process
  std::map<std::uint32_t, SensorModel> models;  // what the audit found of each channel
  ObjectiveSpec objective;
  // The first impossible value of a channel, as it was said and why it cannot be.
  std::map<std::uint32_t, std::string> impossible;
  std::optional<double> foreign_limit;  // CPUs' worth of other processes' time; nullopt: not judged
};

// Fills delivered values, energies, energy_j, the objective and the verdict of `trial`, whose child, settings
// and readings are there.
void judge(TrialRecord& trial, const JudgeInput& input);

// How much the power of the energy source changed within an idle window, W: the mean of its second half less
// that of its first, beyond what the sensors may be off by; 0 if it held. nullopt: not known.
std::optional<double> power_change(const TrialRecord& trial, const JudgeInput& input);

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
