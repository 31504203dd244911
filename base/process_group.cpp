#include "base/process_group.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/process_tree.hpp"
#include "base/sysfs.hpp"

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

void ProcessGroup::has_only_marked(const std::string& run) {
  if (limits_are_shown() && marked_limit(run)) run_ = run;
}

bool ProcessGroup::is_of_us(pid_t orphan) const {
  if (started_at_tick(orphan).value_or(began_) < began_)
    return false;  // a service's, that took its marks away
  return may_be_of_the_run(orphan) || (control_group_ && control_group_->holds(orphan));
}

bool ProcessGroup::may_be_of_the_run(pid_t pid) const {
  return !run_ || is_limited(pid, *run_) || is_marked(pid, std::string(run_variable) + "=" + *run_);
}

// Ends and reaps what was orphaned to us and is of it: daemons that a workload left. False if one is left.
bool ProcessGroup::end_orphans(Left& left) {
  bool all = true;
  for (const pid_t pid : children_of(::getpid())) {
    if (is_own(pid)) continue;
    // One that had ended by itself was left by nobody; what it used is the trial's all the same.
    const bool ours = is_of_us(pid);
    rusage usage{};
    if (::wait4(pid, nullptr, WNOHANG, &usage) == pid) {
      if (ours) {
        left.use.add(cpu_use_of(usage));
      }
      all = false;  // it may have had children of its own, which come to us now
      continue;
    }
    if (!ours) continue;
    // One that we may not end (the workload used sudo) must not hold the night up.
    if (::kill(pid, SIGKILL) != 0 && errno == EPERM) continue;
    ended_.insert(pid);
    all = false;
  }
  return all;
}

void ProcessGroup::begins() {
  if (!members_.empty()) return;
  began_ = current_tick();
  used_ = {};
  // What may not be ended (a program that changed its user), or was about to end, may be in it still.
  used_before_ = control_group_ && control_group_->empty() ? control_group_->use() : std::nullopt;
}

void ProcessGroup::entered(pid_t pid, int outside_because) {
  if (outside_because != 0) control_group_.reset();  // services may be in theirs all the same
  members_.insert(pid);
}

ProcessGroup::Left ProcessGroup::left(pid_t pid, const CpuUse& used, const std::set<pid_t>& ended,
                                      const std::set<pid_t>& not_left) {
  members_.erase(pid);
  used_.add(used);
  ended_.insert(ended.begin(), ended.end());
  not_left_.insert(not_left.begin(), not_left.end());
  return members_.empty() ? end_rest() : Left{};
}

void ProcessGroup::end_left_behind(std::int64_t since) {
  began_ = std::min(began_, since);
  if (members_.empty()) end_rest();
}

// wait4(2) tells nothing of a child whose parent was not told of its end either.
CpuUse ProcessGroup::not_waited_for(const CpuUse& of_orphans) const {
  const auto now = control_group_ && used_before_ ? control_group_->use() : std::nullopt;
  if (!now) return {};
  const double told = (used_.user + used_.system + of_orphans.user + of_orphans.system).value();
  const double rest = std::max(0.0, (now->all - used_before_->all).value() - told);
  // The kernel shares a time out between the two from ticks, of each process and of the group apart: their sums agree.
  const double user =
      std::clamp((now->user - used_before_->user - used_.user - of_orphans.user).value(), 0.0, rest);
  return {Seconds{user}, Seconds{rest - user}};
}

ProcessGroup::Left ProcessGroup::end_rest() {
  Left left;
  // Of a millisecond: a fork bomb is cut short, not chased for ever, and who sits in the kernel must not hold
  // the night up.
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    // Both: what is in the group may have been adopted by others, and what came to us may have left the
    // group.
    bool in_group = false;
    if (control_group_ && !control_group_->empty()) {
      for (const pid_t pid : control_group_->processes()) ended_.insert(pid);
      in_group = kill_control_group(*control_group_);
    }
    if (end_orphans(left) && !in_group) break;
    ::usleep(1000);
  }
  left.use.add(not_waited_for(left.use));
  for (const pid_t pid : not_left_) ended_.erase(pid);
  left.processes = static_cast<int>(ended_.size());
  ended_.clear();
  not_left_.clear();
  return left;
}

}  // namespace dvfs_plan
