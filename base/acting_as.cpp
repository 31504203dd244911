#include "base/acting_as.hpp"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/error.hpp"

namespace dvfs_plan {

ActingAs::ActingAs(const std::optional<FileOwner>& owner)
    : change_(owner && ::geteuid() == 0 && owner->user != 0), group_(::getegid()) {
  if (!change_) return;
  groups_.resize(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  if (::getgroups(static_cast<int>(groups_.size()), groups_.data()) < 0) groups_.clear();
  std::vector<gid_t> theirs = owner->groups;
  if (theirs.empty()) theirs = {owner->group};
  if (::setgroups(theirs.size(), theirs.data()) == 0 && ::setegid(owner->group) == 0 &&
      ::seteuid(owner->user) == 0)
    return;
  const int error = errno;
  if (!become_root_again()) std::terminate();
  throw Error(ExitCode::machine_refuses, system_error_text("become the invoking user", error));
}

bool ActingAs::become_root_again() const {
  return ::seteuid(0) == 0 && ::setegid(group_) == 0 && ::setgroups(groups_.size(), groups_.data()) == 0;
}

ActingAs::~ActingAs() {
  // Going on with half of root's rights would leave the machine's settings where they are.
  if (change_ && !become_root_again()) std::terminate();
}

}  // namespace dvfs_plan
