// What the CPU knobs share: which policies an axis means, what to save of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orchestrator/knobs/core_threads.hpp"
#include "orchestrator/knobs/cpufreq_access.hpp"
#include "orchestrator/knobs/knob.hpp"

namespace dvfs_plan {

struct PolicyChoice {
  std::vector<CpufreqPolicy> policies;
  std::string problem;  // set instead, with the next step
};

// `target`: "" for the whole machine, "policy3", a CPU list "0-3,8", "P-cores" or "E-cores" on a hybrid
// machine. Naming one SMT sibling whose other thread has a policy of its own is refused: the core runs at
// the higher of the two requests.
PolicyChoice choose_policies(const std::string& target, const Sysfs& sysfs, const CpufreqAccess& cpufreq);

// Of these, those that cpu.smt has not taken away.
std::vector<CpufreqPolicy> policies_there(const std::vector<CpufreqPolicy>& policies,
                                          const CoreThreads& threads);

// Tunables of the governors that are in force (settings/attribute_setting.hpp): what makes the last policy leave a governor, or
// takes the policy away, loses them.
std::vector<SavedSetting> snapshot_tunables(const std::string& axis,
                                            const std::vector<CpufreqPolicy>& policies, const Sysfs& sysfs);

// Files of the policies that any CPU knob may change, itself or by side effect (setting a governor may
// reset no_turbo and the preference), in the order to put them back: governor, turbo, limits, the rest. With the
// tunables: whoever changes the governor meanwhile loses them, and it is put back.
std::vector<SavedSetting> snapshot_policies(const std::string& axis,
                                            const std::vector<CpufreqPolicy>& policies, const Sysfs& sysfs);

// Files that switch turbo or boost: intel_pstate/no_turbo (inverted), cpufreq/boost, policyN/boost.
struct TurboFile {
  std::string target;  // "machine" or "policy0"
  std::string path;
  bool inverted = false;
  std::vector<int> cpus = {};  // of a policy's own
};
std::vector<TurboFile> turbo_files(const std::vector<CpufreqPolicy>& policies, const Sysfs& sysfs);

// Reads `path` now; appends it to `saved` if there is something to put back.
void save_attribute(const std::string& knob, const std::string& path, const Sysfs& sysfs,
                    std::vector<SavedSetting>& saved);

// The same for a setting that must not be changed unless it is on record: throws Error if it cannot be read.
void save_or_refuse(const std::string& knob, const std::string& path, const Sysfs& sysfs,
                    std::vector<SavedSetting>& saved);

// How long a setting that was written may take to be read back.
inline constexpr int read_back_patience_ms = 200;

// A min/max pair of attribute files in their own unit, in an order that never crosses what they are now.
std::vector<SettingText> limit_requests(const Sysfs& sysfs, const std::string& min_file,
                                        const std::string& max_file, long value);

// Why the first of these was not taken that was not; empty: all were.
std::string first_problem(std::span<const WriteAnswer> answers);

// What a pair of limits reads once both are `value`, or when patience is over.
struct LimitsRead {
  std::optional<double> min, max;
};
LimitsRead read_limits_back(const Sysfs& sysfs, const std::string& min_file, const std::string& max_file,
                            long value);

// A clock as both limits of a policy, whoever sets them.
long khz_of(const AxisValue& value);
std::string clock_text(long khz);
std::vector<std::string> limit_files(const std::vector<CpufreqPolicy>& policies);
// What was asked for and what the limits read; `problem` only where they could not be read.
AppliedSetting clock_setting(const std::string& axis, const CpufreqPolicy& policy, const AxisValue& value,
                             const LimitsRead& read);
bool holds_clock(const LimitsRead& read, long khz);

}  // namespace dvfs_plan
