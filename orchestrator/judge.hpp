// Does a finished trial count? Pure: from what was recorded to a verdict with its reason.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "results/trial_record.hpp"

namespace dvfs_plan {

struct JudgeInput {
  std::span<const Channel> channels;
  // Channels whose sum is the trial's energy; empty: this experiment measures none.
  std::vector<std::uint32_t> energy_channels;
  bool energy_needed = true;              // the objective is made of energy
  std::map<int, double> busy;             // share per CPU during the trial
  std::map<std::string, std::vector<int>> cpus_of_target;  // "policy0" -> its CPUs
  // Half the distance within which a delivered clock is the requested one, in Hz, per axis (index into
  // Plan::axes): a clock nearer to another offered step was not delivered.
  std::map<int, double> tolerance;
  // What each axis was asked for at this point, in SI units.
  std::map<int, double> requested;
};

// Fills delivered values, energies, energy_j and the verdict of `trial`, whose child, settings and readings
// are there.
void judge(TrialRecord& trial, const JudgeInput& input);

// The tolerance for one value of an axis: half the gap to the nearest offered neighbour, or one step of a
// continuous range.
double delivered_tolerance(const std::vector<double>& offered, bool continuous, double value);

}  // namespace dvfs_plan
