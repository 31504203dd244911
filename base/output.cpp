#include "base/output.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace dvfs_plan {
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

void write_stdout(std::string_view text) {
  write_all(STDOUT_FILENO, text);
}
void write_stderr(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

void write_answer(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return;
  throw Error(ExitCode::machine_refuses, system_error_text("write the answer to its end", error),
              "is the disk full?");
}

bool is_terminal_stdout() {
  return ::isatty(STDOUT_FILENO) != 0;
}

}  // namespace dvfs_plan
