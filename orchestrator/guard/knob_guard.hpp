// KnobGuard: no setting is changed unless its former value is on disk, and none stays changed.
//
//   arm()      journal on disk, guardian running      -> from here on knobs may be set
//   restore()  settings put back, journal gone        -> on every orderly way out; the destructor does it too
//   a kill     the guardian does it
//   a power cut: the next start, or `dvfs-plan restore`, finds the journal
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/sysfs.hpp"
#include "orchestrator/guard/guardian.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/restore_settings.hpp"

namespace dvfs_plan {

class KnobGuard {
 public:
  // Takes the machine's lock; throws Error if another sweep holds it. Puts back what an earlier run left.
  // `discard` gives up what cannot be put back (the journal is kept under another name).
  KnobGuard(const std::string& state_folder, const Sysfs& sysfs, const std::string& experiment,
            const Clock& clock, bool discard = false);
  ~KnobGuard();
  KnobGuard(const KnobGuard&) = delete;

  // What was put back of an earlier run that died; nullopt if there was none.
  const std::optional<RestoreOutcome>& found_journal() const { return found_; }
  const std::string& run() const { return run_; }  // value of DVFS_PLAN_RUN for the workload
  pid_t guardian_pid() const { return guardian_ ? guardian_->pid() : -1; }

  void arm(const std::vector<SavedSetting>& settings);
  // Starts the guardian anew if somebody ended it. True if that was needed.
  bool keep_guardian();
  // Before a workload is started, whose traces these are.
  void note_traces(const WorkloadTraces& traces);
  void note_child(pid_t child);  // 0: none is running
  // What is about to be written, and what then reads back: from here on such a value there is ours, and a
  // lock there is to be reset.
  void intend(const std::string& path, const std::string& text);
  // The write was refused with nothing changed, and nothing was before it.
  void withdraw(const std::string& path);
  RestoreOutcome restore();

 private:
  void take_machine();
  void put_back(const Journal& journal, bool discard);

  const Sysfs& sysfs_;
  const Clock& clock_;
  StateFolder folder_;
  UniqueFd lock_, machine_;
  std::string experiment_, run_;
  std::optional<RestoreOutcome> found_;
  std::vector<SavedSetting> settings_;
  AppliedByUs applied_;
  std::unique_ptr<Guardian> guardian_;
  bool armed_ = false;
  WorkloadTraces traces_;  // as the guardian knows them
};

// Throws the Error of exit code 4, with the commands, unless all was put back.
void require_restored(const RestoreOutcome& outcome);

std::string boot_id(const Sysfs& sysfs);

}  // namespace dvfs_plan
