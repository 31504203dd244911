#include "orchestrator/guard/state_lines.hpp"

#include <fmt/format.h>

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

}  // namespace

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
