#include "orchestrator/guardian/clients.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <string>

namespace dvfs_plan {

Client client_of(const Peer& peer) {
  Client client;
  client.user = peer.user;
  client.group = peer.group;
  client.pid = peer.pid;
  // Root himself, or our own user: what is not his the kernel refuses to us too.
  client.unbound = peer.user == ::geteuid();
  const passwd* const entry = ::getpwuid(peer.user);
  client.name = entry == nullptr ? "uid " + std::to_string(peer.user) : entry->pw_name;
  if (entry == nullptr) return client;
  int count = 256;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(entry->pw_name, peer.group, groups.data(), &count) < 0) count = 0;
  groups.resize(static_cast<std::size_t>(count));
  for (const gid_t one : groups) {
    if (const group* const found = ::getgrgid(one)) client.groups.emplace_back(found->gr_name);
  }
  return client;
}

}  // namespace dvfs_plan
