// Putting saved settings back: the guardian's work at the end of each session, however it ended, and where a
// journal was left.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/guard/restore_outcome.hpp"
#include "orchestrator/settings/saved_setting.hpp"
#include "orchestrator/settings/setting_writer.hpp"

namespace dvfs_plan {

// The same text, or the same number in other digits: "300" was asked for and "300.00" is read.
bool same_setting(const std::string& a, const std::string& b);

// What is known of what was set: what somebody else set since is told, and not overwritten.
struct KnownApplied {
  const AppliedByUs* applied = nullptr;  // nullptr: nothing is known
  const std::set<std::string>* unsettled =
      nullptr;  // paths that may read anything by what was done there; nullptr: none
  // Told of each setting behind a program that has put it back: whoever is killed later need not have it in mind.
  std::function<void(const std::string& path)> is_back = {};
  // Paths whose reader has not shown what was set there last: that it says what was there before is no proof. nullptr: none.
  const std::set<std::string>* unshown = nullptr;
  // `applied` says of attribute files too what was set: so does the record on disk. One that is not there was never set by the run, or is back
  // since an earlier putting back, which failed elsewhere. Where nothing is on record what is overwritten is told of files too.
  bool files_too = false;
  // An earlier putting back failed of those in `applied`, which says what they read then: what a file reads otherwise is somebody else's.
  bool tried = false;
  bool knows(const std::string& path) const {
    return applied != nullptr && (unsettled == nullptr || !unsettled->contains(path));
  }
};

// Of a run that was cut off: what programs of the user's set. A daemon that one of them started may hold the value, and ends with the run: what
// is read, before it ends or afterwards, is no proof. `applied` nullptr: what was set is not known.
std::set<std::string> may_be_held_by_daemons(const std::vector<SavedSetting>& settings, SettingAccess& access,
                                             const AppliedByUs* applied);

// Each setting by itself: one that fails keeps no other from being put back. What fails is tried again
// after the rest, since an attribute may depend on another (a limit on its pair, a preference on the
// governor). Where it is not known what was set there (a journal of an earlier version, a setter that was killed half way) it is put
// back whatever it reads, and a note says over what. Attribute files come first: a board that does not answer must not keep the CPUs
// waiting. Programs of the user's come last, and what they changed by the way is put back once more.
RestoreOutcome restore_settings(const std::vector<SavedSetting>& settings, SettingAccess& access,
                                const KnownApplied& known = {});

}  // namespace dvfs_plan
