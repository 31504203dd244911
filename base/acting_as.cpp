#include "base/acting_as.hpp"

#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/error.hpp"

namespace dvfs_plan {

ActingAs::ActingAs(const std::optional<FileOwner>& owner)
    : change_(owner && ::geteuid() == 0 && owner->user != 0), group_(::getegid()) {
  if (change_ && (::setegid(owner->group) != 0 || ::seteuid(owner->user) != 0))
    throw Error(ExitCode::machine_refuses, system_error_text("become the invoking user", errno));
}

ActingAs::~ActingAs() {
  // Going on with half of root's rights would leave the machine's settings where they are.
  if (change_ && (::seteuid(0) != 0 || ::setegid(group_) != 0)) std::terminate();
}

}  // namespace dvfs_plan
