#include "results/page/base64.hpp"

#include <cstdint>

namespace dvfs_plan {

std::string base64(std::string_view bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0;
    };
    const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += letters[group >> 18 & 63];
    text += letters[group >> 12 & 63];
    text += i + 1 < bytes.size() ? letters[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? letters[group & 63] : '=';
  }
  return text;
}

}  // namespace dvfs_plan
