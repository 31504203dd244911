#include "orchestrator/invoking_user.hpp"

#include <unistd.h>

#include <cstdlib>

namespace dvfs_plan {

std::optional<Credentials> invoking_user() {
  // Only root can act as somebody else, and only root's environment comes from sudo itself.
  if (::geteuid() != 0) return std::nullopt;
  for (const char* variable : {"SUDO_UID", "PKEXEC_UID"}) {
    const char* id = std::getenv(variable);
    if (id == nullptr) continue;
    auto user = find_user(id);
    if (user && user->user != 0) return user;
  }
  return std::nullopt;
}

}  // namespace dvfs_plan
