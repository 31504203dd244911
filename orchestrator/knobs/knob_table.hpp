// All knobs there are: one line each in the table of knob_table.cpp. How to add one: CONTRIBUTING.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "orchestrator/knobs/cpufreq_access.hpp"
#include "orchestrator/knobs/knob.hpp"
#include "orchestrator/used_boards.hpp"

namespace dvfs_plan {

class NvidiaClocks;  // what the knobs of one NVIDIA board share (knobs/gpu/)

// What a knob is made from.
struct KnobRequest {
  std::string axis;    // whole name
  std::string target;  // what follows '@'; empty: the whole machine
  const Sysfs& sysfs;
  std::shared_ptr<CpufreqAccess> cpufreq;
  const std::vector<SysfsKnobSpec>& sysfs_knobs;
  const UsedBoards& gpus;
  std::map<std::string, std::shared_ptr<NvidiaClocks>>& nvidia;  // by UUID
};

// The knob, or why this machine has none with the next step.
struct KnobFinding {
  std::string axis;
  std::unique_ptr<Knob> knob;
  std::string problem;
};

KnobFinding find_knob(const KnobRequest& request);

// The knobs of an experiment's axes, in the order in which they are applied: governor, preference, turbo,
// limits, then the rest (setting a governor may reset the others).
std::vector<KnobFinding> find_knobs(const std::vector<std::string>& axes, const Sysfs& sysfs,
                                    const std::vector<SysfsKnobSpec>& sysfs_knobs,
                                    const UsedBoards& gpus = {});

// Every axis this machine could have, for doctor.
std::vector<std::string> candidate_axes(const Sysfs& sysfs);

// Every setting that these knobs may change, with its text now; one that two knobs name comes once, as the
// first one read it.
std::vector<SavedSetting> settings_of(const std::vector<KnobFinding>& knobs);

MachineOffers offers_of(const std::vector<KnobFinding>& knobs);

}  // namespace dvfs_plan
