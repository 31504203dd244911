// One session: a run's connection, from its first message to its end, however it ends. It takes the machine,
// puts back what an earlier run left, saves what is to be changed (durably, before the first write), sets
// what it is asked for as far as the policy goes, and puts everything back.
//
// the client says                                       the guardian answers
// hello VERSION EXPERIMENT RUN wait|now|look|beside [discard]  queued PLACE HOLDER (any number), then
//                                                       welcome RESTORED? NOTE NEXT_STEP OUTCOME..., or refused CODE TEXT HINT
// who                                                   who USER PID EXPERIMENT SINCE UNTIL, or who (nobody has the machine)
// arm (KNOB PATH)...                                    armed, or refused CODE TEXT HINT
// may (PATH TEXT)...                                    may (REFUSAL kernel|policy or empty)...
// set (PATH TEXT)...                                    set (PROBLEM untouched? unsupported? READ? READS)...
// open PATH                                             opened PROBLEM, with a descriptor where there is none
// event TYPE CONFIG CPU                                 the same
// child PID, traces REGIONS GROUP, until TIME           nothing
// restore                                               restored OUTCOME...
// pong                                                  nothing; the guardian says ping
//
// beside: another guardian has given this run the machine; this one sets what is set by programs of the user's, with his rights.
//
// OUTCOME: COUNT UNCHANGED NOTES NOTE... (KNOB PATH VALUE FOUND PROBLEM)...  (guard/restore_settings.hpp)
#pragma once

#include <optional>
#include <string>

#include "base/sysfs.hpp"
#include "orchestrator/guard/connection.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guardian/machine_lock.hpp"
#include "orchestrator/guardian/policy.hpp"
#include "orchestrator/settings/setting_writer.hpp"

namespace dvfs_plan {

struct GuardianOptions {
  std::string state_folder = "/var/lib/dvfs-plan";
  std::string sysfs_root = {};  // of a recorded tree; only where it has no rights that its client has not
  std::optional<Seconds> stalled_after = {};  // the policy's where it is not given
};

// Serves one client to its end. The exit code of the process.
int serve(Connection connection, const Client& client, const GuardianOptions& options);

// Puts back what a dead run left; nothing where another session holds the machine. For the boot, and behind a
// session that was killed.
int restore_now(const GuardianOptions& options);

}  // namespace dvfs_plan
