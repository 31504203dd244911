// SHA-256 as lower-case hex, by libmd.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dvfs_plan {

std::string sha256(std::string_view bytes);
std::optional<std::string> sha256_of_file(const std::string& path);  // nullopt if it cannot be read

}  // namespace dvfs_plan
