#include "orchestrator/guard/state_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/sysfs.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

[[noreturn]] void refuse(const std::string& what, int error, const std::string& hint = {}) {
  throw Error(ExitCode::machine_refuses, system_error_text(what, error), hint);
}

void write_all(int fd, std::string_view text, const std::string& what) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse("write " + what, errno, "without a journal nothing is set; free some space");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

// Where copies of all state folders of this user's are, until the next boot; empty: nowhere.
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

}  // namespace

StateFolder::StateFolder(const std::string& path) : path_(path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) refuse("make the state folder " + path, errno);
  folder_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_) refuse("open the state folder " + path, errno, "it must be a folder and no symbolic link");
  struct stat info {};
  if (::fstat(folder_.get(), &info) != 0) refuse("stat " + path, errno);
  if (info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    throw Error(
        ExitCode::machine_refuses,
        fmt::format(
            "state folder {}: wanted to be owned by uid {} with mode 0700, found uid {} with mode {:04o}",
            path, ::geteuid(), info.st_uid, info.st_mode & 07777U),
        fmt::format("look who made it, then: sudo chown {}: {} && sudo chmod 700 {}", ::geteuid(), path,
                    path));
  }
}

void StateFolder::keep_copies() {
  std::string name = std::filesystem::absolute(path_).lexically_normal();
  std::replace(name.begin(), name.end(), '/', '%');
  const std::string copies = folder_of_copies();
  if (copies.empty()) return;
  try {
    // Where the socket is, which all may see: the copies are in a folder of their own within.
    const std::string place = std::filesystem::path(copies).parent_path();
    if (::mkdir(place.c_str(), 0755) == 0) ::chmod(place.c_str(), 0755);  // our umask lets nobody else in
    StateFolder all(copies);
    copies_ = std::make_unique<StateFolder>(all.path() + "/" + name);
  } catch (const Error&) {
  }
}

UniqueFd StateFolder::try_lock() {
  UniqueFd lock(::openat(folder_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) refuse("open " + path_ + "/lock", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) refuse("lock " + path_ + "/lock", errno);
  return UniqueFd();
}

UniqueFd StateFolder::try_lock_of(const std::string& name) const {
  UniqueFd lock(::openat(folder_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(lock) : UniqueFd();
}

UniqueFd StateFolder::make_lock(const std::string& name) {
  UniqueFd lock(
      ::openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(lock) : UniqueFd();
}

std::vector<std::string> StateFolder::list() const {
  return Sysfs().list(path_);
}

std::string StateFolder::lock_holder() const {
  return read("lock").value_or("");
}

void StateFolder::describe_holder(const UniqueFd& lock, const std::string& text) {
  if (::ftruncate(lock.get(), 0) != 0) refuse("write " + path_ + "/lock", errno);
  ::lseek(lock.get(), 0, SEEK_SET);
  write_all(lock.get(), text, path_ + "/lock");
}

void StateFolder::write(const std::string& name, const std::string& text, bool durably) {
  const std::string beside = name + ".new", where = path_ + "/" + name;
  ::unlinkat(folder_.get(), beside.c_str(), 0);
  UniqueFd file(
      ::openat(folder_.get(), beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) refuse("create " + where, errno);
  write_all(file.get(), text, where);
  if (durably && ::fsync(file.get()) != 0) refuse("fsync " + where, errno);
  if (::renameat(folder_.get(), beside.c_str(), folder_.get(), name.c_str()) != 0)
    refuse("rename " + where, errno);
  if (durably && ::fsync(folder_.get()) != 0) refuse("fsync " + path_, errno);
  if (!copies_) return;
  try {
    copies_->write(name, text, durably);
  } catch (const Error&) {
    // The file itself is on disk; an older copy would be taken for it where that is deleted.
    try {
      copies_->remove(name);
    } catch (const Error&) {
    }
  }
}

std::optional<std::string> StateFolder::read(const std::string& name) const {
  auto own = read_own(name);
  return own ? own : read_copy(name);
}

std::optional<std::string> StateFolder::read_copy(const std::string& name) const {
  try {
    return copies_ ? copies_->read_own(name) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<std::string> StateFolder::read_own(const std::string& name) const {
  // A FIFO in its place would be waited for.
  UniqueFd file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    refuse("open " + path_ + "/" + name, errno, "symbolic links are not followed here");
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    throw Error(ExitCode::machine_refuses,
                fmt::format("{}/{}: wanted a file, found something else", path_, name),
                "look what put it there; nothing of dvfs-plan does. Then remove it");
  return read_all(file.get());
}

void StateFolder::remove(const std::string& name) {
  if (copies_) copies_->remove(name);
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    refuse("remove " + path_ + "/" + name, errno);
  ::fsync(folder_.get());
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
  for (std::string& line : split_lines(read_all(file.get()))) {
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

std::vector<std::string> former_state_folders() {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  if (::geteuid() == 0) return folders;  // the machine's own, whatever it is called
  const fs::path own(default_state_folder());
  std::set<fs::path> bases{own.parent_path()};
  if (const passwd* const entry = ::getpwuid(::geteuid()); entry != nullptr && entry->pw_dir[0] == '/')
    bases.insert(fs::path(entry->pw_dir) / ".local/state/dvfs-plan");
  const auto look_at = [&](const fs::path& folder) {
    std::error_code gone;
    if (fs::is_symlink(folder, gone) || !fs::is_directory(folder, gone) || fs::equivalent(folder, own, gone))
      return;
    if (std::find(folders.begin(), folders.end(), folder.string()) == folders.end())
      folders.push_back(folder.string());
  };
  for (const fs::path& base : bases) {
    for (const std::string& name : Sysfs().list(base.string())) look_at(base / name);
    for (const std::string& folder : elsewhere_of(base)) look_at(folder);
  }
  // Of a run that had an XDG_STATE_HOME of its own the copies tell.
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
