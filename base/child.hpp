// Child processes: launched by Boost.Process (no shell, own session, stdin from /dev/null), watched by
// pidfd, reaped with their own rusage, and never left behind.
//
// The caller's thread must outlive the child: Linux ties PR_SET_PDEATHSIG to the launching thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/interruption.hpp"
#include "base/region_fifo.hpp"
#include "base/region_marks.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

// The user a child runs as. Looked up before the fork: getpwnam(3) is not safe after it.
struct Credentials {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::string name;
  std::string home;
  std::string shell = {};
};
std::optional<Credentials> find_user(const std::string& name_or_id);

struct LaunchSpec {
  std::string executable;                // a path; no search
  std::vector<std::string> argv;         // argv[0] first
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::string folder;                    // working folder; empty: ours
  std::optional<Credentials> run_as;
  std::vector<int> cpus;        // affinity; empty: ours
  bool discard_errors = false;  // standard error goes to /dev/null
  bool regions = false;         // it gets a FIFO to mark regions on, named in DVFS_PLAN_REGIONS
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
  bool truncated() const { return bytes > tail.size(); }
  std::string_view whole_lines() const;
  // What a module of ours said of marks that it cannot write (region_fifo.hpp), wherever in the stream;
  // empty: nothing.
  std::string lost_marks = {};
  std::string recent = {};  // what was read last, as far as that line may begin in it
};

struct ChildResult {
  // How it ended. `timed_out` and `interrupted` say that we ended it; `signalled` that something else did.
  enum class End { exited, signalled, timed_out, interrupted, not_launched };
  End end = End::not_launched;
  int exit_code = 0;    // for `exited`
  int signal = 0;       // that ended it, where one did
  std::string problem;  // for `not_launched`: "exec /bin/x: Permission denied"
  Nanoseconds started = 0;
  Nanoseconds ended = 0;
  Seconds user_time{0};
  Seconds system_time{0};
  std::int64_t max_rss_bytes = 0;
  CapturedOutput output;
  CapturedOutput errors;
  bool stopped_meanwhile = false;  // this program was stopped (SIGSTOP) and continued: its times are false
  RegionMarks regions;             // what it marked, in the order of arrival
  std::string regions_problem;     // why it could mark none; empty if it could
  int leftovers = 0;               // processes it left behind, which were ended
};

// One running child. Its destructor ends the whole session and waits.
class Child {
 public:
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  Nanoseconds started() const { return started_; }
  int output_fd() const { return output_.get(); }

  // Waits until the child is gone, by itself or because of the limits or an interruption; ends what it
  // left behind, daemons included.
  ChildResult wait(const ChildLimits& limits, Interruption* interruption, const Clock& clock);

 private:
  friend class Launcher;
  Child() = default;
  void reap(ChildResult& result);

  pid_t pid_ = -1;
  Nanoseconds started_ = 0;
  UniqueFd pidfd_, output_, errors_;
  RegionFifo regions_;
  std::string regions_problem_;
  const std::set<pid_t>* own_children_ = nullptr;
};

// Launches children. `own` are children that belong to the program itself (its guardian, its meters):
// they are no leftovers of a workload.
class Launcher {
 public:
  Launcher();
  ~Launcher();

  // The child, or why there is none.
  struct Launched {
    std::optional<Child> child;
    std::string problem;
  };
  Launched launch(const LaunchSpec& spec, const Clock& clock);

  void own(pid_t pid) { own_.insert(pid); }
  void disown(pid_t pid) { own_.erase(pid); }

  // Holds the FIFOs of its children's regions; empty before the first one.
  const std::string& region_folder() const { return regions_.path(); }

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
  std::set<pid_t> own_;
  RegionFolder regions_;
};

// The file that execvp(3) would find for `command`: itself if it has a slash (relative to `folder`), else
// the first match on `path`. Empty if there is none.
std::string find_executable(const std::string& command, const std::string& folder, const std::string& path);

// "SIGSEGV" for 11.
std::string signal_name(int signal);

}  // namespace dvfs_plan
