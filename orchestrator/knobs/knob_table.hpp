// All knobs there are: each file of one declares its KnobKind. How to add one: CONTRIBUTING.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/registered.hpp"
#include "base/sysfs.hpp"
#include "orchestrator/knobs/core_threads.hpp"
#include "orchestrator/knobs/cpufreq_access.hpp"
#include "orchestrator/knobs/knob.hpp"
#include "orchestrator/machine/used_boards.hpp"

namespace dvfs_plan {

class NvidiaClocks;  // what the knobs of one NVIDIA board share (knobs/gpu/)

// What a knob is made from.
struct KnobRequest {
  std::string axis;    // whole name
  std::string target;  // what follows '@'; empty: the whole machine
  const Sysfs& sysfs;
  std::shared_ptr<CpufreqAccess> cpufreq;
  const OwnKnobs& own;  // what the experiment says of its own
  const UsedBoards& gpus;
  std::map<std::string, std::shared_ptr<NvidiaClocks>>& nvidia;  // by UUID
  std::shared_ptr<CoreThreads> threads;
  std::string by = {};  // who sets it, where that is not we: "slurm"
};

// The knob, or why this machine has none with the next step.
struct KnobFinding {
  std::string axis;
  std::unique_ptr<Knob> knob;
  std::string problem;
};

// A knob, as its file declares it.
struct KnobKind {
  std::string_view name;  // of its axis, "cpu.frequency"; ends in '.' for a family: "devfreq." NAME
  // Knobs are applied in ascending place, as setting one may reset those behind it: programs of the user's, which may choose a
  // mode of the whole machine, 5, a mode that we know 6, threads a core 8, governor 10, preference
  // 20, turbo 30, clocks of the CPUs 40 and of what is around them 50, 60, boards 65 (what chooses their limits and clocks) to 90, the experiment's
  // own files 100, CPUs of the workload 110.
  int place = 0;
  std::string_view what;  // it sets, and by what: for people
  // It sets the CPUs' clocks or what chooses them: what stands above all policies (intel_pstate/max_perf_pct)
  // changes it.
  bool of_cpu_clocks = false;
  KnobFinding (*find)(const KnobRequest&) = nullptr;
};
const KnobKind* kind_of_axis(const std::string& axis);  // nullptr: there is no such knob

KnobFinding find_knob(const KnobRequest& request);

// The knobs of an experiment's axes (`by`: who sets them, where that is not we), in the order in which they are applied.
std::vector<KnobFinding> find_knobs(const std::vector<std::string>& axes, const Sysfs& sysfs,
                                    const OwnKnobs& own, const UsedBoards& gpus = {},
                                    const std::map<std::string, std::string>& by = {});

// Every axis this machine could have, for doctor.
std::vector<std::string> candidate_axes(const Sysfs& sysfs);

// Every setting that these knobs may change, with its text now; one that two knobs name comes once, as the
// first one read it.
std::vector<SavedSetting> settings_of(const std::vector<KnobFinding>& knobs);

// The same before anything is set, for the guardian: of what programs of the user's read, with what they told when they were found. Where there are
// such programs, what they may take along too (settings/beside_setting.hpp): the files of the knobs that this machine has, but for those of boards,
// which take a second to be asked.
std::vector<SavedSetting> settings_to_arm(const std::vector<KnobFinding>& knobs, const Sysfs& sysfs);

// Of each axis, what would be asked for at each of these values: the guardian may be asked before a night.
struct AxisRequest {
  std::string axis;
  SettingText request;
};
std::vector<AxisRequest> requests_of(const std::vector<KnobFinding>& knobs,
                                     const std::map<std::string, std::vector<AxisValue>>& values);

// "1 GHz, 1.8 GHz", "1 GHz to 3 GHz": what it can be set to, for people.
std::string offers_text(const AxisOffer& offer);

MachineOffers offers_of(const std::vector<KnobFinding>& knobs);

}  // namespace dvfs_plan
