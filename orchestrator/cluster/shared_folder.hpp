// The folder that the nodes of a cluster and the machine that collects share: how a finished trial gets from one to the other.
//
//   FOLDER/in/    what tasks handed in: files that never change once they have their name
//   FOLDER/logs/  what each task printed
//
// Nothing of it is trusted: no SQLite file is opened here by two machines (locks on NFS and Lustre are what they are), a
// file is written beside its name, flushed and renamed, and carries its checksum (results/store/parts.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

class SharedFolder {
 public:
  explicit SharedFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string logs() const { return path_ + "/logs"; }
  // Makes it, for its owner alone. Throws Error.
  void make() const;
  // Empty, or why it could not be written now: the disk is full, the folder is gone.
  std::string hand_in(const std::string& name, std::string_view bytes) const;
  // The same for a name that only one may have: `taken` where somebody was there before.
  enum class Claimed { mine, taken, not_written };
  Claimed claim(const std::string& name, std::string_view bytes) const;
  // Names of all that was handed in with this ending, sorted. A folder that cannot be read just now has none.
  std::vector<std::string> names(std::string_view ending) const;
  // The whole file; empty if it cannot be read.
  std::string read(const std::string& name) const;

 private:
  // Writes the bytes beside the name; empty, or why it could not be. `unfinished`: where.
  std::string write_beside(const std::string& name, std::string_view bytes, std::string& unfinished) const;
  std::string path_;
};

// The name of what a task ("1234_3 start 1") on a node says by this ending.
std::string name_of_task(const std::string& node, const std::string& task, std::string_view ending);

// By which times are told there: this machine's clock, ns since 1970.
std::int64_t wall_ns();

// What this machine calls itself.
std::string host_name();

inline constexpr std::string_view part_ending = ".part", look_ending = ".look", fault_ending = ".fault",
                                  claim_ending = ".claim", over_ending = ".over",
                                  job_ending = ".job";  // JOB.job: it was submitted from here, by this name

// Why a task could not run its block, or gave it up.
struct TaskFault {
  std::string node, task, why;
  int block = 0;
  bool of_node = false;  // another node may do better: no more blocks are given to this one
};
std::string fault_bytes(const TaskFault& fault);
// Throws Error if it is no such file.
TaskFault read_fault(std::string_view bytes);

}  // namespace dvfs_plan
