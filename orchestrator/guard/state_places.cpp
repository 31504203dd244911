#include "orchestrator/guard/state_places.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/sysfs.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "orchestrator/guard/state_folder.hpp"

namespace dvfs_plan {

std::string folder_of_copies() {
  if (::geteuid() == 0) return "/run/dvfs-plan/copies";
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return std::string(runtime) + "/dvfs-plan/copies";
  // cron sets none, and what is removed there would come back from its copy in the next login (pam_systemd(8): where it is).
  const std::string usual = fmt::format("/run/user/{}", ::geteuid());
  struct stat folder {};
  const bool is_ours =
      ::lstat(usual.c_str(), &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == ::geteuid();
  return is_ours ? usual + "/dvfs-plan/copies" : "";
}

namespace {

constexpr const char* usual_state = "/.local/state/dvfs-plan";  // below a home
constexpr const char* elsewhere = "/elsewhere";
constexpr const char* elsewhere_file = "folders";

// The folders that note_elsewhere() noted there. Root reads what is the user's: no link is followed, no FIFO waited for.
std::vector<std::string> elsewhere_of(const std::string& known) {
  std::vector<std::string> folders;
  const UniqueFd file(::open((known + elsewhere + "/" + elsewhere_file).c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  constexpr off_t most = 65536;
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > most)
    return folders;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  for (std::string& line : split_lines(text)) {
    if (line.starts_with('/')) folders.push_back(std::move(line));
  }
  return folders;
}

std::string host_of_this_machine() {
  std::string host(HOST_NAME_MAX + 1, '\0');
  ::gethostname(host.data(), host.size() - 1);
  host.resize(std::strlen(host.c_str()));
  std::replace(host.begin(), host.end(), '/', '_');
  return host.empty() || host[0] == '.' ? "localhost" : host;
}

// ".1f2e3d4c", of machine-id(5), which itself is to be told to nobody; empty: it has none.
std::string id_of_this_machine() {
  constexpr std::size_t digits = 32;
  const std::string id = Sysfs().text("/etc/machine-id").value_or("");
  if (id.size() != digits || id.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
  return "." + short_hash("dvfs-plan " + id);
}

// Below a folder of state: nodes of a cluster may share a home.
std::string of_this_machine(const std::string& state) {
  return state + "/dvfs-plan/" + host_of_this_machine() + id_of_this_machine();
}

}  // namespace

std::string default_state_folder() {
  if (::geteuid() == 0) return machine_state_folder;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/')
    return of_this_machine(state);
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return of_this_machine(std::string(home) + "/.local/state");
  throw Error(ExitCode::machine_refuses, "neither $XDG_STATE_HOME nor $HOME says where to keep the journal",
              "set one of them, or use --state-folder");
}

bool is_on_a_network(const std::string& path, const std::string& mountinfo) {
  constexpr std::array remote{"nfs",    "autofs", "cifs", "smb", "fuse", "lustre", "gpfs",
                              "beegfs", "ceph",   "afs",  "9p",  "coda", "panfs",  "orangefs"};
  std::string longest, type;
  for (const std::string& line : split_lines(mountinfo)) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto fields = split_words(line.substr(0, dash)), behind = split_words(line.substr(dash + 3));
    if (fields.size() < 5 || behind.empty()) continue;
    const std::string& where = fields[4];  // proc_pid_mountinfo(5): of two at one place the later one is seen
    const bool holds =
        where == "/" || path == where || (path.starts_with(where) && path[where.size()] == '/');
    if (!holds || where.size() < longest.size()) continue;
    longest = where;
    type = behind[0];
  }
  return std::any_of(remote.begin(), remote.end(), [&](const char* one) { return type.starts_with(one); });
}

std::vector<std::string> left_by_users(const std::string& state_folder, const std::string& sysfs_root) {
  std::vector<std::string> told;
  if (::geteuid() != 0 || !state_folder.empty() || !sysfs_root.empty()) return told;
  std::set<std::pair<std::int64_t, std::string>> users;  // by when their journals were last written
  const std::string mounts = Sysfs().text("/proc/self/mountinfo").value_or("");
  ::setpwent();
  while (const passwd* const entry = ::getpwent()) {
    if (entry->pw_uid == 0 || entry->pw_dir[0] != '/' || is_on_a_network(entry->pw_dir, mounts)) continue;
    const std::string home = entry->pw_dir;
    std::vector<std::string> folders{of_this_machine(home + "/.local/state"),
                                     home + usual_state + "/" + host_of_this_machine()};
    for (const std::string& name : Sysfs().list(home + usual_state)) {
      const std::string folder = home + usual_state + "/" + name;
      if (former_name_of_this_machine(folder)) folders.push_back(folder);
    }
    for (std::string& folder : elsewhere_of(home + usual_state)) {
      if (has_name_of_this_machine(folder) && !is_on_a_network(folder, mounts))
        folders.push_back(std::move(folder));
    }
    for (const std::string& folder : folders) {
      struct stat info {};
      if (::stat((folder + "/journal").c_str(), &info) != 0) continue;
      users.emplace(info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec, entry->pw_name);
      break;
    }
  }
  ::endpwent();
  // What the earlier had set may be what the later found: put back in the other order it would stand in the end.
  std::string after;
  for (auto user = users.rbegin(); user != users.rend(); ++user) {
    told.push_back(fmt::format(
        "a sweep of {0}'s left a journal in its home, and what it set may stand{1}: sudo -u {0} -H "
        "dvfs-plan restore",
        user->second, after));
    after = fmt::format(" (put that of {}'s back first: it is the later)", user->second);
  }
  return told;
}

std::vector<std::string> former_state_folders(const std::string& named) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  const fs::path usual(default_state_folder()), own(named.empty() ? usual : fs::path(named));
  std::set<fs::path> bases;
  // Root's own is the machine's, whatever that is called.
  if (::geteuid() != 0) {
    bases.insert(usual.parent_path());
    if (const passwd* const entry = ::getpwuid(::geteuid()); entry != nullptr && entry->pw_dir[0] == '/')
      bases.insert(fs::path(entry->pw_dir) / ".local/state/dvfs-plan");
  }
  const auto look_at = [&](const fs::path& folder) {
    std::error_code gone;
    if (fs::is_symlink(folder, gone) || !fs::is_directory(folder, gone) || fs::equivalent(folder, own, gone))
      return;
    if (std::find(folders.begin(), folders.end(), folder.string()) == folders.end())
      folders.push_back(folder.string());
  };
  look_at(usual);
  for (const fs::path& base : bases) {
    for (const std::string& name : Sysfs().list(base.string())) look_at(base / name);
    for (const std::string& folder : elsewhere_of(base)) look_at(folder);
  }
  // Of a run that had an XDG_STATE_HOME of its own, or a --state-folder, the copies tell.
  if (const std::string copies = folder_of_copies(); !copies.empty()) {
    for (std::string name : Sysfs().list(copies)) {
      std::replace(name.begin(), name.end(), '%', '/');
      if (name.starts_with('/')) look_at(name);
    }
  }
  return folders;
}

bool has_name_of_this_machine(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename(), host = host_of_this_machine();
  return name == host || name == host + id_of_this_machine();
}

void note_elsewhere(const std::string& path) {
  namespace fs = std::filesystem;
  const passwd* const entry = ::getpwuid(::geteuid());
  if (entry == nullptr || entry->pw_dir[0] != '/') return;
  const std::string known = entry->pw_dir + std::string(usual_state);
  std::error_code gone;
  if (fs::path(path).parent_path() == known || fs::equivalent(fs::path(path).parent_path(), known, gone) ||
      path.find('\n') != std::string::npos)
    return;
  std::vector<std::string> all = elsewhere_of(known);
  std::erase_if(all, [&](const std::string& one) { return one == path || !fs::exists(one, gone); });
  all.push_back(path);
  StateFolder(known + elsewhere).write_whole(elsewhere_file, join(all, "\n") + "\n");
}

std::string short_hash(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:08x}", hash);
}

std::optional<std::string> former_name_of_this_machine(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename(), id = id_of_this_machine();
  if (id.empty() || !name.ends_with(id)) return std::nullopt;
  return name.substr(0, name.size() - id.size());
}

std::string state_folder_option(const std::string& path) {
  return path.empty() || path == default_state_folder() ? "" : " --state-folder " + shell_quote(path);
}

bool machine_state_is_hidden() {
  return ::access(machine_state_folder, F_OK) == 0 && ::access(machine_state_folder, R_OK | X_OK) != 0;
}

}  // namespace dvfs_plan
