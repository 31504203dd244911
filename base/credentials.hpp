// A user that a program is started as.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace dvfs_plan {

// Looked up before the fork: getpwnam(3) is not safe after it.
struct Credentials {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::string name;
  std::string home;
  std::string shell = {};
};
std::optional<Credentials> find_user(const std::string& name_or_id);

}  // namespace dvfs_plan
