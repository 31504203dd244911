// Child processes (spawn.hpp; stdin from /dev/null), watched by pidfd, reaped with their own rusage, and
// never left behind.
//
// The caller's thread must outlive the child, which ends with it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/credentials.hpp"
#include "base/interruption.hpp"
#include "base/process_group.hpp"
#include "base/region_fifo.hpp"
#include "base/region_marks.hpp"
#include "base/start_gate.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

struct LaunchSpec {
  std::string executable;                // a path; no search
  std::vector<std::string> argv;         // argv[0] first
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::string folder;                    // working folder; empty: ours
  std::optional<Credentials> run_as;
  std::vector<int> cpus;        // affinity; empty: ours
  bool discard_errors = false;  // standard error goes to /dev/null
  bool regions = false;         // it gets a FIFO to mark regions on, named in DVFS_PLAN_REGIONS
  bool grouped = false;         // it is of the launcher's group: work of a trial, and no meter
  int control_group = -1;  // cgroup.procs of the one that it starts in where it is not `grouped`; -1: ours
  std::string gate =
      {};  // path of the gate (start_gate.hpp) that it may wait at, named in DVFS_PLAN_GO; empty: none
};

struct ChildLimits {
  Seconds timeout{0};                // 0: none
  Seconds grace{2};                  // between SIGTERM and SIGKILL
  std::size_t output_cap = 1 << 20;  // bytes kept of each stream, from its end
  std::string region = {};           // the marked region that is wanted: kept before others
};

struct CapturedOutput {
  std::string tail;         // the last output_cap bytes
  std::uint64_t bytes = 0;  // all that was written
  // What was left out ended in the middle of a line: the first line of `tail` is not whole.
  bool cut_in_line = false;
  // Of `bytes`, those of earlier runs of the same command, of whose output nothing is kept.
  std::uint64_t of_earlier_runs = 0;
  bool truncated() const { return bytes - of_earlier_runs > tail.size(); }
  std::string_view whole_lines() const;
  // What a module of ours said of marks that it cannot write (region_fifo.hpp), wherever in the stream;
  // empty: nothing.
  std::string lost_marks = {};
  std::string recent = {};  // what was read last, as far as that line may begin in it
};

struct ChildResult {
  // How it ended. `timed_out`, `interrupted` and `ended_with_others` (another of its trial failed) say that we ended it; `signalled`
  // that something else did.
  enum class End { exited, signalled, timed_out, interrupted, ended_with_others, not_launched };
  End end = End::not_launched;
  int exit_code = 0;    // for `exited`
  int signal = 0;       // that ended it, where one did
  std::string problem;  // for `not_launched`: "exec /bin/x: Permission denied"
  Nanoseconds started = 0;
  Nanoseconds ended = 0;
  Seconds left_user_time{0},
      left_system_time{0};  // of what the trial's processes left to us, told with the last of them
  Seconds user_time{0};
  Seconds system_time{0};
  // The most of one of them that was waited for. nullopt: no more than we had used ourselves, which the kernel keeps over execve(2) as what was
  // started has used (ru_maxrss, getrusage(2)).
  std::optional<std::int64_t> max_rss_bytes;
  CapturedOutput output;
  CapturedOutput errors;
  bool stopped_meanwhile = false;  // this program was stopped (SIGSTOP) and continued: its times are false
  RegionMarks regions;             // what it marked, in the order of arrival
  std::string regions_problem;     // why it could mark none; empty if it could
  int leftovers = 0;               // processes that its group left behind, which were ended
  // That was killed and does not end: it waits within the kernel (a driver, a file system), and is waited for no more. 0: none.
  pid_t stuck = 0;
  bool child_was_stopped =
      false;  // the process that we started was, for a while (SIGSTOP, a debugger), and seen to be
};

// Whether a child of ours was stopped or continued (SIGSTOP, a debugger) since the last call: each is told once (waitid(2)), and none any more
// once it has ended.
bool was_stopped(pid_t child);

// How long one that was killed may take to end: the kernel takes back its memory first, a driver what it holds.
inline constexpr Seconds longest_end{30};

// Waits for a child that was killed. False: it did not end in that time.
bool reap_killed(pid_t child);

// What several children that run at once came to, in their order.
struct ChildrenResult {
  std::vector<ChildResult> each;
  std::optional<Nanoseconds> gate_opened;
  // Why the gate could not open: one of them ended, or was not ready in time; empty: it opened, or none waited at it.
  std::string gate_problem;
};

// One running child. Its destructor ends the whole session and waits, for longest_end at most.
class Child {
 public:
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  Nanoseconds started() const { return started_; }
  int output_fd() const { return output_.get(); }
  int errors_fd() const { return errors_.get(); }

  // Waits until the child is gone, by itself or because of the limits or an interruption, or is stuck; ends its session,
  // and with the last child of its group whatever the group left behind, daemons included.
  ChildResult wait(const ChildLimits& limits, Interruption* interruption, const Clock& clock);

 private:
  friend class Launcher;
  friend class ChildWait;
  Child() = default;
  void reap(ChildResult& result);
  void leave_behind(ChildResult& result);

  pid_t pid_ = -1;
  Nanoseconds started_ = 0;
  UniqueFd pidfd_, output_, errors_;
  RegionFifo regions_;
  std::string regions_problem_;
  ProcessGroup* group_ = nullptr;
};

// Waits until all are gone. Where one fails, however, the others are ended: their trial is spoiled. One that ends well leaves the
// others alone. Once each has announced that it is ready, the gate is opened. `names` of the children for `gate_problem`.
ChildrenResult wait_for_all(std::vector<Child>& children, const std::vector<ChildLimits>& limits,
                            const std::vector<std::string>& names, StartGate* gate,
                            Interruption* interruption, const Clock& clock);

// Launches children.
class Launcher {
 public:
  // The child, or why there is none.
  struct Launched {
    std::optional<Child> child;
    std::string problem;
  };
  Launched launch(const LaunchSpec& spec, const Clock& clock);

  // At which those wait that are to begin at once.
  StartGate make_gate();

  // Of the children that are `grouped`.
  ProcessGroup& group() { return group_; }

  // Holds the FIFOs of its children's regions; empty before the first one.
  const std::string& region_folder() const { return regions_.path(); }

 private:
  ProcessGroup group_;
  RegionFolder regions_;
};

// The file that execvp(3) would find for `command`: itself if it has a slash (relative to `folder`), else
// the first match on `path`. Empty if there is none.
std::string find_executable(const std::string& command, const std::string& folder, const std::string& path);

// "SIGSEGV" for 11.
std::string signal_name(int signal);

}  // namespace dvfs_plan
