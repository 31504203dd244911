#include "base/whole_file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

int read_whole(const std::string& path, std::uint64_t most, std::string& text) {
  text.clear();
  // Not by what /proc shows of us: our working folder and our descriptors lead past folders that the user may not enter.
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  // Where that call is not there, or a container refuses it.
  if (!file && (errno == ENOSYS || errno == EPERM))
    file = UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return errno;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  std::string read;
  std::array<char, 1 << 16> part{};
  for (;;) {
    const ssize_t count = ::read(file.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    read.append(part.data(), static_cast<std::size_t>(count));
    if (read.size() > most) return EFBIG;
  }
  text = std::move(read);
  return 0;
}

}  // namespace dvfs_plan
