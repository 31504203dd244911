// RFC 4648.
#pragma once

#include <string>
#include <string_view>

namespace dvfs_plan {

std::string base64(std::string_view bytes);

}  // namespace dvfs_plan
