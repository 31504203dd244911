#include "orchestrator/invoking_user.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

namespace dvfs_plan {

std::optional<Credentials> invoking_user() {
  // Only root can act as somebody else, and only root's environment comes from sudo itself.
  if (::geteuid() != 0) return std::nullopt;
  for (const char* variable : {"SUDO_UID", "PKEXEC_UID"}) {
    const char* id = std::getenv(variable);
    if (id == nullptr) continue;
    if (std::string_view(id) == "0") continue;
    auto user = find_user(id);
    // "Not found" must never come to mean "as root".
    if (!user)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{}={} names no user that can be looked up", variable, id),
                  "run as a user that `getent passwd` knows");
    if (user->user != 0) return user;
  }
  return std::nullopt;
}

}  // namespace dvfs_plan
