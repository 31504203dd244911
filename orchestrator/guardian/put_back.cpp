#include "orchestrator/guardian/put_back.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/applied_record.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/state_places.hpp"
#include "orchestrator/guardian/applied_on_disk.hpp"
#include "orchestrator/guardian/end_workload.hpp"
#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {
namespace {

void refuse_another_tree(const StateFolder& folder, const Journal& journal) {
  throw Error(
      ExitCode::not_restored,
      fmt::format("the journal in {} is of another machine tree ('{}')", folder.path(), journal.sysfs_root),
      fmt::format("dvfs-plan restore --state-folder {}{}", shell_quote(folder.path()),
                  journal.sysfs_root.empty() ? "" : " --sysfs-root " + shell_quote(journal.sysfs_root)));
}

[[noreturn]] void refuse_lost_journal(const StateFolder& folder, const SessionRecord& record) {
  throw Error(
      ExitCode::not_restored,
      fmt::format("{} changed up to {} settings since {} and was cut off, and its journal {}/journal is "
                  "gone, and its "
                  "copy too: what they were before is not known",
                  record.experiment, record.settings, record.since, folder.path()),
      fmt::format("put them back by hand, or restart the machine; then: dvfs-plan restore --discard{}",
                  state_folder_option(folder.path())));
}

// Unless the run is alive, and only its guardian is not. False: a process does not end. What was killed goes only when the kernel has given back its
// memory: seconds, where it had much or the machine is busy.
bool end_what_it_left(const SessionRecord& record) {
  constexpr int rounds = 2000;  // 5 ms apart
  if (record.run.empty() || is_alive(record.pid, record.started)) return true;
  return end_workload(
      {.run = record.run, .region_folder = record.region_folder, .control_group = record.control_group},
      record.user, rounds);
}

// What programs of the user's set may be held by a daemon that is ended with what the run left: what is read behind that is the run's doing.
class ReadBefore {
 public:
  ReadBefore(const std::vector<SavedSetting>& settings, SettingAccess& access, AppliedRecord* record)
      : access_(access), record_(record) {
    if (record_ == nullptr) return;
    for (const SavedSetting& setting : settings) {
      if (!access_.at(setting.path).is_command()) continue;
      const auto now = access_.at(setting.path).read().text;
      if (now && record_->applied[setting.path].contains(*now)) ours_.emplace(setting.path, *now);
    }
  }

  void note_what_changed() {
    for (const auto& [path, before] : ours_) {
      if (const auto now = access_.at(path).read().text) record_->applied[path].insert(*now);
    }
  }

 private:
  SettingAccess& access_;
  AppliedRecord* record_;
  std::map<std::string, std::string> ours_;
};

// A program of the user's that is killed half way leaves anything: whoever comes next has to know, and what is overwritten until then is to be told
// by him.
void note_begin(StateFolder& folder, AppliedRecord& record, const std::vector<SavedSetting>& settings,
                SettingAccess& access, AppliedOnDisk& on_disk) {
  const bool by_programs = std::any_of(settings.begin(), settings.end(), [&](const SavedSetting& setting) {
    return !access.at(setting.path).is_file();
  });
  on_disk.take(record);
  if (!by_programs) return;
  std::set<std::string> unsettled;
  for (const SavedSetting& setting : settings) unsettled.insert(setting.path);
  AppliedByUs overwritten = record.overwritten;
  for (const SavedSetting& setting : settings) {
    if (!record.unsettled.contains(setting.path) || !access.at(setting.path).may_be_contested()) continue;
    const auto now = access.at(setting.path).read().text;
    const auto ours = record.applied.find(setting.path);
    if (now && !same_setting(*now, setting.value) &&
        (ours == record.applied.end() || !ours->second.contains(*now)))
      overwritten[setting.path].insert(*now);
  }
  on_disk.note(folder, record.run, record.applied, std::move(unsettled), std::move(overwritten),
               record.unshown);
}

// By whoever was killed before he could say so.
void tell_what_was_overwritten(const AppliedRecord& record, RestoreOutcome& outcome) {
  for (const auto& [path, values] : record.overwritten) {
    for (const std::string& value : values)
      outcome.notes.push_back(
          fmt::format("{} read '{}' before an earlier putting back, which was killed: that the run had set "
                      "this is not on record; if "
                      "somebody else did, it is to be set again",
                      shown_setting(path), printable(value)));
  }
}

// Of a run that goes on, nothing of which is set any more. On a full disk there is none until the run says it again.
void keep_for_its_workload(StateFolder& folder, SessionRecord record) {
  record.settings = 0;
  try {
    write_session_record(folder, record);
  } catch (const Error&) {
    remove_session_record(folder);
  }
}

constexpr const char* usual_nvidia_smi = "/usr/bin/nvidia-smi";
constexpr const char* does_not_end =
    "a process that the run left does not end: it may disturb what is measured now";

}  // namespace

Policy policy_of_unbound() {
  Policy policy;
  try {
    policy.nvidia_smi = Policy::load().nvidia_smi;
  } catch (const Error&) {
    // A file that cannot be understood binds others.
  }
  if (policy.nvidia_smi) return policy;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string place = folder + "/nvidia-smi";
    if (!folder.starts_with('/') || ::access(place.c_str(), X_OK) != 0) continue;
    policy.nvidia_smi = place;
    break;
  }
  return policy;
}

NvidiaDoors guardian_doors(const Policy& policy) {
  return {[program =
               policy.nvidia_smi.value_or(usual_nvidia_smi)](const Sysfs& sysfs) -> std::optional<NvidiaSmi> {
    const std::string place = sysfs.root().empty() ? program : sysfs.real_path(usual_nvidia_smi);
    if (::access(place.c_str(), X_OK) != 0) return std::nullopt;
    return NvidiaSmi::at(place);
  }};
}

std::optional<RestoreOutcome> put_back_left(StateFolder& folder, const Sysfs& sysfs, const Policy& policy,
                                            bool discard, const std::string& own_run) {
  const auto record = read_session_record(folder);
  // The run lives, and tells what its settings were; what is on disk of them was lost.
  const bool goes_on = record && !own_run.empty() && record->run == own_run;
  std::optional<Journal> journal;
  try {
    journal = read_journal(folder);
  } catch (const Error& unreadable) {
    if (!discard && !goes_on) throw;
    const std::string kept = set_journal_aside(folder);
    if (goes_on) return std::nullopt;
    RestoreOutcome outcome;
    outcome.notes.push_back(fmt::format("{}; it is kept as {}", unreadable.what(), kept));
    if (record) remove_session_record(folder);
    return outcome;
  }
  if (journal && journal->sysfs_root != sysfs.root()) refuse_another_tree(folder, *journal);
  const bool rebooted = journal && journal->boot_id != boot_id(sysfs);
  auto ours = journal && !rebooted ? read_applied_record(folder, journal->run) : std::nullopt;
  SettingAccess access(sysfs, guardian_doors(policy));
  ReadBefore before(journal ? journal->settings : std::vector<SavedSetting>{}, access,
                    ours ? &*ours : nullptr);
  // What it left running might set something yet, or be measured with the next one.
  bool alone = !record || record->boot_id != boot_id(sysfs) || end_what_it_left(*record);
  if (!journal) {
    if (!record && session_record_is_damaged(folder)) {
      if (!discard && own_run.empty())
        throw Error(
            ExitCode::not_restored,
            fmt::format(
                "{}/session cannot be understood, and there is no journal: whether the last sweep left "
                "something set is not known",
                folder.path()),
            "look at what it set; then `dvfs-plan restore --discard`");
      remove_session_record(folder);
    }
    if (record && record->boot_id == boot_id(sysfs) && record->settings > 0 && !discard && !goes_on)
      refuse_lost_journal(folder, *record);
    // Else whoever comes next tries again; of a run that goes on it is by this that its workload is found, should it be killed now.
    if (record && alone && !goes_on) remove_session_record(folder);
    if (alone) return std::nullopt;
    RestoreOutcome outcome;
    outcome.notes.emplace_back(does_not_end);
    return outcome;
  }
  if (!record && !rebooted)
    alone = end_what_it_left(
        {{}, {}, {}, journal->pid, journal->user, journal->run, {}, {}, 0, journal->started});
  before.note_what_changed();
  std::vector<SavedSetting> settings = journal->settings;
  // A clock lock does not outlive a reboot, nor does what a program took along: what is there now is its owner's.
  if (rebooted)
    std::erase_if(settings, [&](const SavedSetting& setting) {
      const Setting& where = access.at(setting.path);
      return !where.can_be_read() || where.only_where_taken_along();
    });
  AppliedOnDisk on_disk;
  if (ours) note_begin(folder, *ours, settings, access, on_disk);
  const auto note_back = [&](const std::string& path) { on_disk.note_back(folder, path); };
  KnownApplied known;
  std::set<std::string> unshown;
  if (ours) {
    known = {&ours->applied, &ours->unsettled, note_back};
    unshown = ours->unshown;
    known.tried = ours->tried;
  }
  if (!rebooted) unshown.merge(may_be_held_by_daemons(settings, access, ours ? &ours->applied : nullptr));
  known.unshown = &unshown;
  known.files_too = !rebooted;
  RestoreOutcome outcome = restore_settings(settings, access, known);
  if (ours) tell_what_was_overwritten(*ours, outcome);
  if (!outcome.complete()) on_disk.note_failures(folder, journal->run, outcome);
  // After a reboot a setting whose file is gone went with its driver: there is nothing to put back.
  if (rebooted) {
    std::erase_if(outcome.failures, [&](const RestoreOutcome::Failure& failure) {
      const bool gone = !access.at(failure.setting.path).exists();
      if (gone)
        outcome.notes.push_back(failure.setting.path + " is gone since the reboot; it was not put back");
      return gone;
    });
  }
  if (!alone) outcome.notes.emplace_back(does_not_end);
  if (!outcome.complete() && discard) {
    const std::string kept = set_journal_aside(folder);
    for (const auto& failure : outcome.failures) {
      RestoreOutcome one;
      one.failures = {failure};
      outcome.notes.push_back(fmt::format("given up: {}; this puts it back:  {}", failure_text(failure),
                                          join(restore_commands(one), " && ")));
    }
    outcome.notes.push_back(fmt::format("what was to be put back is kept in {}/{}", folder.path(), kept));
    outcome.failures.clear();
    remove_session_record(folder);
    return outcome;
  }
  require_restored(outcome);
  // First: one that tells of settings, without its journal, says that what they were is lost. A run that goes on is found by it.
  if (goes_on)
    keep_for_its_workload(folder, *record);
  else
    remove_session_record(folder);
  remove_journal(folder);
  return outcome;
}

}  // namespace dvfs_plan
