// What is said of each of those that ran at once in a trial, and of the time in which all of them ran. Pure.
#pragma once

#include <vector>

#include "results/trial/regions.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// The stretches in which all that ran at once were in what counts of theirs: of each start of all of them together, the part that
// is in each one's own stretches. Empty where one ran alone.
std::vector<Span> all_running(const TrialRecord& trial, const Regions& regions);

// Fills what counts of each of `trial.instances`, its units of work (the sum of the metric `per`; none where that is empty) and
// `trial.all_running_s`.
void judge_instances(TrialRecord& trial, const Regions& regions, const std::string& per);

}  // namespace dvfs_plan
