#include "base/region_fifo.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace dvfs_plan {
namespace {

constexpr std::string_view folder_name = "dvfs-plan-regions.";

std::string make_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const char* parent : {"/run", "/tmp", runtime != nullptr && runtime[0] == '/' ? runtime : "/tmp"}) {
    std::string path = fmt::format("{}/{}XXXXXX", parent, folder_name);
    if (::mkdtemp(path.data()) == nullptr) continue;
    // Workloads of other users pass through it; only root's runs have such.
    if (::geteuid() == 0) ::chmod(path.c_str(), 0711);
    return path;
  }
  return {};
}

}  // namespace

RegionFifo::RegionFifo(RegionFifo&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}

RegionFifo& RegionFifo::operator=(RegionFifo&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

RegionFifo::~RegionFifo() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

RegionFolder::~RegionFolder() {
  if (!path_.empty()) remove_region_folder(path_);
}

// Empty with errno set if it cannot be made.
std::string RegionFolder::make_fifo() {
  if (path_.empty()) path_ = make_folder();
  if (path_.empty()) return {};
  std::string path = fmt::format("{}/{}", path_, ++made_);
  int failed = ::mkfifo(path.c_str(), 0600);
  if (failed != 0 && errno == ENOENT) {  // a cleaner of temporary files took the folder
    path_ = make_folder();
    path = fmt::format("{}/{}", path_, made_);
    failed = path_.empty() ? -1 : ::mkfifo(path.c_str(), 0600);
  }
  return failed == 0 ? path : std::string{};
}

std::string RegionFolder::make_gate() {
  std::string path = make_fifo();
  // Who may pass through the folder may wait there, and do nothing else with it.
  if (!path.empty()) ::chmod(path.c_str(), 0644);
  return path;
}

RegionFifo RegionFolder::make(const std::optional<uid_t>& writer) {
  RegionFifo fifo;
  const std::string path = make_fifo();
  if (path.empty()) return fifo;
  fifo.path_ = path;
  // For reading and writing: it then never ends, however many writers come and go (fifo(7)).
  fifo.fd_.reset(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!fifo.fd_) return fifo;
  // In a folder of root's own nobody can have put anything else in its place.
  if (writer && ::geteuid() == 0 && ::fchown(fifo.fd_.get(), *writer, static_cast<gid_t>(-1)) != 0) {
    fifo.fd_.reset();
    return fifo;
  }
  ::fchmod(fifo.fd_.get(), 0600);  // whatever the umask is
  // As wide as may be: a workload that marks steps must not wait for us.
  constexpr int bytes = 1 << 20;
  ::fcntl(fifo.fd_.get(), F_SETPIPE_SZ, bytes);
  return fifo;
}

void remove_region_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || !path.substr(slash + 1).starts_with(folder_name)) return;
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  if (DIR* entries = ::fdopendir(::dup(folder.get()))) {
    while (const dirent* entry = ::readdir(entries)) {
      struct stat info {};
      if (::fstatat(folder.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(info.st_mode))
        ::unlinkat(folder.get(), entry->d_name, 0);
    }
    ::closedir(entries);
  }
  ::rmdir(path.c_str());
}

}  // namespace dvfs_plan
