#include "orchestrator/guard/knob_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {

KnobGuard::KnobGuard(const std::string& state_folder, const Sysfs& sysfs, const std::string& experiment, const Clock& clock)
    : sysfs_(sysfs), clock_(clock), folder_(state_folder), experiment_(experiment) {
  lock_ = folder_.try_lock();
  if (!lock_) {
    throw Error(ExitCode::machine_refuses, fmt::format("another sweep is running on this machine ({})", folder_.lock_holder()),
                "two sweeps would measure each other; wait for it, or look with: dvfs-plan status RESULT.sqlite");
  }
  folder_.describe_holder(lock_, fmt::format("pid {}, {}, since {}", ::getpid(), printable(experiment), clock.wall_time()));
  run_ = fmt::format("{}-{}", ::getpid(), clock.now());
  if (const auto journal = read_journal(folder_)) {
    found_ = restore_settings(journal->settings, sysfs_);
    require_restored(*found_);
    remove_journal(folder_);
  }
}

KnobGuard::~KnobGuard() {
  if (!armed_) return;
  try {
    restore();
  } catch (const std::exception&) {
    // The journal stays, and the guardian, seeing the pipe close without "done", tries as well.
  }
}

void KnobGuard::arm(const std::vector<SavedSetting>& settings) {
  for (const SavedSetting& setting : settings) {
    // Two knobs may name one file: its former value is the first one read.
    const bool known = std::any_of(settings_.begin(), settings_.end(), [&](const SavedSetting& s) { return s.path == setting.path; });
    if (!known) settings_.push_back(setting);
  }
  write_journal(folder_, {experiment_, clock_.wall_time(), boot_id(sysfs_), ::getpid(), run_, settings_});
  armed_ = true;
  guardian_ = std::make_unique<Guardian>(folder_.path(), sysfs_.root(), lock_);
}

bool KnobGuard::keep_guardian() {
  if (!guardian_ || guardian_->alive()) return false;
  guardian_ = std::make_unique<Guardian>(folder_.path(), sysfs_.root(), lock_);
  return true;
}

void KnobGuard::note_child(pid_t child) {
  if (guardian_) guardian_->note_child(child);
}

RestoreOutcome KnobGuard::restore() {
  RestoreOutcome outcome = restore_settings(settings_, sysfs_);
  if (outcome.complete()) {
    remove_journal(folder_);
    armed_ = false;
  }
  // What could not be put back here the guardian would not manage either; the journal stays for `restore`.
  if (guardian_) guardian_->dismiss();
  guardian_.reset();
  return outcome;
}

void require_restored(const RestoreOutcome& outcome) {
  if (outcome.complete()) return;
  std::string message = fmt::format("{} of {} settings could not be put back:", outcome.failures.size(),
                                    outcome.failures.size() + static_cast<std::size_t>(outcome.restored + outcome.unchanged));
  for (const auto& failure : outcome.failures) {
    message += fmt::format("\n  {}: wanted '{}', found '{}'{}", failure.setting.path, printable(failure.setting.value), printable(failure.found),
                           failure.problem.empty() ? "" : " (" + failure.problem + ")");
  }
  std::string commands = "these commands put them back, then `dvfs-plan restore` clears the journal:";
  for (const std::string& command : restore_commands(outcome)) commands += "\n  " + command;
  throw Error(ExitCode::not_restored, message, commands);
}

std::string boot_id(const Sysfs& sysfs) { return sysfs.text("/proc/sys/kernel/random/boot_id").value_or("unknown"); }

}  // namespace dvfs_plan
