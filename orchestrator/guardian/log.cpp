#include "orchestrator/guardian/log.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

void log_event(const std::string& message, const std::vector<std::pair<std::string, std::string>>& fields) {
  if (::geteuid() != 0) return;
  static const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::string text = "MESSAGE=" + printable(message) + "\nPRIORITY=5\nSYSLOG_IDENTIFIER=dvfs-guardian\n";
  for (const auto& [name, value] : fields) text += "DVFS_PLAN_" + name + "=" + printable(value) + "\n";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/run/systemd/journal/socket");
  // Whether it could be written is no reason to do anything else.
  [[maybe_unused]] const auto sent = ::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL,
                                              reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace dvfs_plan
