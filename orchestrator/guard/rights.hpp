// Who keeps root's rights where the program is called through sudo: dvfs-guardian, which the first process
// becomes; the run goes on in a child as the invoking user, who has none of them, before it reads anything of
// that user's.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

// dvfs-guardian, beside this program or in ../sbin. Throws Error if there is none.
std::string guardian_program();

// Under sudo (base/invoking_user.hpp): returns in the child, as the invoking user; the first process stands
// by and ends as the child does. Otherwise does nothing. `has_terminal`: it stays in the process group of the
// terminal, which it or its child reads; else it has one of its own.
void leave_rights_to_guardian(bool has_terminal);

bool is_stood_by_root();
// A session of the guardian that stands by this run; empty: it has gone.
UniqueFd session_of_stand_by();

}  // namespace dvfs_plan
