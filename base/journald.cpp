#include "base/journald.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

bool send_to_journal(const std::string& identifier, LogPriority priority, const std::string& message,
                     const std::vector<std::pair<std::string, std::string>>& fields) {
  static const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::string text = "MESSAGE=" + printable(message) +
                     "\nPRIORITY=" + std::to_string(static_cast<int>(priority)) +
                     "\nSYSLOG_IDENTIFIER=" + identifier + "\n";
  for (const auto& [name, value] : fields) text += "DVFS_PLAN_" + name + "=" + printable(value) + "\n";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/run/systemd/journal/socket");
  const auto sent = ::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return sent >= 0 || (errno != ENOENT && errno != ECONNREFUSED);
}

}  // namespace dvfs_plan
