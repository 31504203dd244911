// Putting back what a run left that died without its guardian, and how an outcome is told to a client.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/guardian/policy.hpp"

namespace dvfs_plan {

// What a journal in the folder holds; nullopt: there is none. Throws Error of exit code 4, with the commands,
// unless all was put back; `discard` gives that up, and the journal is kept under another name. The folder's
// lock is held.
// `own_run`: of a run that goes on with another guardian, and knows what its settings were: a journal that is gone, or cannot be understood, is
// passed over (nullopt), if the record beside it is that run's.
std::optional<RestoreOutcome> put_back_left(StateFolder& folder, const Sysfs& sysfs, const Policy& policy,
                                            bool discard,
                                            const std::string& own_run = {});

// For who is bound by no policy: root himself, or a guardian without rights of its own. nvidia-smi is where the machine's policy says, else
// the first on PATH, as the run finds it.
Policy policy_of_unbound();

// nvidia-smi at the policy's place; the recorded tree's own below one. No library of a driver is loaded.
NvidiaDoors guardian_doors(const Policy& policy);

}  // namespace dvfs_plan
