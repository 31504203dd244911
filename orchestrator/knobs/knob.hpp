// A knob: something on the machine that can be set, read back and restored.
//
// How one is put back does not depend on the knob: its snapshot is a list of settings with their former
// text (settings/setting_access.hpp), so that the guardian, which outlives a killed run, needs no knob at
// all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/plan.hpp"
#include "orchestrator/settings/saved_setting.hpp"
#include "orchestrator/settings/setting_writer.hpp"

namespace dvfs_plan {

// What one target of a knob was asked for and what it said when read back.
struct AppliedSetting {
  std::string target;  // "policy0", "machine", "workload"
  std::string requested;
  std::optional<std::string> applied;     // nullopt if it could not be read back
  std::string problem;                    // empty if applied is what was requested
  std::optional<Watts> power_limit = {};  // of a board or package, as read back, where that is what it sets
  std::string note = {};                  // somebody else had changed it since we did
  // Where the value now stands and what was read back there, where it can be read: still so when the trial
  // begins?
  std::vector<SavedSetting> stands = {};
};

class Knob {
 public:
  virtual ~Knob() = default;
  virtual const std::string& axis() const = 0;  // "cpu.frequency@policy0"
  // What it can be set to on this machine.
  virtual AxisOffer offer() const = 0;
  // The settings it may change, itself or by side effect, with their text now, in the order in which they are
  // to be put back.
  virtual std::vector<SavedSetting> snapshot() const = 0;
  // Of a setting that a program of the user's reads: what that told when the knob was found. Until something is set it is to tell the same.
  virtual std::optional<std::string> read_at_first() const { return std::nullopt; }
  // Where apply() puts the axis's value (paths as in snapshot()): no two axes may write to the same place.
  virtual std::vector<std::string> writes() const = 0;
  // What apply() will ask for: the guardian is asked before a night whether it may be.
  virtual std::vector<SettingText> requests(const AxisValue& value) const = 0;
  // Sets it everywhere it applies and reads back. Reports problems, does not throw them.
  virtual std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) = 0;
  // Somebody else changed one of its settings during a trial, which has been told of.
  virtual void changed_by_others() {}
  // Whether its setting cannot be read back, so that the delivered clock alone shows that it is in force.
  virtual bool shown_by_clock_only() const { return false; }
  // Which clock of a target tells whether this knob's was delivered ("core_clock"); empty: its only one.
  virtual std::string clock_quantity() const { return {}; }
  // Boards step their clocks finely: delivered means within one step. CPUs: within half a step.
  virtual bool whole_steps() const { return false; }
  // Values of this axis that go with those of another; none: all do.
  virtual std::optional<AllowedPairs> allowed_pairs() const { return std::nullopt; }
  // For cpu.cores: the CPUs the workload gets at this value; empty for knobs of the machine.
  virtual std::vector<int> workload_cpus(const AxisValue&) const { return {}; }
};

}  // namespace dvfs_plan
