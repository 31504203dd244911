#include "orchestrator/guard/state_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/sysfs.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/state_places.hpp"

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

constexpr const char* places_of_copies = "copies";

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
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
  // As it is, however it was written ("sf/", a home behind a link).
  std::error_code error;
  std::string name = std::filesystem::canonical(path_, error);
  if (error) name = std::filesystem::absolute(path_).lexically_normal();
  std::replace(name.begin(), name.end(), '/', '%');
  const std::string copies = folder_of_copies();
  find_former_copies(copies.empty() ? "" : copies + "/" + name);
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

void StateFolder::find_former_copies(const std::string& present) {
  try {
    std::vector<std::string> places;
    const std::string on_record = read_own(places_of_copies).value_or("");
    for (const std::string& place : split_lines(on_record)) {
      std::error_code error;
      if (place.empty() || place == present || !std::filesystem::is_directory(place, error)) continue;
      places.push_back(place);
      try {
        former_copies_.emplace_back(place);
      } catch (const Error&) {  // not ours alone: nothing there is believed
      }
    }
    if (!present.empty()) places.push_back(present);
    if (const std::string text = join(places, "\n"); text != on_record) write_whole(places_of_copies, text);
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
  for (StateFolder& former : former_copies_) former.remove_if_it_can(name);
  if (!copies_) return;
  try {
    copies_->write(name, text, durably);
  } catch (const Error&) {
    // The file itself is on disk; an older copy would be taken for it where that is deleted.
    copies_->remove_if_it_can(name);
  }
}

std::optional<std::string> StateFolder::read(const std::string& name) const {
  auto own = read_own(name);
  return own ? own : read_copy(name);
}

std::optional<std::string> StateFolder::read_copy(const std::string& name) const {
  try {
    if (auto text = copies_ ? copies_->read_own(name) : std::nullopt) return text;
    for (const StateFolder& former : former_copies_) {
      if (auto text = former.read_own(name)) return text;
    }
  } catch (const Error&) {
  }
  return std::nullopt;
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
  for (StateFolder& former : former_copies_) former.remove(name);
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    refuse("remove " + path_ + "/" + name, errno);
  ::fsync(folder_.get());
}

void StateFolder::remove_if_it_can(const std::string& name) {
  try {
    remove(name);
  } catch (const Error&) {
  }
}

}  // namespace dvfs_plan
