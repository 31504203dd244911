// What browsers unpack by themselves (DecompressionStream): gzip, RFC 1952, by zlib.
#pragma once

#include <string>
#include <string_view>

namespace dvfs_plan {

std::string gzip(std::string_view bytes);

}  // namespace dvfs_plan
