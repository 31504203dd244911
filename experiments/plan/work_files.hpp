// The files that a workload's work is made of: its program, and the scripts and programs that its command
// names. A night in which one of them changes has measured two different things.
//
// What counts as such a file: what argv[0] resolves to; the script an interpreter is given; and any other
// word of the command (or of the text for a shell) that names a file which is executable, begins with "#!" or
// has the extension of a script. Behind a wrapper (env, taskset, timeout, mpirun, torchrun, ...) words are
// looked up on PATH too. Data files are not: a workload may well read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dvfs_plan {

struct Experiment;
struct WorkloadSpec;

// Cheap to look at; where it is the same the contents are taken to be.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identity_of(const std::string& path);

struct WorkFile {
  std::string path;
  std::string sha256;                    // "unreadable" if it could not be read
  std::optional<FileIdentity> identity;  // when the digest was made
};
WorkFile read_work_file(const std::string& path);

// What differs between a file when it was read and now; nullopt if its contents are the same. Its identity is
// renewed where only that has changed.
struct WorkChange {
  std::string path, was, now;  // SHA-256
};
std::optional<WorkChange> changed_since(WorkFile& file);

// The script that an interpreter is given first, where it is a file: it, not the interpreter, is the work.
std::optional<std::string> interpreted_script(const Experiment& experiment, const WorkloadSpec& spec);

// Other files of the work that `words` name: all words of a command, placeholders filled in. Sorted.
std::vector<std::string> named_work_files(const std::vector<std::string>& words, const std::string& folder,
                                          const std::string& path);

}  // namespace dvfs_plan
