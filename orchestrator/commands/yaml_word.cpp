#include "orchestrator/commands/yaml_word.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace dvfs_plan {

std::string yaml_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '/' || c == '-' || c == ' ';
  };
  const bool plain = std::all_of(text.begin(), text.end(), is_plain) && !text.empty() &&
                     text.front() != ' ' && text.back() != ' ' && text != "-" && text != "--" &&
                     !text.starts_with("- ") && text != "~" && text != "null" &&
                     text.find("---") == std::string::npos && text != "...";
  if (plain) return text;
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  // Of YAML's double-quoted scalars JSON's strings are a part.
  if (!printable) return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + '\'';
}

}  // namespace dvfs_plan
