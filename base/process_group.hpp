// All processes that a trial runs, however many and however they leave their parents: what is ended together.
//
// While we live, what they leave behind comes to us (PR_SET_CHILD_SUBREAPER, prctl(2)); where a control group
// may be made (control_group.hpp) they are in it besides. When we are dead our guardian knows them by that
// group, else by the run's mark in their environment (DVFS_PLAN_RUN), which a process may take away.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "base/control_group.hpp"
#include "base/end_processes.hpp"
#include "base/process_tree.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

class ProcessGroup {
 public:
  ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;

  // From now on its processes are in a control group of this name, where one may be made.
  void use_control_group(const std::string& name);
  // The path of the run's; empty: there is none.
  std::string control_group() const { return all_ ? all_->path() : std::string{}; }
  // A group beside that of the trials', for what outlives them; nullopt: none can be made. It must not outlive us.
  std::optional<ControlGroup> make_beside(const std::string& name) const;
  bool is_own(pid_t pid) const;
  // All that it starts carries this run's marks (end_processes.hpp): of orphans that come to us, those that carry none are
  // somebody else's: those of whoever became us by execve(2), or all of a container's where we are its process 1.
  // Without effect where a process could take all marks away: where no limit can be a mark.
  void has_only_marked(const std::string& run);

  // A child of it is about to be started: with the first one it begins, and what is older is none of it.
  void begins();
  // For spawn(); -1: none.
  int entrance() const { return control_group_ ? control_group_->entrance() : -1; }

  // Children of ours that are not of it: the guardian, meters.
  void own(pid_t pid) { own_.insert(pid); }
  void disown(pid_t pid) { own_.erase(pid); }
  // The same of daemons, which are not known yet: those whose environment holds this "NAME=value".
  void own_marked(const std::string& mark) { own_marks_.insert(mark); }
  void disown_marked(const std::string& mark) { own_marks_.erase(mark); }
  // And those in this group, which must stay where it is until it is disowned.
  void own_group(const ControlGroup* group) { own_groups_.insert(group); }
  void disown_group(const ControlGroup* group) { own_groups_.erase(group); }

  // A child of it was started; `outside_because`: errno of why it is not in the control group, which is then
  // given up.
  void entered(pid_t pid, int outside_because);
  // What was left running, and ended; and what all used that came to us, those too that had ended by themselves. In a control
  // group besides what those used that nobody waited for (of a parent that ignores SIGCHLD, wait(2)).
  struct Left {
    int processes = 0;
    CpuUse use;
  };
  // A child of it has ended and is reaped, and used so much; `ended` was ended with it, and of `not_left` nothing is counted: it was about to end by our own
  // doing. With the last one all that it left running is ended, and told
  // with what of all of them was.
  Left left(pid_t pid, const CpuUse& used, const std::set<pid_t>& ended = {},
            const std::set<pid_t>& not_left = {});
  // What children that are none of it left running is ended, where it was started at this tick (process_tree.hpp) or later: at once, or
  // with the last of it.
  void end_left_behind(std::int64_t since);

  // Whether it carries a mark of the run, or none can be told apart here (has_only_marked()).
  bool may_be_of_the_run(pid_t pid) const;

 private:
  Left end_rest();
  CpuUse not_waited_for(const CpuUse& of_orphans) const;
  bool is_of_us(pid_t orphan) const;
  bool end_orphans(Left& left);
  std::optional<ControlGroup> all_;            // of the run; the one of the trials is within it
  std::optional<ControlGroup> control_group_;  // of the trials
  std::optional<std::string> run_;             // whose marks all of it carry
  std::optional<ControlGroupUse>
      used_before_;  // by its control group, as it began; nullopt: what it uses is not the trial's alone
  CpuUse used_;      // by its children that have ended, since
  std::set<pid_t> own_, members_;
  std::set<pid_t> ended_, not_left_;  // since it began
  std::set<std::string> own_marks_;
  std::set<const ControlGroup*> own_groups_;
  std::int64_t began_ = std::numeric_limits<std::int64_t>::max();  // tick: with its first child
};

}  // namespace dvfs_plan
