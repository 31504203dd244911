// All processes that a trial runs, however many and however they leave their parents: what is ended together.
//
// While we live, what they leave behind comes to us (PR_SET_CHILD_SUBREAPER, prctl(2)); where a control group
// may be made (control_group.hpp) they are in it besides. When we are dead our guardian knows them by that
// group, else by the run's mark in their environment (DVFS_PLAN_RUN), which a process may take away.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

#include "base/control_group.hpp"
#include "base/end_processes.hpp"

namespace dvfs_plan {

class ProcessGroup {
 public:
  ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;

  // From now on its processes are in a control group of this name, where one may be made.
  void use_control_group(const std::string& name);
  // Its path; empty: there is none.
  std::string control_group() const { return control_group_ ? control_group_->path() : std::string{}; }
  // For spawn(); -1: none.
  int entrance() const { return control_group_ ? control_group_->entrance() : -1; }

  // Children of ours that are not of it: the guardian, meters.
  void own(pid_t pid) { own_.insert(pid); }
  void disown(pid_t pid) { own_.erase(pid); }
  // The same of daemons, which are not known yet: those whose environment holds this "NAME=value".
  void own_marked(const std::string& mark) { own_marks_.insert(mark); }
  void disown_marked(const std::string& mark) { own_marks_.erase(mark); }

  // A child of it was started; `outside_because`: errno of why it is not in the control group, which is then
  // given up.
  void entered(pid_t pid, int outside_because);
  // A child of it has ended and is reaped. With the last one all that it left behind is ended. Returns how
  // many processes that were.
  int left(pid_t pid);

 private:
  int end_rest();
  std::optional<ControlGroup> control_group_;
  std::set<pid_t> own_, members_;
  std::set<std::string> own_marks_;
};

}  // namespace dvfs_plan
