#include "orchestrator/guard/knob_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {
namespace {

// The guardian of a run that was just killed holds its locks until it has put everything back, which takes
// some tens of milliseconds: worth waiting for.
template <class Attempt>
bool soon(Attempt attempt) {
  constexpr std::chrono::milliseconds patience{2000}, pause{20};
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!attempt()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace

KnobGuard::KnobGuard(const std::string& state_folder, const Sysfs& sysfs, const std::string& experiment,
                     const Clock& clock, bool discard)
    : sysfs_(sysfs), clock_(clock), folder_(state_folder), experiment_(experiment) {
  take_machine();
  if (!soon([&] { return static_cast<bool>(lock_ = folder_.try_lock()); })) {
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("another sweep is running on this machine ({})", folder_.lock_holder()),
        "two sweeps would measure each other; wait for it, or look with: dvfs-plan status RESULT.sqlite");
  }
  folder_.describe_holder(
      lock_, fmt::format("pid {}, {}, since {}", ::getpid(), printable(experiment), clock.wall_time()));
  run_ = fmt::format("{}-{}", ::getpid(), clock.now());
  // Inherited by programs that set things for us, so that the guardian can end one that outlives us.
  ::setenv(run_variable, run_.c_str(), 1);
  if (const auto journal = read_journal(folder_)) put_back(*journal, discard);
}

// The lock above is this user's; another user's sweep would measure ours all the same. A name in the abstract
// socket space needs no file and goes with its holder.
void KnobGuard::take_machine() {
  if (!sysfs_.root().empty()) return;
  machine_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr std::string_view name("\0dvfs-plan one sweep a machine", 30);
  std::copy(name.begin(), name.end(), address.sun_path);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const bool taken_or_unknown = soon([&] {
    return ::bind(machine_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 ||
           errno != EADDRINUSE;
  });
  if (taken_or_unknown) return;
  const std::string holder = folder_.lock_holder();
  throw Error(
      ExitCode::machine_refuses,
      fmt::format("another sweep is running on this machine ({})",
                  holder.empty() ? "another user's" : holder),
      "two sweeps would measure each other; wait for it, or look with: dvfs-plan status RESULT.sqlite");
}

void KnobGuard::put_back(const Journal& journal, bool discard) {
  if (journal.sysfs_root != sysfs_.root()) {
    throw Error(
        ExitCode::not_restored,
        fmt::format("the journal in {} is of another machine tree ('{}')", folder_.path(),
                    journal.sysfs_root),
        fmt::format("dvfs-plan restore --state-folder {}{}", shell_quote(folder_.path()),
                    journal.sysfs_root.empty() ? "" : " --sysfs-root " + shell_quote(journal.sysfs_root)));
  }
  std::vector<SavedSetting> settings = journal.settings;
  SettingAccess access(sysfs_);
  // A clock lock does not outlive a reboot: one that is there now is its owner's.
  if (journal.boot_id != boot_id(sysfs_))
    std::erase_if(settings,
                  [&](const SavedSetting& setting) { return !access.at(setting.path).can_be_read(); });
  found_ = restore_settings(settings, sysfs_);
  // After a reboot a setting whose file is gone went with its driver: there is nothing to put back.
  if (journal.boot_id != boot_id(sysfs_)) {
    std::erase_if(found_->failures, [&](const RestoreOutcome::Failure& failure) {
      const bool gone = !access.at(failure.setting.path).exists();
      if (gone)
        found_->notes.push_back(failure.setting.path + " is gone since the reboot; it was not put back");
      return gone;
    });
  }
  if (!found_->complete() && discard) {
    folder_.write_durably("journal.discarded.json", *folder_.read("journal.json"));
    for (const auto& failure : found_->failures)
      found_->notes.push_back(failure.setting.path + " was given up; it reads '" + failure.found + "'");
    found_->failures.clear();
  }
  require_restored(*found_);
  remove_journal(folder_);
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
  settings_ = settings;
  write_journal(folder_, {experiment_, clock_.wall_time(), boot_id(sysfs_), sysfs_.root(), ::getpid(), run_,
                          settings_});
  armed_ = true;
  guardian_ = std::make_unique<Guardian>(folder_.path(), sysfs_.root(), lock_, machine_);
}

bool KnobGuard::keep_guardian() {
  if (!guardian_ || guardian_->alive()) return false;
  guardian_ = std::make_unique<Guardian>(folder_.path(), sysfs_.root(), lock_, machine_);
  traces_ = {};
  for (const auto& [path, texts] : applied_) {
    for (const std::string& text : texts) guardian_->intend(path, text);
  }
  return true;
}

void KnobGuard::note_traces(const WorkloadTraces& traces) {
  if (guardian_ && traces != traces_) guardian_->note_traces(traces_ = traces);
}

void KnobGuard::note_child(pid_t child) {
  if (guardian_) guardian_->note_child(child);
}

void KnobGuard::intend(const std::string& path, const std::string& text) {
  applied_[path].insert(text);
  if (guardian_) guardian_->intend(path, text);
}

void KnobGuard::withdraw(const std::string& path) {
  applied_.erase(path);
  if (guardian_) guardian_->withdraw(path);
}

RestoreOutcome KnobGuard::restore() {
  RestoreOutcome outcome = restore_settings(settings_, sysfs_, &applied_);
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
  std::string message =
      fmt::format("{} of {} settings could not be put back:", outcome.failures.size(),
                  outcome.failures.size() + static_cast<std::size_t>(outcome.restored + outcome.unchanged));
  for (const auto& failure : outcome.failures) {
    message += fmt::format("\n  {}: wanted '{}', found '{}'{}", failure.setting.path,
                           printable(failure.setting.value), printable(failure.found),
                           failure.problem.empty() ? "" : " (" + failure.problem + ")");
  }
  std::string commands =
      "these commands put them back, then `dvfs-plan restore` clears the journal (`restore --discard` gives "
      "them up):";
  for (const std::string& command : restore_commands(outcome)) commands += "\n  " + command;
  throw Error(ExitCode::not_restored, message, commands);
}

std::string boot_id(const Sysfs& sysfs) {
  return sysfs.text("/proc/sys/kernel/random/boot_id").value_or("unknown");
}

}  // namespace dvfs_plan
