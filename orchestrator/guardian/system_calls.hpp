// From here on this process, and what it forks, may ask the kernel for no more than a session needs
// (seccomp(2)): it can run no program, load nothing, change no mount, owner or mode. What is not allowed
// fails with EPERM; it does not end the one process that can put the machine back.
#pragma once

namespace dvfs_plan {

// False where the kernel has no seccomp filter, or under a sanitizer, whose own calls are not ours to list.
bool allow_only_needed_calls();

}  // namespace dvfs_plan
