#include "base/sha256.hpp"

#include <sys/types.h>
extern "C" {
#include <sha256.h>
}

namespace dvfs_plan {

std::string sha256(std::string_view bytes) {
  char hex[SHA256_DIGEST_STRING_LENGTH];
  SHA256Data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), hex);
  return hex;
}

std::optional<std::string> sha256_of_file(const std::string& path) {
  char hex[SHA256_DIGEST_STRING_LENGTH];
  if (SHA256File(path.c_str(), hex) == nullptr) return std::nullopt;
  return hex;
}

}  // namespace dvfs_plan
