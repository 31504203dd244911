#include "base/output.hpp"

#include <unistd.h>

#include <cerrno>

namespace dvfs_plan {
namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void write_stdout(std::string_view text) {
  write_all(STDOUT_FILENO, text);
}
void write_stderr(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

bool is_terminal_stdout() {
  return ::isatty(STDOUT_FILENO) != 0;
}

}  // namespace dvfs_plan
