// A control group of our own (cgroup v2, Documentation/admin-guide/cgroup-v2.rst): processes in it stay in
// it, whatever they fork, whoever adopts them and whatever they do to their environment, unless somebody
// moves them (systemd-run, root), and can all be ended at once. Root may make one, and who has been delegated
// a subtree.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

// CPU time of all that are or were in a group (cpu.stat, which is there without the cpu controller); nullopt: it is not told.
struct ControlGroupUse {
  Seconds all{0}, user{0}, system{0};
};
std::optional<ControlGroupUse> use_of_control_group(const std::string& path);

class ControlGroup {
 public:
  // Below the group that we are in; nullopt: there is no cgroup v2, or it may not be made.
  static std::optional<ControlGroup> make(const std::string& name);
  // Within this one.
  std::optional<ControlGroup> make_within(const std::string& name) const;
  ControlGroup(ControlGroup&&) noexcept = default;
  ControlGroup& operator=(ControlGroup&&) = delete;
  // Ends what is in it, and removes it.
  ~ControlGroup();

  const std::string& path() const { return path_; }
  // Its cgroup.procs: a process that writes "0" there is in it.
  int entrance() const { return procs_.get(); }
  bool empty() const;
  std::vector<pid_t> processes() const;
  std::optional<ControlGroupUse> use() const { return use_of_control_group(path_); }
  // Whether a process is in it.
  bool holds(pid_t pid) const;

 private:
  static std::optional<ControlGroup> make_at(const std::string& path);

  explicit ControlGroup(std::string path, UniqueFd procs, UniqueFd events)
      : path_(std::move(path)), procs_(std::move(procs)), events_(std::move(events)) {}
  std::string path_;
  UniqueFd procs_, events_;
};

// The groups that hold these processes and no others, by their paths: what they use is these processes' alone.
std::set<std::string> control_groups_of_none_but(const std::set<pid_t>& processes);
// Where a process is; empty: it is not there, or there is no cgroup v2.
std::string control_group_of(pid_t pid);

// Sends SIGKILL to all that is in it. False if nothing was, or it is not there.
bool kill_control_group(const std::string& path);
bool kill_control_group(const ControlGroup& group);  // the same, quicker where nothing is
// Takes it away, and the groups in it, once nothing runs there.
void remove_control_group(const std::string& path);

}  // namespace dvfs_plan
