#include <unistd.h>

#include <cstdlib>

#include "base/child.hpp"
#include "base/invoking_user.hpp"
#include "probes/gpu/nvidia_smi.hpp"

namespace dvfs_plan {

std::optional<NvidiaSmi> NvidiaSmi::find(const Sysfs& sysfs) {
  if (!sysfs.root().empty()) {
    const std::string own = sysfs.real_path("/usr/bin/nvidia-smi");
    if (::access(own.c_str(), X_OK) != 0) return std::nullopt;
    return NvidiaSmi::at(own);
  }
  const char* path = std::getenv("PATH");
  // Root runs for another user only what that user cannot have put there.
  for (const std::string& folders : {std::string(path == nullptr ? "" : path), std::string("/usr/bin")}) {
    const std::string found = find_executable("nvidia-smi", "/", folders);
    if (!found.empty() && untrusted_because(found).empty()) return NvidiaSmi::at(found);
  }
  return std::nullopt;
}

}  // namespace dvfs_plan
