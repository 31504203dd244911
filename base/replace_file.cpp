#include "base/replace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>

#include "base/error.hpp"

namespace dvfs_plan {

namespace {

// A file of another's stays that one's. The group goes with the owner, and before the mode, which chown(2) may change.
void make_it(int fd, unsigned mode, const std::optional<FileOwner>& owner) {
  if (owner && ::geteuid() == 0 && ::fchown(fd, owner->user, owner->group) != 0) {
    // A file system without owners, or one that keeps root from giving (NFS): then it is root's.
  }
  ::fchmod(fd, mode);
}

}  // namespace

FileReplacement::FileReplacement(std::string path, const std::string& like) : path_(std::move(path)) {
  struct stat there {};
  const bool exists = ::stat(path_.c_str(), &there) == 0;
  if (exists && !S_ISREG(there.st_mode)) {
    out_.open(path_, std::ios::binary);
    if (!out_ || S_ISDIR(there.st_mode))
      throw Error(ExitCode::machine_refuses, fmt::format("{} cannot be written", path_),
                  "name a file in a folder of yours");
    return;
  }
  // A link is followed once, here, so that what it names is replaced and not the link.
  std::error_code ignored;
  constexpr int most_links = 40;  // as the kernel follows
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path_, ignored); ++i) {
    const auto target = std::filesystem::read_symlink(path_, ignored);
    if (ignored) break;
    path_ = (std::filesystem::path(path_).parent_path() / target).string();
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool is_like = exists || (!like.empty() && ::stat(like.c_str(), &there) == 0);
  const mode_t rights = is_like ? there.st_mode & 0777 : 0666;
  const mode_t mode = exists ? rights : rights & 0666 & ~mask;
  const auto owner = is_like ? std::optional(FileOwner{there.st_uid, there.st_gid}) : std::nullopt;
  if (!open_nameless(mode, owner)) open_beside(mode, owner);
}

bool FileReplacement::open_nameless(unsigned mode, const std::optional<FileOwner>& owner) {
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  nameless_.reset(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (!nameless_) return false;
  if (nameless_) make_it(nameless_.get(), mode, owner);
  out_.open(fmt::format("/proc/self/fd/{}", nameless_.get()), std::ios::binary);
  if (!out_) nameless_.reset();  // no /proc
  return bool(nameless_);
}

void FileReplacement::open_beside(unsigned mode, const std::optional<FileOwner>& owner) {
  out_.clear();
  unfinished_ = path_ + ".XXXXXX";
  const UniqueFd fd(::mkostemp(unfinished_.data(), O_CLOEXEC));
  if (!fd)
    throw Error(ExitCode::machine_refuses, system_error_text("write " + path_, errno),
                "is its folder there, and may you write to it?");
  goes_with_us_.emplace(std::vector{unfinished_});
  make_it(fd.get(), mode, owner);
  out_.open(unfinished_, std::ios::binary | std::ios::trunc);
}

// linkat(2) replaces nothing: a name of its own comes in between.
bool FileReplacement::give_name() {
  constexpr int most = 100;
  for (int i = 0; i < most; ++i) {
    unfinished_ = fmt::format("{}.{:06x}", path_, std::random_device{}() & 0xffffffU);
    if (::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", nameless_.get()).c_str(), AT_FDCWD,
                 unfinished_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      goes_with_us_.emplace(std::vector{unfinished_});
      return true;
    }
    if (errno != EEXIST) break;
  }
  unfinished_.clear();
  return false;
}

FileReplacement::~FileReplacement() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void FileReplacement::commit() {
  out_.close();
  if (out_ && (!nameless_ || give_name()) &&
      (unfinished_.empty() || std::rename(unfinished_.c_str(), path_.c_str()) == 0)) {
    goes_with_us_.reset();
    unfinished_.clear();
    return;
  }
  throw Error(ExitCode::machine_refuses, fmt::format("{} could not be written to its end", path_),
              "is the disk full?");
}

}  // namespace dvfs_plan
