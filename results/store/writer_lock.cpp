#include "results/store/writer_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/error.hpp"
#include "base/same_file.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

std::string host_name() {
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Whether who took it, by what he wrote into it, was a process of this machine and has ended.
bool has_ended(const std::string& holder) {
  int pid = 0, length = 0;
  return std::sscanf(holder.c_str(), "pid %d on %n", &pid, &length) == 1 && length > 0 && pid > 0 &&
         first_line(holder).substr(static_cast<std::size_t>(length)) == host_name() && ::kill(pid, 0) != 0 &&
         errno == ESRCH;
}

}  // namespace

WriterLock::WriterLock(const std::string& result, const std::optional<FileOwner>& owner)
    : file_(result + ".lock"), owner_(owner) {
  const ActingAs as_owner(owner_);
  // What a run starts has the run's files open until its execve(2), which entering a control group holds up: of a run that was
  // killed meanwhile it keeps the lock for some more milliseconds.
  constexpr int patience_with_the_dead = 500;  // of 10 ms
  for (int waited = 0;;) {
    lock_.reset(::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!lock_ && (errno == ELOOP || errno == EISDIR))
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{} is no lock of dvfs-plan: {}", file_,
                              errno == ELOOP ? "it is a symbolic link" : "it is a folder"),
                  "give it another name, or choose another place for the result with --output");
    if (!lock_) return;
    char text[200] = {};
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {  // a file system without locks
        lock_.reset();
        return;
      }
      // Who took it a moment ago has not yet said who that is.
      for (int i = 0; i < 10 && ::pread(lock_.get(), text, sizeof text - 1, 0) <= 0; ++i) ::usleep(10'000);
      lock_.reset();
      // Who asks whether it is written has it for a moment.
      constexpr int patience_with_who_asks = 10;
      if (waited < patience_with_who_asks || (has_ended(text) && waited < patience_with_the_dead)) {
        ++waited;
        ::usleep(10'000);
        continue;
      }
      const std::string who = printable(first_line(text));
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("{}: another dvfs-plan is writing it{}", result, who.empty() ? "" : " (" + who + ")"),
          "wait until it has ended, or choose another place with --output");
    }
    // Its last holder may have removed it meanwhile.
    if (is_at_its_name()) break;
  }
  // What a killed run left says who that was; anything else is somebody's own file.
  char left[8] = {};
  if (::pread(lock_.get(), left, 4, 0) > 0 && std::string_view(left) != "pid ") {
    lock_.reset();
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} is no lock of dvfs-plan: something else is in it", file_),
                "give that file another name, or choose another place for the result with --output");
  }
  struct stat own {};
  ::fstat(lock_.get(), &own);
  // Of a copy of this file the last line is not so: nobody holds that one, and it says nothing.
  const std::string text = fmt::format("pid {} on {}\ninode {}\n", ::getpid(), host_name(), own.st_ino);
  if (::ftruncate(lock_.get(), 0) != 0 || ::pwrite(lock_.get(), text.data(), text.size(), 0) < 0) {
    // It is locked all the same; who has it is a courtesy.
  }
}

std::optional<int> writer_of(const std::string& result) {
  const UniqueFd file(::open((result + ".lock").c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  char text[200] = {};
  struct stat here {};
  int pid = 0;
  unsigned long long inode = 0;
  if (!file || ::fstat(file.get(), &here) != 0 || ::pread(file.get(), text, sizeof text - 1, 0) <= 0 ||
      std::sscanf(text, "pid %d on %*s inode %llu", &pid, &inode) < 1 || (inode != 0 && inode != here.st_ino))
    return std::nullopt;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
    ::flock(file.get(), LOCK_UN);
    return 0;
  }
  return errno == EWOULDBLOCK ? std::optional(pid) : std::nullopt;
}

bool WriterLock::is_at_its_name() const {
  struct stat ours {
  }, there{};
  return ::fstat(lock_.get(), &ours) == 0 && ::lstat(file_.c_str(), &there) == 0 && is_same_file(ours, there);
}

WriterLock::~WriterLock() {
  if (!lock_) return;
  const ActingAs as_owner(owner_);
  // Somebody may have moved it away and put a file of his there.
  if (is_at_its_name()) ::unlink(file_.c_str());
}

}  // namespace dvfs_plan
