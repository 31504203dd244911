// Preloaded into a program: ends it with SIGKILL just before, or just behind, its n-th call that changes a file below a folder.
//   KILL_AT_FOLDER=/folder KILL_AT_CALL=12 [KILL_AT_BEHIND=1] LD_PRELOAD=libkill_at_call.so dvfs-plan ...
// Every write half the time writes half of what it was given first: a torn write. How many calls there were is written to
// KILL_AT_COUNT when the program ends by itself.
//   KILL_AT_START=3 LD_PRELOAD=libkill_at_call.so dvfs-plan ...
// Ends it while it starts its n-th program, which goes on half a second later: between vfork(2) and execve(2) that is
// not the program yet, and has none of its marks.
//   SLOW_RECORD_MS=1000 LD_PRELOAD=libkill_at_call.so dvfs-plan ...
// The guardian's disk is slow: what it notes of the session is there so much later.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> calls{0};

const char* folder() {
  static const char* const name = std::getenv("KILL_AT_FOLDER");
  return name;
}
long wanted() {
  static const long number =
      std::getenv("KILL_AT_CALL") != nullptr ? std::atol(std::getenv("KILL_AT_CALL")) : 0;
  return number;
}
bool behind() {
  static const bool is = std::getenv("KILL_AT_BEHIND") != nullptr;
  return is;
}

bool is_below(const char* path) {
  return folder() != nullptr && path != nullptr && std::strncmp(path, folder(), std::strlen(folder())) == 0;
}
bool is_below(int fd) {
  if (folder() == nullptr) return false;
  char link[40], path[PATH_MAX] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return ::readlink(link, path, sizeof path - 1) > 0 && is_below(path);
}

void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// `act` is the call, `tear` what goes before a kill.
template <class Act, class Tear>
auto counted(bool counts, Act act, Tear tear) {
  const bool is_last = counts && ++calls == wanted();
  if (is_last && !behind()) {
    tear();
    die();
  }
  const auto result = act();
  if (is_last) die();
  return result;
}

std::atomic<long> starts{0};

// In the child, by the first call that it makes.
void end_parent() {
  static const char* const number = std::getenv("KILL_AT_START");
  // Not in the guardian, which inherits us.
  if (number == nullptr || std::strcmp(program_invocation_short_name, "dvfs-plan") != 0) return;
  if (++starts != std::atol(number)) return;
  const pid_t parent = ::getppid();
  ::kill(parent, SIGKILL);
  while (::getppid() == parent) ::usleep(1000);
  ::usleep(500'000);
}

const struct AtEnd {
  ~AtEnd() {
    if (const char* const file = std::getenv("KILL_AT_COUNT")) {
      if (std::FILE* const out = std::fopen(file, "w")) {
        std::fprintf(out, "%ld\n", calls.load());
        std::fclose(out);
      }
    }
  }
} at_end;

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return counted(
      is_below(fd), [&] { return real(fd, bytes, count); }, [&] { real(fd, bytes, count / 2); });
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite64");
  return counted(
      is_below(fd), [&] { return real(fd, bytes, count, at); }, [&] { real(fd, bytes, count / 2, at); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return counted(
      is_below(fd), [&] { return real(fd, bytes, count, at); }, [&] { real(fd, bytes, count / 2, at); });
}
int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  return counted(
      is_below(fd), [&] { return real(fd); }, [] {});
}
int fdatasync(int fd) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return counted(
      is_below(fd), [&] { return real(fd); }, [] {});
}
int ftruncate(int fd, off_t length) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate64");
  return counted(
      is_below(fd), [&] { return real(fd, length); }, [] {});
}
int ftruncate64(int fd, off64_t length) {
  static const auto real = next<int (*)(int, off64_t)>("ftruncate64");
  return counted(
      is_below(fd), [&] { return real(fd, length); }, [] {});
}
int unlink(const char* path) {
  static const auto real = next<int (*)(const char*)>("unlink");
  return counted(
      is_below(path), [&] { return real(path); }, [] {});
}
int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return counted(
      is_below(from), [&] { return real(from, to); }, [] {});
}
int renameat(int folder_of, const char* from, int folder_to, const char* to) {
  static const auto real = next<int (*)(int, const char*, int, const char*)>("renameat");
  static const char* const slow = std::getenv("SLOW_RECORD_MS");
  if (slow != nullptr && std::strcmp(to, "session") == 0)
    ::usleep(1000 * static_cast<useconds_t>(std::atol(slow)));
  return real(folder_of, from, folder_to, to);
}
int link(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("link");
  return counted(
      is_below(from), [&] { return real(from, to); }, [] {});
}

pid_t setsid() {
  static const auto real = next<pid_t (*)()>("setsid");
  end_parent();
  return real();
}

}  // extern "C"
