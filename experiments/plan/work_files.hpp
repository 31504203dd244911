// The files that a workload's work is made of: its program, and the scripts and programs that its command
// names. A night in which one of them changes has measured two different things.
//
// The program (what argv[0] resolves to) and the script that an interpreter is given decide the plan. Beside
// them any word of the command, of a text for a shell or of the operand of `-c` may name a file: one that is
// executable, begins with "#!" or has the extension of a script. Behind a wrapper (env, taskset, timeout,
// mpirun, torchrun, ...) and in shell text words are looked up on PATH too. Such a file may be a product of
// the work itself (a checkpoint where every file is executable, a program that it compiles): one that the
// first run of the workload changes is taken for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

struct ProgramSpec;

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
  bool named = false;                    // by the command only: it may be a product
};
WorkFile read_work_file(const std::string& path);

// What differs between a file when it was read and now; nullopt if its contents are the same. Its identity is
// renewed where only that has changed.
struct WorkChange {
  std::string path, was, now;  // "SHA-256 ...", or what is known of a file that may not be read
};
std::optional<WorkChange> changed_since(WorkFile& file);

// As this program says it of such files, itself of none.
inline constexpr std::string_view of_marks_by_descriptor =
    "marks regions on DVFS_PLAN_REGION_FD, which is no more, so that its marks would be lost";
// Whether a file holds the word DVFS_PLAN_REGION_FD: it marks regions as was done before they went through a
// FIFO (experiments/regions/), and all its marks would be lost. Files of the system are not looked at.
bool marks_by_descriptor(const std::string& path);

// The script that an interpreter is given first, where it is a file: it, not the interpreter, is the work.
// `folder`: the program's.
std::optional<std::string> interpreted_script(const ProgramSpec& spec, const std::string& folder);

// Other files of the work that a command names, sorted. `words`: its program first, placeholders filled in.
// `shell_text`: for /bin/sh -c; may be empty.
std::vector<std::string> named_work_files(const std::vector<std::string>& words,
                                          const std::string& shell_text, const std::string& folder,
                                          const std::string& path);

}  // namespace dvfs_plan
