#include "orchestrator/cluster/look.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/sha256.hpp"
#include "base/unique_fd.hpp"
#include "orchestrator/cluster/shared_folder.hpp"

namespace dvfs_plan {
namespace {
constexpr std::string_view look_head = "dvfs-plan look 1\n";
}

std::string look_name(const std::string& task) {
  std::string name = fmt::format("{}{}", task, look_ending);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string text_name(std::string_view text) {
  return fmt::format("experiment.{}.yaml", sha256(text).substr(0, 16));
}

std::string look_bytes(std::string_view file) {
  return fmt::format("{}{}\n{}", look_head, sha256(file), file);
}

std::string look_content(std::string_view bytes) {
  const auto end = bytes.starts_with(look_head) ? bytes.find('\n', look_head.size()) : std::string_view::npos;
  if (end == std::string_view::npos ||
      sha256(bytes.substr(end + 1)) != bytes.substr(look_head.size(), end - look_head.size()))
    throw Error(ExitCode::machine_refuses,
                "the plan in the folder that the nodes share is not there, or damaged",
                "submit again with --fresh");
  return std::string(bytes.substr(end + 1));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file || !bytes) throw Error(ExitCode::machine_refuses, path + " cannot be read");
  return bytes.str();
}

void write_file(const std::string& path, std::string_view bytes) {
  ::unlink(path.c_str());
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int error = file ? write_all(file.get(), bytes) : errno;
  if (error != 0) throw Error(ExitCode::machine_refuses, system_error_text("write " + path, error));
}

}  // namespace dvfs_plan
