// Slurm by its own commands: sbatch(1), squeue(1), scancel(1), sinfo(1), scontrol(1). We schedule nothing ourselves.
//
// Formats and states as their manuals of 22.05 say. Each call has a time limit: a controller that does not answer is
// said to be so, and asked again later.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "orchestrator/cluster/shared_folder.hpp"

namespace dvfs_plan {

// Slurm did not answer, or not now: nothing is known, and nothing was changed.
class SlurmSilent : public Error {
 public:
  using Error::Error;
};

struct SlurmNode {
  std::string name;
  std::string state;  // "idle", "mixed", "allocated", "down*", ...
  std::string
      hardware;  // what Slurm knows of it: CPUs, memory, features, generic resources: alike in nodes of a type
  std::vector<std::string> features;
  // It takes jobs, now or when they that run there are done. `reserved`: ours are of a reservation.
  bool works(bool reserved) const;
};

struct SlurmTask {
  std::string job;  // the array's number
  int index = 0;    // within it
  std::string state;
  std::string node;    // empty: waits
  std::string reason;  // it waits for
  // Of one that is known by its mark, and may have been submitted without our hearing of it: its block is `index` + this; a look has none.
  std::optional<int> offset = {};
  std::string name() const;  // "1234_3"
  bool ended() const;        // of itself or otherwise: nothing of it runs or will
};

// The indices that squeue's %K tells, 0 for a job that is no array ("N/A"): "7", or of those that wait "1,4-6,9-29:2%1". nullopt: not understood,
// or cut off ("...").
std::optional<std::vector<int>> array_indices(std::string_view text);

// Of the jobs of an experiment of this name, as we call them.
std::string job_name(const std::string& experiment);
// That, and what `extra` (--job-name, -J) calls them in the texts that were submitted by this folder.
std::set<std::string> job_names(const SharedFolder& folder, const std::string& experiment);

// What jobs that are submitted for this folder are marked with, as their comment: sbatch may take a job and fail to say so (a time limit, a
// signal), and nobody would know whose it is. Behind it, the offset of their blocks.
std::string job_mark(const SharedFolder& folder);

struct SlurmSubmission {
  std::string name;
  std::string mark = {};
  std::optional<int> offset = {};  // of the array's indices; nullopt: it is a look
  std::string command;             // for the shell
  std::vector<int> indices;        // of the array
  std::optional<int> at_once;
  std::vector<std::string> options;  // further ones, one a word
  std::string output;                // file of a task's output, %A, %a and the like in it
};

class Slurm {
 public:
  // Its commands are found in $PATH. Throws Error where one is not.
  Slurm();
  // Submits, and returns the job's number. Throws Error with what sbatch said, SlurmSilent if it did not answer.
  std::string submit(const SlurmSubmission& submission, Seconds patience = Seconds{60}) const;
  // Tasks of these jobs, and of those with this mark, that Slurm still knows of. Numbers begin anew where a controller loses its state, and each cluster has
  // its own: a job of another name (job_names()) is somebody else's. Throws SlurmSilent.
  std::vector<SlurmTask> tasks(const std::vector<std::string>& jobs, const std::set<std::string>& names,
                               const std::string& mark) const;
  void cancel(const std::vector<std::string>& jobs) const;
  // One that has not begun, or was put back into the queue; if it runs by now it goes on.
  void cancel_waiting(const SlurmTask& task) const;
  // Of a partition; empty: the default one. Throws Error where there is none of that name.
  std::vector<SlurmNode> nodes(const std::string& partition) const;
  // How long a job of the partition may take (sinfo's %l); nullopt: as long as it likes.
  std::optional<Seconds> time_limit(const std::string& partition) const;
  // What sbatch --test-only says of it, nothing being submitted. Throws as submit() does.
  std::string judge(const SlurmSubmission& submission) const;
  // Indices of an array are below this.
  int most_array_index() const;

 private:
  static std::vector<std::string> arguments_of(const SlurmSubmission& submission);
  std::string ask(const std::string& program, const std::vector<std::string>& arguments,
                  Seconds patience = Seconds{30}) const;
  std::map<std::string, std::string> programs_;
};

}  // namespace dvfs_plan
