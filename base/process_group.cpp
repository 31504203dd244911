#include "base/process_group.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/process_tree.hpp"

namespace dvfs_plan {
ProcessGroup::ProcessGroup() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void ProcessGroup::use_control_group(const std::string& name) {
  auto all = ControlGroup::make(name);
  if (!all) return;
  auto trials = all->make_within("trial");
  if (!trials) return;
  all_.emplace(std::move(*all));
  control_group_.emplace(std::move(*trials));
}

std::optional<ControlGroup> ProcessGroup::make_beside(const std::string& name) const {
  return all_ ? all_->make_within(name) : std::nullopt;
}

bool ProcessGroup::is_own(pid_t pid) const {
  return own_.contains(pid) ||
         std::any_of(own_groups_.begin(), own_groups_.end(),
                     [&](const ControlGroup* group) { return group->holds(pid); }) ||
         std::any_of(own_marks_.begin(), own_marks_.end(),
                     [&](const std::string& mark) { return is_marked(pid, mark); });
}

// Ends and reaps everything that was orphaned to us: daemons that a workload left. False if one is left.
bool ProcessGroup::end_orphans(int& ended) const {
  bool all = true;
  for (const pid_t pid : children_of(::getpid())) {
    if (is_own(pid)) continue;
    // One that we may not end (the workload used sudo) must not hold the night up.
    if (::kill(pid, SIGKILL) != 0 && errno == EPERM) continue;
    if (::waitpid(pid, nullptr, WNOHANG) == pid) ++ended;
    all = false;  // it may have had children of its own, which come to us now
  }
  return all;
}

void ProcessGroup::entered(pid_t pid, int outside_because) {
  if (outside_because != 0) control_group_.reset();  // services may be in theirs all the same
  members_.insert(pid);
}

int ProcessGroup::left(pid_t pid) {
  members_.erase(pid);
  return members_.empty() ? end_rest() : 0;
}

void ProcessGroup::end_left_behind() {
  if (members_.empty()) end_rest();
}

int ProcessGroup::end_rest() {
  int ended = 0;
  // Of a millisecond: a fork bomb is cut short, not chased for ever, and who sits in the kernel must not hold
  // the night up.
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    // Both: what is in the group may have been adopted by others, and what came to us may have left the
    // group.
    const bool in_group = control_group_ && kill_control_group(*control_group_);
    if (end_orphans(ended) && !in_group) break;
    ::usleep(1000);
  }
  return ended;
}

}  // namespace dvfs_plan
