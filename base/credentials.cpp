#include "base/credentials.hpp"

#include <grp.h>
#include <pwd.h>

#include <array>

#include "base/text.hpp"

namespace dvfs_plan {

std::optional<Credentials> find_user(const std::string& name_or_id) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer;
  const auto id = parse_number(name_or_id);
  if (id)
    ::getpwuid_r(static_cast<uid_t>(*id), &entry, buffer.data(), buffer.size(), &found);
  else
    ::getpwnam_r(name_or_id.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return std::nullopt;
  Credentials user{found->pw_uid, found->pw_gid, {}, found->pw_name, found->pw_dir, found->pw_shell};
  int count = 256;
  user.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(found->pw_name, found->pw_gid, user.groups.data(), &count) < 0) count = 0;
  user.groups.resize(static_cast<std::size_t>(count));
  return user;
}

}  // namespace dvfs_plan
