#include "orchestrator/cluster/shared_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
void SharedFolder::make() const {
  for (const std::string& folder : {path_, path_ + "/in", path_ + "/logs"}) {
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) continue;
    throw Error(
        ExitCode::machine_refuses, system_error_text("make the folder " + folder, errno),
        "it must be one that all nodes see under the same name; choose another with  machines: {slurm: "
        "{folder: ...}}");
  }
}

std::string SharedFolder::write_beside(const std::string& name, std::string_view bytes,
                                       std::string& unfinished) const {
  unfinished = fmt::format("{}/in/.{}.{}.{}", path_, name, host_name(), ::gettid());
  const auto failed = [&](const std::string& what, int error) {
    ::unlink(unfinished.c_str());
    return system_error_text(what, error);
  };
  UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed("write " + unfinished, errno);
  if (const int error = write_all(file.get(), bytes)) return failed("write " + unfinished, error);
  if (::fsync(file.get()) != 0) return failed("write " + unfinished, errno);
  return {};
}

SharedFolder::Claimed SharedFolder::claim(const std::string& name, std::string_view bytes) const {
  std::string unfinished;
  if (!write_beside(name, bytes, unfinished).empty()) return Claimed::not_written;
  // link() is atomic on network file systems too; where its answer was lost, the number of names tells (link(2), NFS).
  const int made = ::link(unfinished.c_str(), (path_ + "/in/" + name).c_str());
  const int error = errno;
  struct stat info {};
  const bool mine = made == 0 || (::stat(unfinished.c_str(), &info) == 0 && info.st_nlink == 2);
  ::unlink(unfinished.c_str());
  return mine ? Claimed::mine : error == EEXIST ? Claimed::taken : Claimed::not_written;
}

std::string SharedFolder::hand_in(const std::string& name, std::string_view bytes) const {
  std::string unfinished;
  if (std::string why = write_beside(name, bytes, unfinished); !why.empty()) return why;
  const std::string folder = path_ + "/in";
  if (::rename(unfinished.c_str(), (folder + "/" + name).c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    return system_error_text("rename " + unfinished, error);
  }
  UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return {};
}

std::vector<std::string> SharedFolder::names(std::string_view ending) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((path_ + "/in").c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with('.') && name.ends_with(ending)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string SharedFolder::read(const std::string& name) const {
  std::string bytes;
  UniqueFd file(::open((path_ + "/in/" + name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return bytes;
  bytes.resize(static_cast<std::size_t>(info.st_size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string name_of_task(const std::string& node, const std::string& task, std::string_view ending) {
  std::string name = fmt::format("{}.{}{}", node, task, ending);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::int64_t wall_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::string host_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string fault_bytes(const TaskFault& fault) {
  const nlohmann::ordered_json json{{"node", fault.node},
                                    {"task", fault.task},
                                    {"block", fault.block},
                                    {"why", fault.why},
                                    {"of_node", fault.of_node}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

TaskFault read_fault(std::string_view bytes) {
  try {
    const auto json = nlohmann::json::parse(bytes);
    return {json.at("node"), json.at("task"), json.at("why"), json.at("block"), json.at("of_node")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::machine_refuses,
                fmt::format("what a task handed in cannot be read: {}", error.what()));
  }
}

}  // namespace dvfs_plan
