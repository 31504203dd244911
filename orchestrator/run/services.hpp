// Services: programs that stay up over many trials, in a session of their own, their output in a log file.
//
//   a trial needs them ─► start (or keep, or end and start anew with other parameters) ─► ready ─► warm up ─► trial ─► still there?
//
// A service is started once a block and ended with it, on every way out, and when we die (as a workload is: PR_SET_PDEATHSIG, and the
// run's mark in its environment). One that is attached to is looked at and never touched.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/control_group.hpp"
#include "base/process_tree.hpp"
#include "base/tcp_port.hpp"
#include "base/unique_fd.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/run/local_machine.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class Services {
 public:
  explicit Services(LocalMachine& machine);
  ~Services();
  Services(const Services&) = delete;

  struct Prepared {
    bool interrupted = false;
    std::string problem;  // why one of them cannot be used now; empty: all are ready
    std::vector<EventRecord> events;
  };
  // All that the point's workload uses are up, as the point's parameters say, ready, and warm at the point's
  // settings; all others are ended. Throws Error where a service has failed again and again with whatever
  // parameters: no trial of it could be run.
  Prepared prepare(const PlanPoint& point);
  // Asks them all to end, and waits as long as each is granted; a second signal to us cuts that short. With
  // `gives_way` already a first one, as settings are to be put back before anything that takes long.
  void end_all(bool gives_way = false);

  std::set<pid_t> processes() const;
  // CPU time that they took so far, and those that are attached to and not used now: an idle window is with them.
  Seconds cpu_time() const;
  // After a trial: which have ended since they got ready, how, and the end of what they said; empty: none. Where the trial's own
  // work failed, a service may be dying of which its client only knew first: it has a moment to be gone.
  std::string died(bool work_failed);
  // What grew without end: told once of each.
  std::vector<EventRecord> grown();

 private:
  struct Running {
    std::string as;  // its command and environment: another one means a start
    pid_t pid = -1;  // -1: somebody else's, of which only the address is known
    bool ours = true;
    UniqueFd pidfd;
    std::optional<TcpAddress> address;  // of one that is attached to
    std::string warm_at;                // operating point; only if `is_warm`
    bool is_warm = false;
    std::string mark;  // "NAME=value" in the environment of all its processes, unless they take it away
    std::unique_ptr<ControlGroup> group;  // that they are in, where one may be made
    std::int64_t began_tick = 0;          // process_tree.hpp
    std::set<pid_t> daemons;  // that took the mark away and came to us; only where there is no group
    bool asked_to_end = false;
    std::int64_t first_rss = 0;
    bool told_growth = false;
    std::string log;  // where it is, for people
    UniqueFd log_fd;
    std::int64_t log_start = 0;  // of what it has said since it was started
    std::optional<std::string> ended = {};
  };

  std::string make_ready(int index, const PlanPoint& point, Prepared& prepared);
  std::string start(int index, const PlanPoint& point);
  std::string attach(int index, const PlanPoint& point);
  std::string open_log(const std::string& name, const std::vector<std::string>& argv, Running& running) const;
  std::string wait_until_ready(int index, const PlanPoint& point, Prepared& prepared);
  bool is_ready(const ServiceSpec& spec, const PlanPoint& point, const Running& running);
  std::string warm_up(int index, const PlanPoint& point, Prepared& prepared);
  std::string run_helper(const ServiceSpec& spec, const std::vector<RawValue>& words, const PlanPoint& point,
                         Seconds limit, bool& interrupted);
  LaunchSpec launch_spec(const ServiceSpec& spec, const CommandLine& command) const;
  std::string configuration(const ServiceSpec& spec, const PlanPoint& point) const;
  std::string failed(int index, const std::string& as, const std::string& problem);
  void require_hope(int index) const;
  // False: somebody asked us to stop meanwhile; they end later (end_all).
  bool end(const std::vector<int>& indices, bool gives_way);
  bool has_left(Running& running);
  void clear_away(Running& running);
  void adopt_daemons(Running& running) const;
  std::set<pid_t> processes_of(const Running& running) const;
  void look_for_attached();
  void find_attached();
  bool has_ended(Running& running);
  static bool was_stopped(const Running& running);
  std::string last_words(const Running& running) const;
  std::string tail(const Running& running, std::size_t most) const;
  const ServiceSpec& spec_of(int index) const {
    return machine_.plan.services[static_cast<std::size_t>(index)].spec;
  }
  ProcessGroup& group() const { return machine_.programs.launcher.group(); }

  LocalMachine& machine_;
  std::map<int, Running> running_;  // by index into Plan::services
  struct Failures {
    int in_row = 0;
    std::string last, log;
  };
  std::map<int, std::map<std::string, Failures>> failures_;  // of each service, with each of its parameters
  std::map<pid_t, std::int64_t>
      attached_ticks_;                     // when those that were attached to by their number were started
  std::set<std::string> attached_groups_;  // control groups that hold none but those
  std::set<pid_t> attached_;               // of all of them, with what they started, as they were last seen
  bool boards_changed_ = true;             // who is on them is to be looked at anew
};

}  // namespace dvfs_plan
