// The guardian: a small process of its own that puts the machine back when the run is killed (SIGKILL, the
// OOM killer, a crash) and cannot do it itself.
//
// The run holds one end of a pipe and says through it which child it has and when it is done. The pipe's
// end without "done" is the run's death, however it came: the guardian then ends the workload, restores
// from the journal and goes. It is a fresh execution of this program under another name, so that neither
// `pkill dvfs-plan` nor memory pressure on the run takes it along.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/sysfs.hpp"
#include "base/unique_fd.hpp"
#include "orchestrator/guard/state_folder.hpp"

namespace dvfs_plan {

// What of a workload would outlive the run: the folder of the FIFOs that it marks regions on
// (base/region_fifo.hpp), and its control group (base/control_group.hpp). Empty: there is none.
struct WorkloadTraces {
  std::string region_folder, control_group;
  bool operator==(const WorkloadTraces&) const = default;
};

class Guardian {
 public:
  // Starts it; the locks are shared with it, so that no other run begins before it has finished. `machine`
  // may be none (a recorded tree).
  Guardian(const std::string& state_folder, const std::string& sysfs_root, const UniqueFd& lock,
           const UniqueFd& machine);
  ~Guardian();
  Guardian(const Guardian&) = delete;

  pid_t pid() const { return pid_; }
  bool alive();
  void note_child(pid_t child);  // 0: none is running
  void note_traces(const WorkloadTraces& traces);
  void intend(const std::string& path, const std::string& text);
  void withdraw(const std::string& path);
  // Tells it that nothing is left to do and waits for it to go.
  void dismiss();

 private:
  void say(const std::string& line);
  pid_t pid_ = -1;
  UniqueFd pipe_;
};

// The guardian's own main; returns its exit code.
int guardian_main(const std::string& state_folder, const std::string& sysfs_root);

// The name it goes by in `ps`.
inline constexpr const char* guardian_name = "dvfs-guardian";

}  // namespace dvfs_plan
