#include "experiments/plan/work_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/child.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/whole_file.hpp"
#include "experiments/plan/command_line.hpp"
#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {
namespace {

namespace fs = std::filesystem;

constexpr std::array script_extensions{".py", ".sh",  ".bash", ".pl", ".rb",  ".js",  ".mjs", ".R",
                                       ".jl", ".lua", ".tcl",  ".m",  ".php", ".awk", ".sql"};
constexpr std::array wrappers{"env",     "nice",       "taskset",   "numactl",   "timeout", "stdbuf",
                              "chrt",    "ionice",     "setsid",    "nohup",     "time",    "sudo",
                              "mpirun",  "mpiexec",    "srun",      "torchrun",  "perf",    "strace",
                              "unshare", "accelerate", "deepspeed", "horovodrun"};
// A data set may be marked executable by its file system; nobody waits for its digest at each start.
constexpr std::uintmax_t largest_by_permission = 256U << 20U;

bool is_script_or_program(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  const std::string extension = file.extension().string();
  if (std::find(script_extensions.begin(), script_extensions.end(), extension) != script_extensions.end())
    return true;
  std::array<char, 2> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  if (start[0] == '#' && start[1] == '!') return true;
  return ::access(file.c_str(), X_OK) == 0 && fs::file_size(file, error) <= largest_by_permission;
}

// A program that may be run and not be read is told apart by its file alone.
constexpr const char* unreadable = "unreadable";

std::string version_text(const WorkFile& file) {
  if (file.sha256 != unreadable) return "SHA-256 " + file.sha256;
  if (!file.identity) return unreadable;
  return fmt::format("unreadable (inode {}, {} bytes, modified at {} ns)", file.identity->inode,
                     file.identity->size, file.identity->modified_ns);
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  const auto ns = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return FileIdentity{info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size), ns(info.st_mtim),
                      ns(info.st_ctim)};
}

WorkFile read_work_file(const std::string& path) {
  // Before the contents: a change in between is then seen at the next look.
  const auto identity = identity_of(path);
  return {path, sha256_of_file(path).value_or(unreadable), identity};
}

std::optional<WorkChange> changed_since(WorkFile& file) {
  const auto identity = identity_of(file.path);
  // One that is gone cannot be run, and the trial that tries says so.
  if (!identity || identity == file.identity) return std::nullopt;
  WorkFile now = read_work_file(file.path);
  now.named = file.named;
  if (now.sha256 == file.sha256 && now.sha256 != unreadable) {
    file = std::move(now);
    return std::nullopt;
  }
  const WorkChange change{file.path, version_text(file), version_text(now)};
  file = std::move(now);
  return change;
}

bool marks_by_descriptor(const std::string& path) {
  for (const char* system : {"/usr/", "/bin/", "/lib", "/sbin/", "/opt/"}) {
    if (path.starts_with(system)) return false;
  }
  constexpr std::uint64_t most = 64U << 20U;
  std::string text;
  return read_whole(path, most, text) == 0 && text.find("DVFS_PLAN_REGION_FD") != std::string::npos &&
         text.find(of_marks_by_descriptor) == std::string::npos;
}

std::optional<std::string> interpreted_script(const ProgramSpec& spec, const std::string& folder) {
  if (spec.command.size() < 2 || !placeholders(spec.command[1].text).empty()) return std::nullopt;
  const std::string interpreter = fs::path(spec.command[0].text).filename().string();
  static const std::vector<std::string> interpreters{"python", "sh",   "bash",  "dash",    "perl",
                                                     "ruby",   "node", "julia", "Rscript", "lua"};
  const bool known = std::any_of(interpreters.begin(), interpreters.end(), [&](const std::string& name) {
    return interpreter.starts_with(name) &&
           interpreter.find_first_not_of("0123456789.", name.size()) == std::string::npos;
  });
  const fs::path file = fs::path(folder) / spec.command[1].text;
  std::error_code ignored;
  if (!known || !fs::is_regular_file(file, ignored)) return std::nullopt;
  return file.lexically_normal().string();
}

std::vector<std::string> named_work_files(const std::vector<std::string>& words,
                                          const std::string& shell_text, const std::string& folder,
                                          const std::string& path) {
  std::set<std::string> found;
  const auto look = [&](const std::string& word, bool on_path) {
    if (word.empty() || word[0] == '-' || word.size() > 4096) return;
    const fs::path file = (fs::path(folder) / word).lexically_normal();
    if (is_script_or_program(file))
      found.insert(file.string());
    else if (on_path && word.find_first_of("/=") == std::string::npos)
      found.insert(find_executable(word, folder, path));
  };
  const auto is_wrapper = [](const std::string& word) {
    return std::find(wrappers.begin(), wrappers.end(), fs::path(word).filename().string()) != wrappers.end();
  };
  // Others' -c (python's) is in a language of their own.
  const auto is_shell = [](const std::string& word) {
    constexpr std::array shells{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish"};
    return std::find(shells.begin(), shells.end(), fs::path(word).filename().string()) != shells.end();
  };
  // A program is what a command begins with; `rate` in "echo rate" is none.
  const auto look_in_shell_text = [&](std::string text) {
    constexpr std::string_view between_commands = ";|&()`\n";
    for (char& c : text) {
      if (between_commands.find(c) != std::string_view::npos)
        c = '\n';
      else if (std::string_view("<>\"'{}").find(c) != std::string_view::npos)
        c = ' ';
    }
    static const std::set<std::string> before_a_command{"do",    "then",  "else", "elif", "if",
                                                        "while", "until", "!",    "exec", "command"};
    std::istringstream commands(text);
    for (std::string command; std::getline(commands, command);) {
      bool may_be_program = true, wrapped = false;
      for (const std::string& word : split_words(command)) {
        look(word, may_be_program);
        const bool is_assignment = word.find('=') != std::string::npos;
        wrapped = wrapped || (may_be_program && is_wrapper(word));
        may_be_program = wrapped || (may_be_program && (before_a_command.contains(word) || is_assignment));
      }
    }
  };
  look_in_shell_text(shell_text);
  const bool wrapped = !words.empty() && is_wrapper(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] == "-c" && (wrapped || is_shell(words[0])))
      look_in_shell_text(words[i]);
    else
      look(words[i], wrapped);
  }
  found.erase("");
  return {found.begin(), found.end()};
}

}  // namespace dvfs_plan
