// The one way in which this program starts another one: Boost.Process without a shell, in a session of its
// own (but for the one that has our terminal), with no descriptor but those that are named or were ours when we began.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/credentials.hpp"

namespace dvfs_plan {

struct SpawnSpec {
  std::string executable;                                    // a path; no search
  std::vector<std::string> argv;                             // argv[0] first
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value", all of it; nullopt: ours
  std::string folder = {};                                   // working folder; empty: ours
  std::optional<Credentials> run_as = {};
  std::vector<int> cpus = {};  // affinity; empty: ours
  // Descriptors of ours; -1: /dev/null.
  int input = -1, output = -1, errors = -1;
  std::vector<int> more = {};  // become 3, 4, ...; -1 leaves its place out
  std::vector<int> inherited =
      {};                   // stay open as they are: what our caller meant for it; no `more` beside them
  bool own_session = true;  // false: it stays in ours, with our terminal
  bool keeps_signals =
      false;  // blocked and ignored ones; else none is blocked, and those of pipes and terminals default
  bool can_be_ended = false;  // by SIGINT, SIGTERM, SIGHUP, SIGQUIT even where we ignore them, as under nohup
  bool dies_with_us = false;  // with the thread that starts it: Linux ties PR_SET_PDEATHSIG to that
  bool first_out_of_memory = false;  // where memory runs out, the kernel ends it rather than us
  int control_group = -1;            // cgroup.procs of the control group (control_group.hpp) it starts in
};

// Of this process; empty where /proc is not there to tell.
std::vector<int> open_descriptors();

struct Spawned {
  pid_t pid = -1;
  std::string problem;  // why there is none: "exec /bin/x: Permission denied"
  // It runs, and outside of the control group: errno of why; 0: inside, or none was asked for.
  int outside_because = 0;
};
Spawned spawn(const SpawnSpec& spec);

}  // namespace dvfs_plan
