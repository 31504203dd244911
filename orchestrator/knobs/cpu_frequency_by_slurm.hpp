// The CPUs' clock as Slurm sets it for a job step (srun(1), --cpu-freq): for clusters on which a user may set nothing himself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orchestrator/knobs/cpufreq_access.hpp"
#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {

// Within a job: a step that does nothing holds the clock, with the limits of all of the job's CPUs at one value, and Slurm puts back
// what was before when the step ends. What came of it is read back from the policies all the same.
KnobFinding cpu_frequency_by_slurm(const KnobRequest& request, std::vector<CpufreqPolicy> policies,
                                   AxisOffer offer);

// "NAME=value" in the environment of that step: its processes are no workload's.
std::string clock_holder_mark();

}  // namespace dvfs_plan
