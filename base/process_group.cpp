#include "base/process_group.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/process_tree.hpp"

namespace dvfs_plan {
namespace {

// Ends and reaps everything that was orphaned to us: daemons that a workload left. False if one is left.
bool end_orphans(const std::set<pid_t>& own, const std::set<std::string>& marks, int& ended) {
  bool all = true;
  for (const pid_t pid : children_of(::getpid())) {
    if (own.contains(pid)) continue;
    if (std::any_of(marks.begin(), marks.end(),
                    [&](const std::string& mark) { return is_marked(pid, mark); }))
      continue;
    // One that we may not end (the workload used sudo) must not hold the night up.
    if (::kill(pid, SIGKILL) != 0 && errno == EPERM) continue;
    if (::waitpid(pid, nullptr, WNOHANG) == pid) ++ended;
    all = false;  // it may have had children of its own, which come to us now
  }
  return all;
}

}  // namespace

ProcessGroup::ProcessGroup() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void ProcessGroup::use_control_group(const std::string& name) {
  if (auto made = ControlGroup::make(name)) control_group_.emplace(std::move(*made));
}

void ProcessGroup::entered(pid_t pid, int outside_because) {
  if (outside_because != 0) control_group_.reset();
  members_.insert(pid);
}

int ProcessGroup::left(pid_t pid) {
  members_.erase(pid);
  return members_.empty() ? end_rest() : 0;
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
    if (end_orphans(own_, own_marks_, ended) && !in_group) break;
    ::usleep(1000);
  }
  return ended;
}

}  // namespace dvfs_plan
