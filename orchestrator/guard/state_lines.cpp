#include "orchestrator/guard/state_lines.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace dvfs_plan {
namespace {

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      plain += text[i];
      continue;
    }
    const std::string digits(text.substr(i + 1, 3));
    char* end = nullptr;
    const long code = digits.size() == 3 && digits[0] == 'x' ? std::strtol(digits.c_str() + 1, &end, 16) : -1;
    if (code < 0 || end != digits.c_str() + 3) throw std::runtime_error("a text is broken");
    plain += static_cast<char>(code);
    i += 3;
  }
  return plain;
}

std::string last_line(std::string_view lines) {
  // CRC-32 of IEEE 802.3, bit by bit: these files are small, and the part with rights has no library for it.
  std::uint32_t crc = ~0U;
  for (const char c : lines) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return fmt::format("end\t{:08x}\n", ~crc);
}

}  // namespace

std::string sealed(std::string lines) {
  return lines + last_line(lines);
}

std::string_view unsealed(std::string_view text) {
  const auto at = text.rfind("\nend\t");
  if (at == std::string_view::npos || text.back() != '\n') throw std::runtime_error("its end is missing");
  const std::string_view lines = text.substr(0, at + 1);
  if (text.substr(at + 1) != last_line(lines))
    throw std::runtime_error("it was changed since it was written: its checksum is another");
  return lines;
}

std::optional<std::string_view> without_end(std::string_view text, std::string_view end) {
  if (!text.ends_with(end)) return std::nullopt;
  return text.substr(0, text.size() - end.size());
}

std::string escaped_part(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20)
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      safe += c;
  }
  return safe;
}

std::vector<std::string> parts_of_line(std::string_view line) {
  std::vector<std::string> parts;
  for (;;) {
    const auto tab = line.find('\t');
    parts.push_back(unescaped(line.substr(0, tab)));
    if (tab == std::string_view::npos) return parts;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace dvfs_plan
